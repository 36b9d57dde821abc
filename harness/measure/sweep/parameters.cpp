#include "measure/sweep/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

const AxisValue& value_of(const Parameters& parameters, std::string_view axis) {
  if (const AxisValue* value = parameters.find(axis)) return *value;
  std::vector<std::string> names;
  for (const auto& [name, value] : parameters.values()) names.push_back(name);
  throw UsageError(fmt::format("unknown axis '{}'{}", axis, suggest_word(axis, names)));
}

/// Returns `the word 'edge'`, `the integer 20`, `the floating-point number 0.5`.
std::string typed_text(const AxisValue& value) {
  if (std::holds_alternative<std::string>(value)) return fmt::format("the word '{}'", to_text(value));
  const bool is_integer = std::holds_alternative<Size>(value);
  return fmt::format("the {} {}", is_integer ? "integer" : "floating-point number", to_text(value));
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

std::string float_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string to_text(const AxisValue& value) {
  if (const Size* integer = std::get_if<Size>(&value)) return fmt::format("{}", *integer);
  if (const double* number = std::get_if<double>(&value)) return float_text(*number);
  return std::get<std::string>(value);
}

std::optional<double> parse_float(std::string_view text) {
  const auto number = parse_number<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return *number + 0.0;  // the sum of -0 and 0 is 0
}

bool is_same_value(const AxisValue& one, const AxisValue& other) {
  const auto is_word = [](const AxisValue& value) { return std::holds_alternative<std::string>(value); };
  if (one.index() == other.index() || is_word(one) || is_word(other)) return one == other;
  const auto as_double = [](const AxisValue& value) {
    const double* const number = std::get_if<double>(&value);
    return number != nullptr ? *number : static_cast<double>(std::get<Size>(value));
  };
  return as_double(one) == as_double(other);
}

Size Parameters::integer(std::string_view axis) const {
  const AxisValue& value = value_of(*this, axis);
  if (const Size* integer = std::get_if<Size>(&value)) return *integer;
  throw UsageError(fmt::format("axis '{}' is {}, not an integer", axis, typed_text(value)));
}

Number Parameters::number(std::string_view axis) const {
  const AxisValue& value = value_of(*this, axis);
  if (const double* number = std::get_if<double>(&value)) return *number;
  return integer(axis);
}

const std::string& Parameters::word(std::string_view axis) const {
  const AxisValue& value = value_of(*this, axis);
  if (const std::string* word = std::get_if<std::string>(&value)) return *word;
  throw UsageError(fmt::format("axis '{}' is {}, not a word", axis, typed_text(value)));
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

Parameters choice_axes(const Parameters& parameters) {
  Parameters::Values choices;
  for (const auto& [axis, value] : parameters.values()) {
    if (!std::holds_alternative<Size>(value)) choices.emplace_back(axis, value);
  }
  return Parameters(std::move(choices));
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
