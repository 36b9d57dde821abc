#pragma once

#include <string>
#include <vector>

#include "explain/run_formulas.hpp"

namespace peakmark {

/// What became of the formulas of a variant between two runs.
struct ChangedVariant {
  const VariantFormulas* base = nullptr;  ///< null: only the new run has it
  const VariantFormulas* next = nullptr;  ///< null: only the base run has it
  std::vector<WordSet> words;             ///< with which both have these formulas
  /// Allocations of one name and phase, of which some formulas differ. Empty if a run does not have any.
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
/// to both.
std::vector<ChangedVariant> changed_formulas(const std::vector<VariantFormulas>& base,
                                             const std::vector<VariantFormulas>& next);

/// Returns what became of the formulas of a case, a line for each allocation that differs: `row coordinates
/// (setup): 4·Hp·Wp → 4·Hp`. Empty where nothing differs, or either run has no formulas for the words of the
/// case. `axes`: of the case, in both runs.
std::vector<std::string> changed_formula_lines(const std::vector<VariantFormulas>& base,
                                               const std::vector<VariantFormulas>& next,
                                               const Parameters& axes);

/// Returns them side by side for the console; a line that says so if nothing differs.
std::string changed_formulas_text(const std::vector<ChangedVariant>& changed);

/// Returns the output of `explain OLD NEW --json` (docs/explain.md).
std::string changed_formulas_json(const std::vector<ChangedVariant>& changed);

}  // namespace peakmark
