#include "sweep/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark {
namespace {

constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";

bool breaks_case_name(char c) {
  return c == '/' || c == ':' || c == ' ' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

Size parse_integer(const AxisDescription& axis, std::string_view text) {
  Size value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw OverflowError(fmt::format("axis '{}': {} does not fit 64 bits", axis.name, text));
  }
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw UsageError(fmt::format("axis '{}' is an integer, '{}' is none", axis.name, text));
  }
  return value;
}

}  // namespace

bool is_axis_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of(kNameLetters) == std::string_view::npos;
}

bool is_variant_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view rest = name.substr(slash + 1);
  return is_axis_name(name.substr(0, slash)) && (is_axis_name(rest) || is_variant_name(rest));
}

void check_variant(const VariantDescription& variant) {
  if (!is_variant_name(variant.name)) {
    throw UsageError(fmt::format(
        "'{}' is no variant's name: write OPERATION/WAY, of letters, digits and - _ . +", variant.name));
  }
  const auto wrong = [&](const std::string& what) {
    throw UsageError(fmt::format("variant {}: {}", variant.name, what));
  };
  for (const AxisDescription& axis : variant.axes) {
    if (!is_axis_name(axis.name))
      wrong(fmt::format("'{}' is no name of an axis: write letters, digits and - _", axis.name));
    if (variant.axis(axis.name) != &axis) wrong(fmt::format("axis '{}' stands twice", axis.name));
    try {
      check_axis_value(axis, axis.default_value);
      for (const std::string& choice : axis.choices) check_axis_value(axis, choice);
    } catch (const UsageError& error) {
      wrong(error.what());
    }
  }
}

AxisValue parse_axis_value(const AxisDescription& axis, std::string_view text) {
  AxisValue value = std::holds_alternative<Size>(axis.default_value) ? AxisValue(parse_integer(axis, text))
                                                                     : AxisValue(std::string(text));
  check_axis_value(axis, value);
  return value;
}

void check_axis_value(const AxisDescription& axis, const AxisValue& value) {
  if (value.index() != axis.default_value.index()) {
    const bool word = std::holds_alternative<std::string>(value);
    throw UsageError(fmt::format("axis '{}' is {}, '{}' is none", axis.name, word ? "an integer" : "a word",
                                 to_text(value)));
  }
  if (const Size* integer = std::get_if<Size>(&value)) {
    if (*integer < axis.least) {
      throw UsageError(fmt::format("axis '{}' is at least {}, not {}", axis.name, axis.least, *integer));
    }
    return;
  }
  const auto& word = std::get<std::string>(value);
  if (!axis.choices.empty() && std::ranges::find(axis.choices, word) == axis.choices.end()) {
    throw UsageError(
        fmt::format("axis '{}' has no word '{}'{}", axis.name, word, suggest_word(word, axis.choices)));
  }
  if (word.empty()) throw UsageError(fmt::format("axis '{}': the word is empty", axis.name));
  if (std::ranges::any_of(word, breaks_case_name)) {
    throw UsageError(
        fmt::format("axis '{}': the word '{}' holds '/', ':', a blank or a control character, which case "
                    "names cannot hold",
                    axis.name, word));
  }
}

std::string_view VariantDescription::plain_name() const {
  const std::size_t end = label.empty() ? 0 : label.size() + 1;  // and the point before it
  return std::string_view(name).substr(0, name.size() - end);
}

const AxisDescription* VariantDescription::axis(std::string_view axis_name) const {
  const auto found = std::ranges::find(axes, axis_name, &AxisDescription::name);
  return found == axes.end() ? nullptr : &*found;
}

std::vector<std::string> VariantDescription::axis_names() const {
  std::vector<std::string> names;
  for (const AxisDescription& axis : axes) names.push_back(axis.name);
  return names;
}

Parameters VariantDescription::defaults() const {
  std::vector<std::pair<std::string, AxisValue>> values;
  values.reserve(axes.size());
  for (const AxisDescription& axis : axes) values.emplace_back(axis.name, axis.default_value);
  return Parameters(std::move(values));
}

const VariantDescription* Description::variant(std::string_view name) const {
  const auto found = std::ranges::find(variants, name, &VariantDescription::name);
  return found == variants.end() ? nullptr : &*found;
}

std::vector<std::string> Description::variant_names() const {
  std::vector<std::string> names;
  for (const VariantDescription& variant : variants) names.push_back(variant.name);
  return names;
}

const std::vector<std::string>& known_backends() {
  static const std::vector<std::string> backends{"auto", "cuda", "dry", "opencl"};
  return backends;
}

}  // namespace peakmark
