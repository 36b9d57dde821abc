#include "sweep/case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark {
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

// Variant names hold slashes themselves: what stands before the first `axis:value` is variant and backend.
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
    if (colon == std::string_view::npos) throw UsageError(fmt::format("'{}' is no axis:value", part));
    const std::string_view name = part.substr(0, colon);
    const AxisDescription* axis = variant.axis(name);
    if (axis == nullptr) {
      throw UsageError(
          fmt::format("{} has no axis '{}'{}", variant.name, name, suggest_word(name, variant.axis_names())));
    }
    if (std::ranges::find(seen, name) != seen.end())
      throw UsageError(fmt::format("axis '{}' stands twice", name));
    seen.push_back(name);
    parameters.set(name, parse_axis_value(*axis, part.substr(colon + 1)));
  }
}

Case parse_checked(std::string_view name, const Description& description) {
  const auto [head, axes] = split_off_axes(name);
  if (description.variant(head) != nullptr) {
    throw UsageError(fmt::format("the backend is missing; write '{}/BACKEND', BACKEND one of {}", head,
                                 fmt::join(known_backends(), ", ")));
  }
  const std::size_t slash = head.rfind('/');
  const std::string_view variant_name = slash == std::string_view::npos ? head : head.substr(0, slash);
  const std::string_view backend =
      slash == std::string_view::npos ? std::string_view{} : head.substr(slash + 1);
  const VariantDescription* variant = description.variant(variant_name);
  if (variant == nullptr) {
    throw UsageError(fmt::format("no variant '{}'{}", variant_name,
                                 suggest_word(variant_name, description.variant_names())));
  }
  if (std::ranges::find(known_backends(), backend) == known_backends().end()) {
    throw UsageError(fmt::format("no backend '{}'{}", backend, suggest_word(backend, known_backends())));
  }
  Case sweep_case{variant->name, std::string(backend), variant->defaults()};
  if (head.size() < name.size()) parse_axes(axes, *variant, sweep_case.parameters);
  return sweep_case;
}

}  // namespace

std::string case_name(const Case& sweep_case, const VariantDescription& variant) {
  for (const auto& [axis, value] : sweep_case.parameters.values()) {
    if (variant.axis(axis) == nullptr) {
      throw UsageError(
          fmt::format("{} has no axis '{}'{}", variant.name, axis, suggest_word(axis, variant.axis_names())));
    }
  }
  std::string name = sweep_case.variant + "/" + sweep_case.backend;
  for (const AxisDescription& axis : variant.axes) {
    const AxisValue* value = sweep_case.parameters.find(axis.name);
    if (value == nullptr) {
      throw UsageError(fmt::format("a case of {} lacks the axis '{}'", variant.name, axis.name));
    }
    if (*value == axis.default_value) continue;
    check_axis_value(axis, *value);
    name += fmt::format("/{}:{}", axis.name, to_text(*value));
  }
  return name;
}

std::string full_case_name(const Case& sweep_case) {
  std::string name = sweep_case.variant + "/" + sweep_case.backend;
  for (const auto& [axis, value] : sweep_case.parameters.values()) {
    name += fmt::format("/{}:{}", axis, to_text(value));
  }
  return name;
}

Case parse_case(std::string_view name, const Description& description) {
  try {
    return parse_checked(name, description);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("case '{}': {}", name, error.what()));
  }
}

}  // namespace peakmark
