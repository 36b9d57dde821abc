#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyse/explain/report/reports.hpp"
#include "base/text_table.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {
namespace {

using json_fields::Json;
using Allocations = ChangedVariant::Allocations;

// Returns the sum of the bytes of some allocations, in a style; null if one has no formula.
std::optional<std::string> sum_text(const std::vector<const ExplainedAllocation*>& allocations,
                                    ExpressionStyle style) {
  std::vector<std::string> texts;
  texts.reserve(allocations.size());
  for (const ExplainedAllocation* const one : allocations) {
    const auto bytes = one->all_bytes();
    if (!bytes) return std::nullopt;
    texts.push_back(to_text(*bytes, style));
  }
  return fmt::format("{}", fmt::join(texts, " + "));
}

std::optional<std::string> peak_formula(const VariantFormulas& variant, ExpressionStyle style) {
  const auto peak = variant.explanation.peak();
  return peak ? std::optional(to_text(*peak, style)) : std::nullopt;
}

std::string title(const ChangedVariant& changed) {
  return variant_title((changed.next != nullptr ? changed.next : changed.base)->variant, changed.words);
}

// Returns the bytes of one side of a line, for users.
std::string shown(const std::vector<const ExplainedAllocation*>& allocations) {
  return allocations.empty() ? "–"
                             : sum_text(allocations, ExpressionStyle::display).value_or("not explained");
}

Json text_or_null(const std::optional<std::string>& text) {
  return text && !text->empty() ? Json(*text) : Json();
}

}  // namespace

std::vector<std::string> changed_formula_lines(const std::vector<Allocations>& changed) {
  std::vector<std::string> lines;
  for (const Allocations& one : changed) {
    lines.push_back(fmt::format("{} ({}): {} → {}", one.name.empty() ? "unnamed" : one.name, one.phase,
                                shown(one.base), shown(one.next)));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string changed_formulas_text(const std::vector<ChangedVariant>& changed) {
  constexpr ExpressionStyle kStyle = ExpressionStyle::display;
  std::string text;
  for (const ChangedVariant& one : changed) {
    if (!one.is_in_both()) {
      text += fmt::format("{}  only in the {} run\n", title(one), one.base == nullptr ? "new" : "base");
      continue;
    }
    TextTable table({{"  allocation"}, {"phase"}, {"base"}, {"new"}});
    for (const Allocations& line : one.allocations)
      table.add({"  " + (line.name.empty() ? std::string("–") : line.name), line.phase, shown(line.base),
                 shown(line.next)});
    if (one.is_peak_changed)
      table.add({"  peak", "", peak_formula(*one.base, kStyle).value_or("not explained"),
                 peak_formula(*one.next, kStyle).value_or("not explained")});
    text += title(one) + "\n" + table.text();
  }
  return text.empty() ? "no formula changed\n" : text;
}

std::string changed_formulas_json(const std::vector<ChangedVariant>& changed) {
  constexpr ExpressionStyle kStyle = ExpressionStyle::plain;
  Json changes = Json::array();
  Json unmatched = Json::array();
  for (const ChangedVariant& one : changed) {
    const VariantFormulas& variant = one.next != nullptr ? *one.next : *one.base;
    // Objects are created in one step, because nlohmann's diagnostics lose the parents of an object in a list
    // when it is extended.
    if (!one.is_in_both()) {
      unmatched.push_back({{"variant", variant.variant},
                           {"backend", variant.backend},
                           {"words", words_json(one.words)},
                           {"run", one.base == nullptr ? "new" : "base"}});
      continue;
    }
    const auto add = [&](const Json& allocation, const Json& phase, const char* kind, const Json& base,
                         const Json& next) {
      changes.push_back({{"variant", variant.variant},
                         {"backend", variant.backend},
                         {"words", words_json(one.words)},
                         {"allocation", allocation},
                         {"phase", phase},
                         {"kind", kind},
                         {"base", base},
                         {"new", next}});
    };
    for (const Allocations& line : one.allocations)
      add(text_or_null(line.name), line.phase,
          line.base.empty()   ? "added"
          : line.next.empty() ? "removed"
                              : "changed",
          text_or_null(sum_text(line.base, kStyle)), text_or_null(sum_text(line.next, kStyle)));
    if (one.is_peak_changed)
      add("peak", Json(), "changed", text_or_null(peak_formula(*one.base, kStyle)),
          text_or_null(peak_formula(*one.next, kStyle)));
  }
  return json_fields::pretty({{"changes", std::move(changes)}, {"unmatched", std::move(unmatched)}});
}

}  // namespace peakmark
