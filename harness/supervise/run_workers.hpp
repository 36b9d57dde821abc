#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "supervise/measuring.hpp"
#include "supervise/sweep_run.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// The workers of one run: one, or several with a label each, such as the builds of two commits. The names of
/// a labelled worker's variants end with its label, so that the same variant of both stands in one run file,
/// and `compare RUN --variants sum/fast.old sum/fast.new` takes them.
class RunWorkers {
 public:
  /// Finds and asks them. UsageError for one that is not there or does not answer, a label that is none or
  /// stands twice, and a worker that cannot be labelled.
  RunWorkers(const SweepOptions& options, int interrupt);

  /// Of all together: what suites may name.
  [[nodiscard]] const Description& description() const { return description_; }
  /// What spoils a comparison of their times: builds of several kinds. Empty where nothing does.
  [[nodiscard]] std::string warning() const;
  /// Has each look at its cases (case_check.hpp).
  void check(const std::vector<PlannedCase>& cases, int interrupt) const;

  [[nodiscard]] const std::vector<WorkerCall>& calls() const { return calls_; }
  /// Which of the calls measures a case that is none of a program.
  [[nodiscard]] std::size_t index_of(const PlannedCase& planned) const;
  /// Only the cases of one of them.
  [[nodiscard]] std::vector<PlannedCase> cases_of(std::size_t index,
                                                  const std::vector<PlannedCase>& cases) const;

 private:
  void add(const LabelledWorker& worker, int interrupt);

  std::vector<WorkerCall> calls_;
  std::vector<Description> descriptions_;
  Description description_;
};

/// The one worker of a run: `options.worker`, or else the one that its suites name, or else the default one.
/// UsageError where it is not there.
std::filesystem::path find_worker_for(const SweepOptions& options);

/// `--worker` as it was typed: PROGRAM, once, or LABEL=PROGRAM, once or more, into `options`. UsageError for
/// a mixture, a label with a point (of_worker() could not tell it from a variant's name) or without a
/// program.
void set_workers(SweepOptions& options, const std::vector<std::string>& typed);

/// The other way round: what to type.
std::vector<std::string> typed_workers(const SweepOptions& options);

}  // namespace peakmark
