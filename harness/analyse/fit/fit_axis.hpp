#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/fit/fit_request.hpp"
#include "measure/estimate/estimator_process.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/record_shapes.hpp"
#include "measure/sweep/expression.hpp"
#include "measure/sweep/formula.hpp"

namespace peakmark {

/// Searches the largest value of an axis whose peak stays within a budget. Every trial runs in a new process.
class AxisFitter {
 public:
  /// Finds worker and device. Throws UsageError for an unknown variant or axis, a wrong value or budget.
  explicit AxisFitter(FitRequest request);

  /// Searches. Returns one report, or one for each value of the other axis. Throws UsageError if the axis
  /// does not change the memory and has no range.
  std::vector<FitReport> fit();

 private:
  struct DerivedAxis {
    std::string name;
    Formula formula;
  };

  void set_values();
  FitReport fit_once();
  void find_predictor();
  void find_formula();
  void extrapolate_unknown(const std::vector<Observation>& observations);
  void set_range(FitReport& report) const;
  void check_changes_memory(const FitReport& report, const LargestValueSearch& search,
                            const PredictedBytes& predicted) const;
  FitTrial record(Size value, std::optional<Size> predicted);
  static std::vector<Size> compared_values(const FitReport& report);
  void take_times(FitReport& report);
  void try_values(LargestValueSearch& search, FitReport& report, const PredictedBytes& predicted);
  const AxisDescription& integer_axis(const std::string& name) const;
  [[nodiscard]] Size value_of(const std::string& axis, Size fitted) const;
  [[nodiscard]] Parameters shape_at(Size fitted) const;
  [[nodiscard]] std::optional<Size> predict(Size fitted) const;
  [[nodiscard]] std::vector<std::optional<Size>> estimate(const std::vector<Size>& values);
  [[nodiscard]] PredictedBytes prediction(FitReport& report);

  FitRequest request_;
  ShapeRecorder recorder_;
  const VariantDescription& variant_;
  Parameters values_;  ///< of all axes; those of fitted or derived axes are not read
  std::vector<DerivedAxis> derived_;
  ResolvedBudget budget_;
  Predictor predictor_ = Predictor::recordings;
  std::optional<Expression> peak_;
  /// Bytes of the allocations for which `peak_` has no formula, as a line along the axis.
  double unknown_bytes_ = 0;
  double unknown_bytes_per_step_ = 0;
  std::vector<std::string> notes_;  ///< on the prediction
  EstimatorWarnings warnings_{[](const std::string& warning) { say("warning: " + warning); }};
  bool is_estimator_noted_ = false;  ///< the notes say that the prediction comes from the estimator
};

}  // namespace peakmark
