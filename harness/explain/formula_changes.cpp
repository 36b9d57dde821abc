#include "explain/formula_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace peakmark {
namespace {

// Returns whether both have the same words. `dtype` may be a factor of formulas.
bool has_same_words(const Parameters& one, const Parameters& other) {
  return std::ranges::all_of(word_axes(one).values(), [&](const auto& axis) {
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

// Formulas of the allocations of each phase and name.
using AllocationFormulas = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

AllocationFormulas allocation_formulas(const VariantFormulas& variant) {
  AllocationFormulas formulas;
  for (const ExplainedAllocation& one : variant.explanation.allocations) {
    const auto text = [](const Figure& figure) {
      return figure.formula ? to_text(*figure.formula, ExpressionStyle::display) : std::string("no formula");
    };
    std::string bytes = text(one.bytes);
    if (!one.count.formula || !one.count.formula->is_integer(1)) bytes.insert(0, text(one.count) + " × ");
    formulas[{one.phase, one.name}].push_back(std::move(bytes));
  }
  return formulas;
}

std::string joined_formulas(const AllocationFormulas& formulas, const AllocationFormulas::key_type& key) {
  const auto found = formulas.find(key);
  return found == formulas.end() ? "–" : fmt::format("{}", fmt::join(found->second, " + "));
}

}  // namespace

std::vector<std::string> formula_changes(const std::vector<VariantFormulas>& before,
                                         const std::vector<VariantFormulas>& after, const Parameters& axes) {
  const VariantFormulas* const old_variant = find_formulas(before, axes);
  const VariantFormulas* const new_variant = find_formulas(after, axes);
  std::vector<std::string> lines;
  if (old_variant == nullptr || new_variant == nullptr) return lines;
  const AllocationFormulas old_formulas = allocation_formulas(*old_variant);
  const AllocationFormulas new_formulas = allocation_formulas(*new_variant);
  AllocationFormulas all = old_formulas;
  all.insert(new_formulas.begin(), new_formulas.end());
  for (const auto& [key, unused] : all) {
    const std::string one = joined_formulas(old_formulas, key);
    const std::string other = joined_formulas(new_formulas, key);
    if (one == other) continue;
    const auto& [phase, name] = key;
    lines.push_back(
        fmt::format("{} ({}): {} → {}", name.empty() ? "unnamed" : name, phase_name(phase), one, other));
  }
  return lines;
}

}  // namespace peakmark
