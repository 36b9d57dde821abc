#include "analyse/explain/report/formulas_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyse/explain/report/causes_text.hpp"
#include "analyse/explain/report/named_lengths.hpp"
#include "analyse/explain/report/unexplained_text.hpp"
#include "analyse/explain/search/conditions.hpp"
#include "analyse/explain/search/formula_algebra.hpp"
#include "base/error.hpp"
#include "base/report.hpp"
#include "base/text.hpp"

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

}  // namespace peakmark
