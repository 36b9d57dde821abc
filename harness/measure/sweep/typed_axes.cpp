#include "measure/sweep/typed_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/float_range.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {
namespace {

constexpr const char* kForms = "write AXIS=VALUE,VALUE…, AXIS=MIN..MAX or AXIS=MIN..MAX:STEP";

/// Adds the values of `4`, `edge`, `4..64`, `4..64:20` or `0.5..2:0.5`.
void add_values(std::string_view part, AxisValues& axis) {
  if (part.empty()) fail(axis.place, fmt::format("an empty value: {}", kForms));
  const std::size_t dots = std::min(part.find(".."), part.size());
  const std::size_t colon = std::min(part.find(':', dots), part.size());
  const auto first = parse_number<Size>(part.substr(0, dots));
  if (dots == part.size()) {
    axis.values.push_back({first ? AxisValue(*first) : AxisValue(std::string(part)), axis.place});
    return;
  }
  const std::string_view last_text = part.substr(dots + 2, colon - dots - 2);
  const std::string_view step_text = part.substr(std::min(colon + 1, part.size()));
  const auto last = parse_number<Size>(last_text);
  if (!first || !last || step_text.find_first_of(".eE") != std::string_view::npos) {
    const auto from = parse_float(part.substr(0, dots));
    const auto to = parse_float(last_text);
    const auto step = parse_float(step_text);
    if (from && to && !step)
      fail(axis.place, fmt::format("'{}': a range of floating-point numbers needs a step: {}={}..{}:0.1",
                                   part, axis.axis, float_text(*from), float_text(*to)));
    if (!from || !to || !step) {  // a word with dots
      axis.values.push_back({std::string(part), axis.place});
      return;
    }
    for (const double value : expand_range(*from, *to, *step, axis.place))
      axis.values.push_back({float_text(value), axis.place});
    return;
  }
  const auto step = colon == part.size() ? std::optional<Size>(1) : parse_number<Size>(step_text);
  if (!step || *first > *last || *step < 1)
    fail(axis.place, fmt::format("'{}' is not a range: {}", part, kForms));
  // As unsigned numbers, since the difference and the last sum may be larger than a Size.
  const std::uint64_t steps = (static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first)) /
                              static_cast<std::uint64_t>(*step);
  if (steps >= kMaxCases) fail(axis.place, fmt::format("range of more than {} values", kMaxCases));
  for (std::uint64_t i = 0; i <= steps; ++i)
    axis.values.push_back({*first + static_cast<Size>(i) * *step, axis.place});
}

}  // namespace

void refuse_repeated_values(const AxisValues& axis) {
  std::vector<AxisValue> values;
  for (const Located<AxisValue>& value : axis.values) values.push_back(value.value);
  std::ranges::sort(values);
  const auto repeated = std::ranges::adjacent_find(values);
  if (repeated != values.end()) fail(axis.place, fmt::format("{} is written twice", to_text(*repeated)));
}

std::vector<AxisValues> parse_typed_axes(const std::vector<std::string>& texts) {
  std::vector<AxisValues> axes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) fail({text, 0, ""}, fmt::format("an axis without values: {}", kForms));
    const std::string name = text.substr(0, equals);
    const std::string values = text.substr(equals + 1);
    AxisValues axis{name, {text, 0, ""}, {}};
    if (std::ranges::find(axes, name, &AxisValues::axis) != axes.end())
      fail(axis.place, fmt::format("the axis '{}' is written twice", name));
    for (std::size_t begin = 0; begin <= values.size();) {
      const std::size_t end = std::min(values.find(',', begin), values.size());
      add_values(std::string_view(values).substr(begin, end - begin), axis);
      if (axis.values.size() > kMaxCases) fail(axis.place, fmt::format("more than {} values", kMaxCases));
      begin = end + 1;
    }
    refuse_repeated_values(axis);
    axes.push_back(std::move(axis));
  }
  return axes;
}

SuiteDocument typed_suite(const std::vector<std::string>& variants, const std::vector<AxisValues>& axes) {
  SweepDocument sweep;
  SuiteDocument suite;
  for (const std::string& variant : variants) {
    sweep.variants.push_back({variant, {}});
    suite.name += (suite.name.empty() ? "" : "+") + variant;
  }
  for (const AxisValues& axis : axes) sweep.dimensions.push_back({{axis}});
  suite.sweeps.push_back(std::move(sweep));
  return suite;
}

void replace_axis(SweepDocument& sweep, const AxisValues& typed) {
  std::erase_if(sweep.derived, [&](const DerivedAxis& derived) { return derived.axis == typed.axis; });
  for (Dimension& dimension : sweep.dimensions) {
    for (AxisValues& axis : dimension.axes) {
      if (axis.axis != typed.axis) continue;
      axis = typed;
      return;
    }
  }
  sweep.dimensions.push_back({{typed}});
}

}  // namespace peakmark
