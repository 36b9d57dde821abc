#include "analyse/explain/derive/changed_formulas.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

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
    if (!one->bytes.formula || !one->count.formula) return std::nullopt;
    texts.push_back(to_text(Expression::multiply({*one->count.formula, *one->bytes.formula}), style));
  }
  return fmt::format("{}", fmt::join(texts, " + "));
}

std::vector<Allocations> changed_allocations(const VariantFormulas& base, const VariantFormulas& next) {
  std::vector<Allocations> all;
  const auto find = [&](const ExplainedAllocation& one) -> Allocations& {
    const auto known = std::ranges::find_if(
        all, [&](const Allocations& other) { return other.name == one.name && other.phase == one.phase; });
    return known != all.end() ? *known : all.emplace_back(Allocations{one.name, one.phase, {}, {}});
  };
  for (const ExplainedAllocation& one : base.explanation.allocations) find(one).base.push_back(&one);
  for (const ExplainedAllocation& one : next.explanation.allocations) find(one).next.push_back(&one);
  std::erase_if(all, [](const Allocations& one) {
    return one.base.size() == one.next.size() &&
           sum_text(one.base, ExpressionStyle::plain) == sum_text(one.next, ExpressionStyle::plain);
  });
  return all;
}

std::optional<std::string> peak_formula(const VariantFormulas& variant, ExpressionStyle style) {
  const auto peak = variant.explanation.peak();
  return peak ? std::optional(to_text(*peak, style)) : std::nullopt;
}

ChangedVariant compare(const VariantFormulas& base, const VariantFormulas& next) {
  ChangedVariant changed{&base, &next, {}, changed_allocations(base, next), false};
  changed.is_peak_changed =
      peak_formula(base, ExpressionStyle::plain) != peak_formula(next, ExpressionStyle::plain);
  return changed;
}

using Key = std::tuple<std::string, std::string, std::string>;
Key key(const RecordedCases& cases) {
  return {cases.variant, cases.backend, words_text(cases.words)};
}

std::map<Key, const VariantFormulas*> by_case(const std::vector<VariantFormulas>& variants) {
  std::map<Key, const VariantFormulas*> found;
  for (const VariantFormulas& variant : variants) {
    for (const RecordedCases& cases : variant.cases) found[key(cases)] = &variant;
  }
  return found;
}

std::string title(const ChangedVariant& changed) {
  const std::string words = words_text(changed.words);
  return (changed.next != nullptr ? changed.next : changed.base)->variant +
         (words.empty() ? "" : "  " + words);
}

// Returns the bytes of one side of a line, for users.
std::string shown(const std::vector<const ExplainedAllocation*>& allocations) {
  return allocations.empty() ? "–"
                             : sum_text(allocations, ExpressionStyle::display).value_or("not explained");
}

// Returns whether both have the same words. `dtype` is ignored, because it may be a factor of formulas.
bool has_same_words(const Parameters& one, const Parameters& other) {
  return std::ranges::all_of(choice_axes(one).values(), [&](const auto& axis) {
    const AxisValue* const value = other.find(axis.first);
    return axis.first == "dtype" || (value != nullptr && *value == axis.second);
  });
}

const VariantFormulas* find_formulas(const std::vector<VariantFormulas>& variants, const Parameters& axes) {
  for (const VariantFormulas& variant : variants) {
    if (!variant.explanation.has_enough_shapes()) continue;
    for (const RecordedCases& cases : variant.cases) {
      if (has_same_words(cases.observations.front()->axes, axes)) return &variant;
    }
  }
  return nullptr;
}

Json words_json(const ChangedVariant& changed) {
  Json words = Json::object();
  for (const WordSet& set : changed.words) words[set.axis] = json_fields::to_json(set.words);
  return words;
}

Json text_or_null(const std::optional<std::string>& text) {
  return text && !text->empty() ? Json(*text) : Json();
}

}  // namespace

std::vector<ChangedVariant> changed_formulas(const std::vector<VariantFormulas>& base,
                                             const std::vector<VariantFormulas>& next) {
  const auto before = by_case(base);
  const auto after = by_case(next);
  std::vector<ChangedVariant> all;
  for (const VariantFormulas& variant : next) {
    // Words that are merged in one run may be separate in the other.
    std::map<const VariantFormulas*, std::size_t> partners;
    for (const RecordedCases& cases : variant.cases) {
      const auto same = before.find(key(cases));
      ++partners[same == before.end() ? nullptr : same->second];
    }
    const bool is_one = partners.size() == 1;
    for (const RecordedCases& cases : variant.cases) {
      const auto same = before.find(key(cases));
      ChangedVariant changed = same == before.end() ? ChangedVariant{nullptr, &variant, {}, {}, false}
                                                    : compare(*same->second, variant);
      changed.words = is_one ? variant.words : cases.words;
      const bool differs = !changed.is_in_both() || changed.is_peak_changed || !changed.allocations.empty();
      if (differs) all.push_back(std::move(changed));
      if (is_one) break;
    }
  }
  for (const VariantFormulas& variant : base) {
    for (const RecordedCases& cases : variant.cases) {
      if (!after.contains(key(cases))) all.push_back({&variant, nullptr, cases.words, {}, false});
    }
  }
  return all;
}

std::vector<std::string> changed_formula_lines(const std::vector<VariantFormulas>& base,
                                               const std::vector<VariantFormulas>& next,
                                               const Parameters& axes) {
  const VariantFormulas* const before = find_formulas(base, axes);
  const VariantFormulas* const after = find_formulas(next, axes);
  std::vector<std::string> lines;
  if (before == nullptr || after == nullptr) return lines;
  for (const Allocations& one : changed_allocations(*before, *after)) {
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
                           {"words", words_json(one)},
                           {"run", one.base == nullptr ? "new" : "base"}});
      continue;
    }
    const auto add = [&](const Json& allocation, const Json& phase, const char* kind, const Json& base,
                         const Json& next) {
      changes.push_back({{"variant", variant.variant},
                         {"backend", variant.backend},
                         {"words", words_json(one)},
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
