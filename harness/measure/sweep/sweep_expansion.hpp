#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "measure/sweep/description.hpp"
#include "measure/sweep/suite.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {

/// Expands one sweep to cases, after checking its names.
class SweepExpansion {
 public:
  /// `axes`: replace those of the sweep. Throws UsageError for unknown variants, backends, axes, words and
  /// estimators, values out of range, circular formulas, and more than kMaxCases cases.
  SweepExpansion(const SweepDocument& sweep, const SuiteDocument& suite, const Vocabulary& vocabulary,
                 const ExpandOptions& options, const std::vector<AxisValues>& axes = {});

  struct Expanded {
    PlannedCase planned;
    std::string written_backend;  ///< as written in the file: `auto` is not resolved
    const VariantDescription* variant;
  };
  /// Calls `take` for each case in order. Throws UsageError for a derived value out of range, an empty sweep,
  /// and a rule that matches no case.
  void walk(const std::function<void(Expanded)>& take) const;
  [[nodiscard]] std::size_t max_cases() const { return count_; }
  /// Returns whether each variant of the sweep has the axis.
  [[nodiscard]] bool all_have(const std::string& axis) const;

 private:
  void replace_axes(const std::vector<AxisValues>& axes);
  void check_axes(const VariantDescription& variant);
  void check_rules() const;
  void check_estimators(const Expectation& expectation, const VariantDescription& variant) const;
  void order_derived();
  void count();
  /// `parameters`: the defaults of the variant.
  [[nodiscard]] Parameters parameters(const VariantDescription& variant, Parameters parameters,
                                      std::size_t index) const;
  bool apply_rules(Expanded& expanded, std::vector<bool>& held) const;

  SweepDocument sweep_;
  bool has_typed_axes_ = false;  ///< so that a rule may match no case
  const SuiteDocument& suite_;
  const Vocabulary& vocabulary_;
  std::vector<const VariantDescription*> variants_;
  std::vector<std::pair<std::string, std::string>> backends_;  ///< as written and as resolved
  std::vector<const DerivedAxis*> derived_;                    ///< sorted by dependency
  std::size_t axis_combinations_ = 1;
  std::size_t count_ = 0;
};

}  // namespace peakmark
