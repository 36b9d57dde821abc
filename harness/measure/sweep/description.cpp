#include "measure/sweep/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"

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
    throw UsageError(fmt::format("axis '{}' is an integer: '{}' is not", axis.name, text));
  }
  return value;
}

double parse_float_value(const AxisDescription& axis, std::string_view text) {
  if (const auto number = parse_float(text)) return *number;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size()) {
    throw OverflowError(
        fmt::format("axis '{}': {} does not fit a floating-point number of 64 bits", axis.name, text));
  }
  throw UsageError(fmt::format("axis '{}' is a floating-point number: '{}' is not", axis.name, text));
}

}  // namespace

std::string_view type_name(const AxisDescription& axis) {
  if (std::holds_alternative<Size>(axis.default_value)) return "integer";
  return std::holds_alternative<double>(axis.default_value) ? "float" : "word";
}

bool is_axis_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of(kNameLetters) == std::string_view::npos;
}

bool is_variant_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view rest = name.substr(slash + 1);
  return is_axis_name(name.substr(0, slash)) && (is_axis_name(rest) || is_variant_name(rest));
}

std::pair<std::string, std::string> split_key_value(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("'" + text + "' is not a value of an axis: write AXIS=VALUE, such as ny=4096");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Parameters parse_parameters(const VariantDescription& variant, const std::vector<std::string>& texts) {
  Parameters parameters = variant.defaults();
  std::vector<std::string> given;
  for (const std::string& text : texts) {
    const auto [name, value] = split_key_value(text);
    const AxisDescription& axis = variant.known_axis(name);
    if (std::ranges::find(given, name) != given.end()) {
      throw UsageError("axis '" + name + "' is given twice");
    }
    given.push_back(name);
    parameters.set(name, parse_axis_value(axis, value));
  }
  return parameters;
}

void check_variant(const VariantDescription& variant) {
  if (!is_variant_name(variant.name)) {
    throw UsageError(fmt::format(
        "malformed variant name '{}': write OPERATION/WAY with letters, digits and - _ . +", variant.name));
  }
  const auto wrong = [&](const std::string& what) {
    throw UsageError(fmt::format("variant {}: {}", variant.name, what));
  };
  for (const AxisDescription& axis : variant.axes) {
    if (!is_axis_name(axis.name))
      wrong(fmt::format("malformed axis name '{}': use letters, digits and - _", axis.name));
    if (axis.name == "variant" || axis.name == "backend")
      wrong(fmt::format("reserved name '{}': give the axis another name", axis.name));
    if (variant.axis(axis.name) != &axis) wrong(fmt::format("duplicate axis '{}'", axis.name));
    try {
      check_axis_value(axis, axis.default_value);
      for (const std::string& choice : axis.choices) check_axis_value(axis, choice);
    } catch (const UsageError& error) {
      wrong(error.what());
    }
  }
}

AxisValue parse_axis_value(const AxisDescription& axis, std::string_view text) {
  AxisValue value = std::string(text);
  if (std::holds_alternative<Size>(axis.default_value)) value = parse_integer(axis, text);
  if (std::holds_alternative<double>(axis.default_value)) value = parse_float_value(axis, text);
  check_axis_value(axis, value);
  return value;
}

AxisValue typed_axis_value(const AxisDescription& axis, AxisValue value) {
  const Size* const integer = std::get_if<Size>(&value);
  if (integer != nullptr && std::holds_alternative<double>(axis.default_value))
    value = static_cast<double>(*integer);
  check_axis_value(axis, value);
  return value;
}

void check_axis_value(const AxisDescription& axis, const AxisValue& value) {
  if (value.index() != axis.default_value.index()) {
    const std::string_view type = type_name(axis);
    throw UsageError(fmt::format("axis '{}' is {}: '{}' is not", axis.name,
                                 type == "integer" ? "an integer"
                                 : type == "float" ? "a floating-point number"
                                                   : "a word",
                                 to_text(value)));
  }
  if (const double* number = std::get_if<double>(&value)) {
    if (!std::isfinite(*number))
      throw UsageError(fmt::format("axis '{}' must be a finite number, not {}", axis.name, *number));
    return;
  }
  if (const Size* integer = std::get_if<Size>(&value)) {
    if (*integer < axis.min) {
      throw UsageError(fmt::format("axis '{}' must be at least {}, not {}", axis.name, axis.min, *integer));
    }
    return;
  }
  const auto& word = std::get<std::string>(value);
  if (!axis.choices.empty() && std::ranges::find(axis.choices, word) == axis.choices.end()) {
    throw UsageError(
        fmt::format("unknown word of axis '{}': '{}'{}", axis.name, word, suggest_word(word, axis.choices)));
  }
  if (word.empty()) throw UsageError(fmt::format("empty word for axis '{}'", axis.name));
  if (std::ranges::any_of(word, breaks_case_name)) {
    throw UsageError(fmt::format(
        "axis '{}': '{}' contains '/', ':', a blank or a control character, which case names cannot "
        "contain",
        axis.name, word));
  }
}

std::string_view VariantDescription::plain_name() const {
  const std::size_t end = label.empty() ? 0 : label.size() + 1;  // including the point before the label
  return std::string_view(name).substr(0, name.size() - end);
}

const AxisDescription* VariantDescription::axis(std::string_view axis_name) const {
  const auto found = std::ranges::find(axes, axis_name, &AxisDescription::name);
  return found == axes.end() ? nullptr : &*found;
}

const AxisDescription& VariantDescription::known_axis(std::string_view axis_name) const {
  if (const AxisDescription* const known = axis(axis_name)) return *known;
  throw UsageError(
      fmt::format("{} has no axis '{}'{}", name, axis_name, suggest_word(axis_name, axis_names())));
}

const AxisDescription& VariantDescription::number_axis(std::string_view axis_name) const {
  const AxisDescription& known = known_axis(axis_name);
  if (!std::holds_alternative<std::string>(known.default_value)) return known;
  throw UsageError(fmt::format("axis '{}' of {} is a word: formulas need numbers", axis_name, name));
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

const VariantDescription& Description::known_variant(std::string_view name) const {
  if (const VariantDescription* const known = variant(name)) return *known;
  throw UsageError(
      fmt::format("no variant '{}'{}{}", name, suggest_word(name, variant_names()), hint_at_own_worker()));
}

std::string_view Description::hint_at_own_worker() const {
  return api.empty() ? "; name your own worker with --worker PROGRAM" : "";
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

namespace {

std::vector<std::string_view> split_path(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t slash = name.find('/', begin);
    parts.push_back(name.substr(begin, slash - begin));
    if (slash == std::string_view::npos) return parts;
    begin = slash + 1;
  }
}

// Variant names contain slashes: everything before the first `axis:value` is variant and backend.
std::pair<std::string_view, std::string_view> split_off_axes(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {name, {}};
  const std::size_t slash = name.rfind('/', colon);
  if (slash == std::string_view::npos) return {{}, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

void parse_axes(std::string_view axes, const VariantDescription& variant, Parameters& parameters) {
  std::vector<std::string_view> seen;
  for (const std::string_view part : split_path(axes)) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos)
      throw UsageError(fmt::format("malformed axis '{}': write axis:value", part));
    const std::string_view name = part.substr(0, colon);
    const AxisDescription& axis = variant.known_axis(name);
    if (std::ranges::find(seen, name) != seen.end())
      throw UsageError(fmt::format("duplicate axis '{}'", name));
    seen.push_back(name);
    parameters.set(name, parse_axis_value(axis, part.substr(colon + 1)));
  }
}

SweepCase parse_checked(std::string_view name, const Description& description) {
  const auto [head, axes] = split_off_axes(name);
  if (description.variant(head) != nullptr) {
    throw UsageError(fmt::format("no backend: write '{}/BACKEND', with BACKEND one of {}", head,
                                 fmt::join(known_backends(), ", ")));
  }
  const std::size_t slash = head.rfind('/');
  const std::string_view variant_name = slash == std::string_view::npos ? head : head.substr(0, slash);
  const std::string_view backend =
      slash == std::string_view::npos ? std::string_view{} : head.substr(slash + 1);
  const VariantDescription* variant = description.variant(variant_name);
  if (variant == nullptr) {
    throw UsageError(fmt::format("unknown variant '{}'{}", variant_name,
                                 suggest_word(variant_name, description.variant_names())));
  }
  if (std::ranges::find(known_backends(), backend) == known_backends().end()) {
    throw UsageError(fmt::format("unknown backend '{}'{}", backend, suggest_word(backend, known_backends())));
  }
  SweepCase sweep_case{variant->name, std::string(backend), variant->defaults()};
  if (head.size() < name.size()) parse_axes(axes, *variant, sweep_case.parameters);
  return sweep_case;
}

}  // namespace

std::string case_name(const SweepCase& sweep_case, const VariantDescription& variant) {
  for (const auto& [axis, value] : sweep_case.parameters.values())
    static_cast<void>(variant.known_axis(axis));
  std::string name = sweep_case.variant + "/" + sweep_case.backend;
  for (const AxisDescription& axis : variant.axes) {
    const AxisValue* value = sweep_case.parameters.find(axis.name);
    if (value == nullptr) {
      throw UsageError(fmt::format("a case of {} has no value for axis '{}'", variant.name, axis.name));
    }
    if (*value == axis.default_value) continue;
    check_axis_value(axis, *value);
    name += fmt::format("/{}:{}", axis.name, to_text(*value));
  }
  return name;
}

std::string full_case_name(const SweepCase& sweep_case) {
  std::string name = sweep_case.variant + "/" + sweep_case.backend;
  for (const auto& [axis, value] : sweep_case.parameters.values()) {
    name += fmt::format("/{}:{}", axis, to_text(value));
  }
  return name;
}

std::string_view case_backend(std::string_view case_name) {
  const std::string_view path = case_name.substr(0, case_name.find(':'));
  const std::string_view head = path.size() == case_name.size() ? path : path.substr(0, path.rfind('/'));
  return head.substr(head.rfind('/') + 1);
}

SweepCase parse_case(std::string_view name, const Description& description) {
  try {
    return parse_checked(name, description);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("case '{}': {}", name, error.what()));
  }
}

}  // namespace peakmark
