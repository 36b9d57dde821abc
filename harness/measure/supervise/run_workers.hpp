#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/supervise/sweep_run.hpp"
#include "measure/sweep/description.hpp"

namespace peakmark {

/// A worker program and its extra arguments.
struct WorkerCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  /// Its `--cache`; null: the worker chooses by the kind of its device.
  std::optional<std::string> cache = std::nullopt;
  /// Returns the same call with `--times-only`: memory and results were measured before.
  [[nodiscard]] WorkerCall for_times_only() const;
};

/// The workers of one run: one, or several labelled ones, such as the builds of two commits. The names of a
/// labelled worker's variants end with its label. So one run file can contain the same variant of both, and
/// `compare RUN --variants sum/fast.old sum/fast.new` compares them.
class RunWorkers {
 public:
  /// Finds the workers and asks each for its description. Throws UsageError for a missing worker, one that
  /// does not answer, an invalid or repeated label, and a worker that does not support labels.
  RunWorkers(const SweepOptions& options, int interrupt);

  /// Returns the variants of all workers, which suites may name.
  [[nodiscard]] const Description& description() const { return description_; }
  /// Returns a warning if the workers are builds of different types, whose times cannot be compared; else
  /// empty.
  [[nodiscard]] std::string warning() const;
  /// Makes each worker check its cases, with check_cases().
  void check(const std::vector<PlannedCase>& cases, int interrupt) const;

  /// Returns for each case what its worker's `--check` reports; empty if the case is valid, or is of a
  /// program.
  [[nodiscard]] std::vector<std::string> mistakes(const std::vector<PlannedCase>& cases, int interrupt) const;

  [[nodiscard]] const std::vector<WorkerCall>& calls() const { return calls_; }
  /// Returns the index of the call that measures a case. Not for cases of programs.
  [[nodiscard]] std::size_t index_of(const PlannedCase& planned) const;

 private:
  void add(const LabelledWorker& worker, int interrupt);

  std::vector<WorkerCall> calls_;
  std::vector<Description> descriptions_;
  Description description_;
};

/// Returns the worker of a run with one worker: `options.worker`, else the one that the suites name, else the
/// default one. Throws UsageError if it is missing.
std::filesystem::path find_worker_for(const SweepOptions& options);

/// If neither a worker nor a suite is named, and the default worker lacks one of the variants (names or
/// patterns), sets `options.worker` to the worker with these variants that suites in the current folder name,
/// and reports it on standard error. Leaves `options` alone if there is none. Throws UsageError if several
/// workers have them, or the only one is not built.
void find_worker_here(SweepOptions& options, const std::vector<std::string>& variants);

/// Reads the values of `--worker` into `options`: one PROGRAM, or one or more LABEL=PROGRAM. Throws
/// UsageError for a mixture, a label with a point (a point separates variant and label in names) and a label
/// without a program.
void set_workers(SweepOptions& options, const std::vector<std::string>& typed);

/// Returns the values of `--worker` that set these options.
std::vector<std::string> typed_workers(const SweepOptions& options);

}  // namespace peakmark
