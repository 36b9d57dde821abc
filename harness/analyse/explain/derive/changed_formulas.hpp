#pragma once

#include <string>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// The difference between the formulas of a variant in two runs.
struct ChangedVariant {
  const VariantFormulas* base = nullptr;  ///< null: only the new run has it
  const VariantFormulas* next = nullptr;  ///< null: only the base run has it
  std::vector<WordSet> words;             ///< words for which both have these formulas
  /// Allocations of one name and phase with at least one changed formula. Empty if a run has none.
  struct Allocations {
    std::string name;
    std::string phase;
    std::vector<const ExplainedAllocation*> base;
    std::vector<const ExplainedAllocation*> next;
  };
  std::vector<Allocations> allocations;
  bool is_peak_changed = false;

  [[nodiscard]] bool is_in_both() const { return base != nullptr && next != nullptr; }
};

/// Returns the variants whose formulas differ between two runs, or that only one run has. The result refers
/// to both arguments.
std::vector<ChangedVariant> changed_formulas(const std::vector<VariantFormulas>& base,
                                             const std::vector<VariantFormulas>& next);

/// Returns the changes of the formulas of a case, one line per changed allocation: `row coordinates (setup):
/// 4·Hp·Wp → 4·Hp`. Empty if nothing differs, or one run has no formulas for the words of the case. `axes`:
/// of the case, in both runs.
std::vector<std::string> changed_formula_lines(const std::vector<VariantFormulas>& base,
                                               const std::vector<VariantFormulas>& next,
                                               const Parameters& axes);

/// Returns both side by side for the console, or one line that says that nothing differs.
std::string changed_formulas_text(const std::vector<ChangedVariant>& changed);

/// Returns the output of `explain OLD NEW --json` (docs/explain.md).
std::string changed_formulas_json(const std::vector<ChangedVariant>& changed);

}  // namespace peakmark
