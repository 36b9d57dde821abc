#include "sweep/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark {
namespace {

const AxisValue& value_of(const Parameters& parameters, std::string_view axis) {
  if (const AxisValue* value = parameters.find(axis)) return *value;
  std::vector<std::string> names;
  for (const auto& [name, value] : parameters.values()) names.push_back(name);
  throw UsageError(fmt::format("unknown axis '{}'{}", axis, suggest_word(axis, names)));
}

}  // namespace

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

const Parameters::Values& Parameters::values() const {
  static const Values kNone;
  return values_ ? *values_ : kNone;
}

const AxisValue* Parameters::find(std::string_view axis) const {
  const auto found =
      std::ranges::find(values(), axis, [](const auto& entry) { return std::string_view(entry.first); });
  return found == values().end() ? nullptr : &found->second;
}

void Parameters::set(std::string_view axis, AxisValue value) {
  if (!values_ || values_.use_count() > 1) values_ = std::make_shared<Values>(values());
  const auto found =
      std::ranges::find(*values_, axis, [](const auto& entry) { return std::string_view(entry.first); });
  if (found == values_->end()) {
    values_->emplace_back(axis, std::move(value));
  } else {
    found->second = std::move(value);
  }
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
