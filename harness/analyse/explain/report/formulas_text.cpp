#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyse/explain/report/reports.hpp"
#include "analyse/explain/search/conditions.hpp"
#include "analyse/explain/search/formula_algebra.hpp"
#include "analyse/explain/search/shapes.hpp"
#include "base/error.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"

namespace peakmark {
namespace {

std::string display(const Expression& formula) {
  return to_text(formula, ExpressionStyle::display);
}

std::string named_text(const std::vector<NamedLength>& lengths) {
  if (lengths.empty()) return "";
  std::vector<std::string> texts;
  texts.reserve(lengths.size());
  for (const NamedLength& one : lengths) texts.push_back(one.name + " = " + display(one.length));
  return fmt::format("with {}", fmt::join(texts, ", "));
}

// Returns the shape for which bytes are shown.
Shapes shown_shape(const RecordedCases& cases, const AxisLengths& at) {
  const std::size_t largest = largest_shape(cases);
  Shapes shape = cases.shapes.subset(std::span(&largest, 1));
  for (Shapes::Axis& axis : shape.axes) {
    for (const auto& [name, wanted] : at) {
      if (name == axis.name) axis.values = {wanted};
    }
  }
  return shape;
}

std::string bytes_at(const std::optional<Expression>& formula, const Shapes& shape) {
  if (!formula) return "–";
  try {
    return format_size(evaluate(*formula, shape, 0));
  } catch (const Error&) {
    return "–";
  }
}

std::string bytes_text(const ExplainedAllocation& one, const std::vector<NamedLength>& lengths) {
  const auto text = [&](const Figure& figure, std::string_view what) {
    if (figure.formula) return display(with_names(*figure.formula, lengths));
    if (&figure == &one.bytes && one.largest) return "up to " + display(with_names(*one.largest, lengths));
    const Size min = figure.recorded.empty() ? 0 : std::ranges::min(figure.recorded);
    return fmt::format("not explained: {} to {}{}", min, figure.max_recorded, what);
  };
  std::string bytes = text(one.bytes, " bytes");
  if (one.count.formula && one.count.formula->is_integer(1)) return bytes;
  if (one.is_at_some_shapes()) return "at some shapes: " + bytes;
  const std::string count = text(one.count, " times");
  const bool is_simple = one.count.formula && one.count.formula->operation() != Expression::Operation::add;
  const bool is_sum = one.bytes.formula && one.bytes.formula->operation() == Expression::Operation::add;
  return (is_simple ? count : "(" + count + ")") + " × " + (is_sum ? "(" + bytes + ")" : bytes);
}

struct Row {
  std::string name, where, process, phases, bytes, at;
};

// Returns a row for each allocation; allocations that calls repeat are one row with several phases.
std::vector<Row> rows(const VariantFormulas& variant, const std::vector<NamedLength>& lengths,
                      const Shapes& shape) {
  std::vector<Row> all;
  for (const ExplainedAllocation& one : variant.explanation.allocations) {
    Row row{one.name,  variant.site(one.where),  one.process,
            one.phase, bytes_text(one, lengths), bytes_at(one.all_bytes(), shape)};
    const auto same = std::ranges::find_if(all, [&](const Row& other) {
      return other.name == row.name && other.where == row.where && other.process == row.process &&
             other.bytes == row.bytes && other.phases.starts_with("call") && row.phases.starts_with("call") &&
             other.phases != row.phases;
    });
    if (same != all.end()) {
      same->phases += ", " + row.phases;
    } else {
      all.push_back(std::move(row));
    }
  }
  return all;
}

std::string allocation_table(const VariantFormulas& variant, const std::vector<NamedLength>& lengths,
                             const Shapes& shape) {
  const std::vector<Row> all = rows(variant, lengths, shape);
  const bool has_places = std::ranges::any_of(all, [](const Row& row) { return !row.where.empty(); });
  const bool has_processes = std::ranges::any_of(all, [](const Row& row) { return !row.process.empty(); });
  Fields<Row> fields{{"allocation", As::text, &Row::name}};
  if (has_places) fields.emplace_back("where", As::text, &Row::where, "", "");
  if (has_processes) fields.emplace_back("process", As::text, &Row::process, "", "the program");
  fields.emplace_back("phase", As::text, &Row::phases, "", "");
  fields.emplace_back("bytes", As::text, &Row::bytes);
  fields.emplace_back("at " + shape_text(shape, 0), As::figure, &Row::at);
  return rows_text(fields, all, all.size(), "  ");
}

// Returns when a moment is the peak: by a condition on axes, else by its additional allocations compared with
// the other moment.
std::string when(const VariantFormulas& variant, const std::vector<PeakMoment>& moments, std::size_t index) {
  const PeakMoment& moment = moments[index];
  const std::size_t shapes = variant.shapes().count();
  std::vector<bool> is_peak(shapes, false);
  for (const std::size_t shape : moment.shapes) is_peak[shape] = true;
  if (moment.shapes.size() == shapes) return "the peak at all recorded shapes";
  if (const auto condition = find_condition(variant.shapes(), is_peak)) return "the peak when " + *condition;
  const bool always_occurs = std::ranges::all_of(moments, &PeakMoment::is_sum_of_terms);
  if (moments.size() == 2 && (always_occurs || !moment.shapes.empty())) {
    const auto [more, less] = without_common_parts(moment.bytes, moments[1 - index].bytes);
    return fmt::format("the peak when {} > {}", display(more), display(less));
  }
  if (!moment.shapes.empty())
    return fmt::format("the peak at {} of {} recorded shapes", moment.shapes.size(), shapes);
  return fmt::format("the peak at no recorded shape, but at {}", shape_text(moment.example, 0));
}

std::string peak_text(const VariantFormulas& variant, const std::vector<NamedLength>& lengths,
                      const Shapes& shape) {
  const Explanation& explanation = variant.explanation;
  const std::string names = named_text(lengths);
  std::string end = names.empty() ? "" : "  " + names;
  const std::vector<PeakMoment>& moments = explanation.moments;
  if (const auto peak = explanation.peak()) {
    end = fmt::format("  = {}{}", bytes_at(peak, shape), end);
  } else {
    const RecordedCases& cases = variant.cases.front();
    const std::size_t largest = largest_shape(cases);
    const std::string recorded = fmt::format("at most {} bytes were recorded, at {}", cases.peaks[largest],
                                             shape_text(cases.shapes, largest));
    if (moments.empty()) return fmt::format("  peak: not explained; {}{}\n", recorded, end);
    end += "; " + recorded;
  }
  if (moments.size() == 1)
    return fmt::format("  peak = {}{}\n", display(with_names(moments.front().bytes, lengths)), end);
  std::vector<std::string> letters;
  std::string lines;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    letters.push_back(i < 26 ? std::string(1, static_cast<char>('A' + i)) : "M" + std::to_string(i + 1));
    const PeakMoment& moment = moments[i];
    const std::string condition = when(variant, moments, i);
    // If a condition was found from recorded shapes, it describes when the moment occurs.
    const Expression bytes = moment.shapes.empty() ? moment.bytes : Expression::add(moment.terms);
    lines += fmt::format("    {} = {}, {}\n", letters.back(), display(with_names(bytes, lengths)), condition);
  }
  return fmt::format("  peak = max({}){}\n{}", fmt::join(letters, ", "), end, lines);
}

std::vector<Expression> all_formulas(const VariantFormulas& variant) {
  std::vector<Expression> all;
  for (const ExplainedAllocation& one : variant.explanation.allocations) {
    if (one.bytes.formula) all.push_back(*one.bytes.formula);
  }
  for (const PeakMoment& moment : variant.explanation.moments) all.push_back(moment.bytes);
  return all;
}

std::string variant_text(const VariantFormulas& variant, const AxisLengths& at) {
  const Explanation& explanation = variant.explanation;
  if (!explanation.has_enough_shapes())
    return fmt::format("{}  {}\n", variant.title(), fmt::join(explanation.notes, "; "));
  const std::vector<Expression> formulas = all_formulas(variant);
  const auto lengths = find_named_lengths(formulas);
  const Shapes shape = shown_shape(variant.cases.front(), at);
  std::string text = fmt::format("{}  {} fitted, {} held out", variant.title(),
                                 quantity(explanation.fitted, "shape"), explanation.held_out);
  if (variant.is_explained()) {
    text += ": 0 bytes off\n";
  } else if (explanation.unexplained_bytes > 0) {
    text += fmt::format(": up to {} have no formula\n", quantity(explanation.unexplained_bytes, "byte"));
  } else {
    text += ": the peak has no formula\n";
  }
  text += fmt::format("  {} {}\n", variant.is_explained() ? "tested for" : "recorded for",
                      ranges_text(tested_shapes(variant)));
  text += allocation_table(variant, lengths, shape);
  text += peak_text(variant, lengths, shape);
  text += unexplained_text(variant);
  for (const std::string& note : explanation.notes) text += "  note: " + one_line(note) + "\n";
  return text;
}

}  // namespace

std::string formulas_text(const FormulaReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    if (i > 0) text += "\n";
    text += variant_text(report.variants[i], report.at);
    for (const EstimatorFindings& one : report.findings) {
      if (one.variant == i) text += findings_text(report.variants[i], one);
    }
  }
  return text;
}

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
