#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/estimate/estimator_process.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {

/// Which estimators are asked about the cases of a recorded run.
struct RecordedQuestion {
  /// A call (`python:…`), or the name of an estimator. Empty: each variant's default.
  std::string estimator;
  /// Form, Python and time limit of `estimator`, if it is a call that no suite has.
  ExternalEstimator call;
  std::vector<std::filesystem::path> suites;  ///< whose programs and estimators may be named
  std::optional<std::string> worker;          ///< null: the suites' worker, else the default worker
  std::string variant;                        ///< only its cases; empty: all
  /// The slice axis of variants that only the run describes. Empty: the axis whose values are the recorded
  /// numbers of slices.
  std::string slice_axis;
  std::optional<double> seconds = std::nullopt;  ///< maximum time for an answer; null: the estimator's limit
  std::string limit_option = "--seconds";        ///< the option that sets it, for messages
  /// Receives warnings of estimators; null: they are printed and added to the warnings of the run.
  EstimatorWarnings* warnings = nullptr;
};

/// Asks estimators about the measured cases of a run, without measuring them again: how many slices fit into
/// the recorded peak, and how many bytes the used slices need. Replaces the estimates of these cases, and
/// removes the expectation of any other estimator. An estimator's failure is the `error` of its estimate.
/// Returns the number of cases asked about.
///
/// A call needs neither suite nor worker. Throws UsageError if the slice axis is unknown, or the run has no
/// such variant or estimator; Interrupted after a signal.
std::size_t ask_about_run(Run& run, const RecordedQuestion& question);

/// Adds the named terms to recorded estimates of a worker's variants (EstimateObservation::terms), if the
/// present worker gives the recorded answer in bytes. Estimates stay unchanged if no worker can be asked;
/// throws only if the question names a worker.
void add_recorded_terms(Run& run, const RecordedQuestion& question);

}  // namespace peakmark
