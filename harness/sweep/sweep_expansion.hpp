#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/description.hpp"
#include "sweep/suite.hpp"
#include "sweep/suite_document.hpp"

namespace peakmark {

/// One sweep, its words checked against what there is, ready to be walked.
class SweepExpansion {
 public:
  /// Throws UsageError for a variant, backend, axis, word or estimator that is not there, a value out of
  /// range, formulas that need each other, and more cases than kMaxCases.
  SweepExpansion(const SweepDocument& sweep, const SuiteDocument& suite, const Vocabulary& vocabulary,
                 const ExpandOptions& options);

  struct Expanded {
    PlannedCase planned;
    std::string written_backend;  ///< as in the file, where `auto` is not resolved
    const VariantDescription* variant;
  };
  /// The cases in order, one at a time. Throws UsageError for a derived value out of range, an empty sweep,
  /// and a rule that holds for none of its cases.
  void walk(const std::function<void(Expanded)>& take) const;
  [[nodiscard]] std::size_t cases_at_most() const { return count_; }

 private:
  void check_axes(const VariantDescription& variant);
  void check_rules() const;
  void check_estimators(const Expectation& expectation, const VariantDescription& variant) const;
  void order_derived();
  void count();
  [[nodiscard]] Parameters parameters(const VariantDescription& variant, std::size_t index) const;
  bool apply_rules(Expanded& expanded, std::vector<bool>& held) const;

  const SweepDocument& sweep_;
  const SuiteDocument& suite_;
  const Vocabulary& vocabulary_;
  std::vector<const VariantDescription*> variants_;
  std::vector<std::pair<std::string, std::string>> backends_;  ///< as written, as resolved
  std::vector<const DerivedAxis*> derived_;                    ///< each after those that it reads
  std::size_t axis_combinations_ = 1;
  std::size_t count_ = 0;
};

}  // namespace peakmark
