#include "analyse/explain/report/unexplained_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/explain/search/conditions.hpp"
#include "analyse/explain/search/shapes_to_add.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxSizesShown = 8;
constexpr std::size_t kShapesShown = 3;
// With fewer shapes, only formulas with few parts are accepted.
constexpr std::size_t kManyShapes = 16;

// Returns the name of an allocation in a sentence: its call site if it has no name.
std::string label(const VariantFormulas& variant, const ExplainedAllocation& one) {
  if (!one.name.empty()) return one.name;
  if (std::string site = variant.site(one.where); !site.empty()) return site;
  return one.phase.empty() ? "an unnamed allocation" : "an unnamed allocation of " + one.phase;
}

// Returns whether an earlier phase, such as the first call, has the same allocations.
bool is_repeated(const Explanation& explanation, const ExplainedAllocation& allocation) {
  for (const ExplainedAllocation& one : explanation.allocations) {
    if (&one == &allocation) return false;
    if (allocation_key(one) == allocation_key(allocation) &&
        one.bytes.recorded == allocation.bytes.recorded && one.count.recorded == allocation.count.recorded)
      return true;
  }
  return false;
}

// Returns `alias=1` if exactly the shapes with the allocation have this value.
std::string common_value(const Shapes& shapes, const std::vector<std::size_t>& there) {
  for (const Shapes::Axis& axis : shapes.axes) {
    const Size value = axis.values[there.front()];
    const auto has_value = [&](std::size_t shape) { return axis.values[shape] == value; };
    if (std::ranges::all_of(there, has_value) &&
        static_cast<std::size_t>(std::ranges::count(axis.values, value)) == there.size())
      return fmt::format("{}={}", axis.name, value);
  }
  return "";
}

// Returns whether the second pass at the same shape made different allocations of this kind.
bool differs_between_passes(const RecordedCases& cases, const ExplainedAllocation& allocation) {
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    if (std::ranges::any_of(cases.sequence(shape), [&](const SequencedAllocation& one) {
          return !one.is_repeated && phased_key(one) == phased_key(allocation);
        }))
      return true;
  }
  return false;
}

// Returns at which shapes an allocation exists, if no formula describes it.
std::string where_it_is_text(const VariantFormulas& variant, const ExplainedAllocation& one) {
  const Shapes& shapes = variant.shapes();
  std::vector<bool> is_there(shapes.count(), false);
  std::vector<std::size_t> there;
  for (std::size_t i = 0; i < one.count.recorded.size(); ++i) {
    if (one.count.recorded[i] == 0) continue;
    is_there[one.count.shapes[i]] = true;
    there.push_back(one.count.shapes[i]);
  }
  if (const auto condition = find_condition(shapes, is_there)) {
    const auto between = value_between(shapes, is_there);
    return fmt::format("  {} is there when {}, at {} of {}; no formula has this condition{}\n",
                       label(variant, one), *condition, there.size(), quantity(shapes.count(), "shape"),
                       between ? fmt::format("; add a shape with {} to find the limit", *between) : "");
  }
  // Lists the shorter of the two lists.
  const bool is_mostly_there = 2 * there.size() > shapes.count();
  std::vector<std::size_t> listed;
  for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
    if (is_there[shape] != is_mostly_there) listed.push_back(shape);
  }
  const auto between = value_between(shapes, is_there);
  std::string text =
      fmt::format("  {} is there at {} of {}; no condition on one or two axes describes these shapes. {}:\n",
                  label(variant, one), there.size(), quantity(shapes.count(), "shape"),
                  between ? fmt::format("Add shapes with {} and close to it", *between)
                          : "Fix axes (AXIS=VALUE) until one does");
  for (std::size_t i = 0; i < listed.size() && i < kMaxSizesShown; ++i)
    text += fmt::format("    {} {}\n", is_mostly_there ? "not at" : "at", shape_text(shapes, listed[i]));
  const std::string more = more_than(kMaxSizesShown, listed.size());
  return more.empty() ? text : text + "  " + more;
}

}  // namespace

std::string unexplained_text(const VariantFormulas& variant) {
  std::string text;
  const RecordedCases& cases = variant.cases.front();
  for (const ExplainedAllocation& one : variant.explanation.allocations) {
    if ((one.bytes.formula && one.count.formula) || is_repeated(variant.explanation, one)) continue;
    if (one.largest) {
      text += fmt::format(
          "  {} is made several times with different sizes; the largest of each shape is {}, the "
          "others have no formula\n",
          label(variant, one), to_text(*one.largest, ExpressionStyle::display));
      continue;
    }
    const bool is_count = one.bytes.formula.has_value();
    if (one.is_at_some_shapes()) text += where_it_is_text(variant, one);
    if (is_count && one.is_at_some_shapes()) continue;
    const Figure& figure = is_count ? one.count : one.bytes;
    text += fmt::format("  {} has no formula{}, at most {}{}:\n", label(variant, one),
                        is_count                     ? " for its number; its numbers"
                        : one.count.max_recorded > 1 ? "; the largest of each shape"
                                                     : "; its sizes",
                        figure.max_recorded, is_count ? "" : " bytes");
    const std::string value = figure.shapes.size() < variant.shapes().count() && !figure.shapes.empty()
                                  ? common_value(variant.shapes(), figure.shapes)
                                  : "";
    std::size_t shown = 0;
    for (std::size_t i = 0; i < figure.recorded.size() && shown < kMaxSizesShown; ++i, ++shown) {
      text +=
          fmt::format("    {:>14}  at {}\n", figure.recorded[i], shape_text(cases.shapes, figure.shapes[i]));
    }
    const std::string more = more_than(kMaxSizesShown, figure.recorded.size());
    if (!more.empty()) text += "  " + more;
    if (!value.empty())
      text += fmt::format("    only shapes with {} have it: fix {} to find a formula from more of them\n",
                          value, value);
    if (differs_between_passes(cases, one)) {
      text +=
          "    two passes at the same shape differ: it does not depend on the axes alone; give the program a "
          "fixed seed, or make what it depends on an axis\n";
    } else if (figure.recorded.size() < kManyShapes) {
      text += fmt::format("    from {} only a short formula is accepted; add {} or more, such as {}\n",
                          quantity(figure.recorded.size(), "shape"), kManyShapes - figure.recorded.size(),
                          shapes_to_add(variant.shapes().subset(figure.shapes), kShapesShown));
    } else {
      text += "    record one of these shapes again: if it differs, it does not depend on the axes alone\n";
    }
  }
  return text;
}

}  // namespace peakmark
