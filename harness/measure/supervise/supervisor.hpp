#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/sweep/suite.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// The time limit of a case. It grows with the memory of the case, since inputs, calls and verification take
/// time in proportion to it. An exact limit (`--timeout`) has `per_gib` 0.
struct CaseLimit {
  std::chrono::milliseconds base{60'000};
  std::chrono::milliseconds per_gib{10'000};

  /// Returns the limit of a case that needs `bytes`; the base if they are unknown. The limit exceeds the base
  /// by at most one day.
  [[nodiscard]] std::chrono::milliseconds limit(std::optional<Size> bytes) const {
    constexpr std::chrono::milliseconds kMaxExtra = std::chrono::hours(24);
    const double extra =
        static_cast<double>(per_gib.count()) * static_cast<double>(bytes.value_or(0)) / (Size{1} << 30);
    if (extra >= static_cast<double>(kMaxExtra.count())) return base + kMaxExtra;
    return base + std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(extra));
  }

  friend bool operator==(const CaseLimit&, const CaseLimit&) = default;
};

struct SupervisorOptions {
  WorkerCommand worker;  ///< without `--cases` and `--observations-fd`, which the supervisor adds
  CaseLimit case_limit;
  /// Limit from a worker's start to its first case: drivers load and kernels compile.
  std::chrono::milliseconds start_limit{120'000};
  /// Limit from SIGKILL to the end of a worker; after that the run continues without it.
  std::chrono::milliseconds kill_limit = kKillLimit;
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< of the whole run
  int interrupt = -1;                                        ///< a descriptor; when it is readable: stop
};

/// Receives all events while workers measure.
class SupervisorListener {
 public:
  SupervisorListener() = default;
  SupervisorListener(const SupervisorListener&) = delete;
  SupervisorListener& operator=(const SupervisorListener&) = delete;
  virtual ~SupervisorListener() = default;

  virtual void started(const PlannedCase& planned) = 0;
  virtual void finished(const PlannedCase& planned, const Observation& observation) = 0;
  /// A worker is being started for this number of cases.
  virtual void starting(std::size_t /*cases*/) {}
  /// Called about once a second while a worker runs.
  virtual void waiting() {}
  /// The time of the reference case, measured between two cases.
  virtual void reference(const ReferenceTime& time) = 0;
  /// A worker has ended, and no other runs: processes that it left behind may be killed.
  virtual void ended() {}
  /// A line that a worker wrote to its standard output or error.
  virtual void said(std::string_view line) = 0;
};

enum class Stop { done, deadline, interrupted };

/// Runs workers until each of `cases` has an observation. A worker that crashes, hangs or writes malformed
/// output is killed with its process group and replaced; its case becomes `crashed` or `timeout`, and the run
/// continues. If this happens while a case's estimators are asked, the case keeps its observation and the
/// estimator has the error. A worker that cannot be killed is left behind, and the outcome reports it. A
/// worker may also exit between two cases, to be replaced by a new one. A case that the deadline or an
/// interrupt stops has no observation. Throws RecorderError, UsageError or DeviceError if a worker ends with
/// exit code 5, 2 or 4 before a case, and ProtocolError if three workers in a row end before their first
/// case.
Stop supervise(const SupervisorOptions& options, const std::vector<const PlannedCase*>& cases,
               SupervisorListener& listener);
Stop supervise(const SupervisorOptions& options, const std::vector<PlannedCase>& cases,
               SupervisorListener& listener);

/// Returns a pointer to each case.
std::vector<const PlannedCase*> pointers_to(const std::vector<PlannedCase>& cases);

/// Measures the reference case in a separate worker. Returns null times if that fails; the listener gets the
/// reason. Throws RecorderError as supervise() does.
ReferenceTime measure_reference(const SupervisorOptions& options, SupervisorListener& listener);

}  // namespace peakmark
