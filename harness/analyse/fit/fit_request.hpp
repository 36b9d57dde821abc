#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/fit/report.hpp"
#include "base/files.hpp"
#include "base/size.hpp"
#include "measure/device/memory_budget.hpp"
#include "measure/supervise/sweep_run.hpp"

namespace peakmark {

/// An axis to fit, or one along which another is fitted, and the values that may be tried.
struct FreeAxis {
  std::string name;
  std::optional<std::pair<Size, Size>>
      range;                    ///< both included; null: from the smallest value of the axis on
  std::vector<Size> list = {};  ///< permitted values, ascending; empty: all
};

/// A search for the largest value of an axis.
struct FitRequest {
  std::string variant;
  std::vector<std::string> command;  ///< of a program without a suite, with placeholders; else empty
  FreeAxis axis;
  /// The first axis is fitted at several values of this one: its smallest value times powers of two, up to
  /// the end of its range or the first value at which nothing fits.
  std::optional<FreeAxis> other;
  /// AXIS=VALUE, and AXIS=FORMULA for an axis that depends on others: `ny=2*nx`.
  std::vector<std::string> values;
  MemoryBudget budget;
  Size step = 1;  ///< only multiples of it are tried
  std::optional<Size> slices;
  /// Null: for a variant its formula, else its estimator; for a program its estimator; else recorded peaks.
  std::optional<Predictor> predictor;
  bool needs_proof = false;
  bool wants_throughput = false;  ///< the answer is the value with the most items per second, not the largest
  SweepOptions sweep;  ///< the suites (none: the variants of the worker), backend, device and time limits
};

/// Sets `request` to fit the program of its command: writes a suite into `folder` in which the command is the
/// only program, with the axes of the request. Throws UsageError if the command does not read the fitted
/// axis.
void use_program(FitRequest& request, const ScratchFolder& folder);

/// Returns the command line, quoted for a shell, that runs a single value of the axis within `budget_bytes`.
/// `other`: the value of the second free axis; read only if there is one.
std::string reproduce_command(const FitRequest& request, const DeviceInfo& device, Size budget_bytes,
                              Size value, Size other);

/// Writes a suite whose only program is this command, without a shell. `axes`: names and defaults; a default
/// is an integer if it can be read as one. Returns the name of its variant, `program/train.py`. Throws
/// IoError.
std::string write_program_suite(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& axes,
                                const std::filesystem::path& suite);

}  // namespace peakmark
