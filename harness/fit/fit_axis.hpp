#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "device/memory_budget.hpp"
#include "explain/expression.hpp"
#include "fit/report.hpp"
#include "supervise/record_shapes.hpp"
#include "sweep/formula.hpp"

namespace peakmark {

/// An axis to fit, or one along which others are fitted, and the values that may be tried.
struct FreeAxis {
  std::string name;
  std::optional<std::pair<Size, Size>>
      range;  ///< both included; null: from the smallest value of the axis on
};

/// What is searched.
struct FitRequest {
  std::string variant;
  FreeAxis axis;
  /// The axis is fitted at several values of this one: its smallest value times powers of two, up to the end
  /// of its range or the first at which nothing fits.
  std::optional<FreeAxis> other;
  /// AXIS=VALUE, and AXIS=FORMULA for an axis that follows others: `ny=2*nx`.
  std::vector<std::string> values;
  MemoryBudget budget;
  Size step = 1;  ///< only multiples of it are tried
  std::optional<Size> slices;
  /// Null: the formula of a variant, else its estimator; the estimator of a program; else recorded peaks.
  std::optional<Predictor> predictor;
  bool needs_proof = false;
  SweepOptions sweep;  ///< the suites (none: the variants of the worker), backend, device and time limits
};

/// Makes `request` one for a program: writes a suite into `folder` in which the command is the only program,
/// with the axes of the request. Throws UsageError if the command does not read the fitted axis.
void use_program(FitRequest& request, const std::vector<std::string>& command, const ScratchFolder& folder);

/// Searches the largest value of an axis whose peak stays within a budget. Every trial is a process of its
/// own.
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
  void set_range(FitReport& report) const;
  void check_changes_memory(const FitReport& report, const LargestValueSearch& search,
                            const PredictedBytes& predicted) const;
  FitTrial record(Size value, std::optional<Size> predicted);
  void try_values(LargestValueSearch& search, FitReport& report, const PredictedBytes& predicted);
  const AxisDescription& integer_axis(const std::string& name) const;
  [[nodiscard]] Size value_of(const std::string& axis, Size fitted) const;
  [[nodiscard]] Parameters shape_at(Size fitted) const;
  [[nodiscard]] std::optional<Size> predict(Size fitted) const;
  [[nodiscard]] std::vector<std::optional<Size>> estimate(const std::vector<Size>& values) const;
  [[nodiscard]] PredictedBytes prediction(const SearchRange& range) const;

  FitRequest request_;
  ShapeRecorder recorder_;
  const VariantDescription& variant_;
  Parameters values_;  ///< of all axes; those that are fitted or derived are not read
  std::vector<DerivedAxis> derived_;
  ResolvedBudget budget_;
  Predictor predictor_ = Predictor::recordings;
  std::optional<Expression> peak_;
  std::vector<std::string> notes_;  ///< on the prediction
};

}  // namespace peakmark
