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

/// Returns the allocations of a case whose formulas differ. Empty if one run has no formulas for the words of
/// the case. `axes`: of the case, in both runs. The result refers to both runs.
std::vector<ChangedVariant::Allocations> changed_allocations(const std::vector<VariantFormulas>& base,
                                                             const std::vector<VariantFormulas>& next,
                                                             const Parameters& axes);

}  // namespace peakmark
