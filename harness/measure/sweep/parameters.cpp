#include "measure/sweep/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

const AxisValue& value_of(const Parameters& parameters, std::string_view axis) {
  if (const AxisValue* value = parameters.find(axis)) return *value;
  std::vector<std::string> names;
  for (const auto& [name, value] : parameters.values()) names.push_back(name);
  throw UsageError(fmt::format("unknown axis '{}'{}", axis, suggest_word(axis, names)));
}

struct PairHash {
  std::size_t operator()(const AxisList::value_type& pair) const {
    constexpr std::size_t kFactor =
        0x9e3779b97f4a7c15;  // without it, equal hashes of name and word would cancel
    return std::hash<std::string>{}(pair.first) * kFactor ^ std::hash<AxisValue>{}(pair.second);
  }
};

/// Returns the only equal pair in memory.
const AxisList::value_type* interned(AxisList::value_type pair) {
  static std::mutex mutex;
  static auto& pairs = *new std::unordered_set<AxisList::value_type, PairHash>;  // outlives static objects
  const std::lock_guard lock(mutex);
  return &*pairs.insert(std::move(pair)).first;
}

}  // namespace

void AxisList::set(value_type pair) {
  const auto found =
      std::ranges::find_if(pairs_, [&](const value_type* one) { return one->first == pair.first; });
  const value_type* const stored = interned(std::move(pair));
  if (found == pairs_.end()) {
    pairs_.push_back(stored);
  } else {
    *found = stored;
  }
}

std::string to_text(const AxisValue& value) {
  if (const Size* integer = std::get_if<Size>(&value)) return fmt::format("{}", *integer);
  return std::get<std::string>(value);
}

Size Parameters::integer(std::string_view axis) const {
  const AxisValue& value = value_of(*this, axis);
  if (const Size* integer = std::get_if<Size>(&value)) return *integer;
  throw UsageError(fmt::format("axis '{}' is the word '{}', not an integer", axis, to_text(value)));
}

const std::string& Parameters::word(std::string_view axis) const {
  const AxisValue& value = value_of(*this, axis);
  if (const std::string* word = std::get_if<std::string>(&value)) return *word;
  throw UsageError(fmt::format("axis '{}' is the integer {}, not a word", axis, to_text(value)));
}

Parameters::Parameters(Values values) {
  if (values.empty()) return;
  values_ = std::make_shared<AxisList>();
  values_->reserve(values.size());
  for (AxisList::value_type& pair : values) values_->set(std::move(pair));
}

const AxisList& Parameters::values() const {
  static const AxisList kNone;
  return values_ ? *values_ : kNone;
}

const AxisValue* Parameters::find(std::string_view axis) const {
  const auto found =
      std::ranges::find(values(), axis, [](const auto& entry) { return std::string_view(entry.first); });
  return found == values().end() ? nullptr : &found->second;
}

void Parameters::set(std::string_view axis, AxisValue value) {
  if (!values_ || values_.use_count() > 1) values_ = std::make_shared<AxisList>(values());
  values_->set({std::string(axis), std::move(value)});
}

Parameters word_axes(const Parameters& parameters) {
  Parameters::Values words;
  for (const auto& [axis, value] : parameters.values()) {
    if (std::holds_alternative<std::string>(value)) words.emplace_back(axis, value);
  }
  return Parameters(std::move(words));
}

std::string largest_axis_note(const Parameters& parameters) {
  std::string_view axis;
  Size largest = 0;
  for (const auto& [name, value] : parameters.values()) {
    const Size* integer = std::get_if<Size>(&value);
    if (integer == nullptr || *integer <= largest) continue;
    axis = name;
    largest = *integer;
  }
  return axis.empty() ? "" : fmt::format("; the largest axis is {} = {}", axis, largest);
}

}  // namespace peakmark
