#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "runfile/observation.hpp"
#include "subprocess/worker_process.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// How long a case may take: more where it needs more memory, since inputs, calls and verification take time
/// in proportion to that. An exact limit, as `--timeout` sets it, has `per_gib` 0.
struct CaseLimit {
  std::chrono::milliseconds base{60'000};
  std::chrono::milliseconds per_gib{10'000};

  /// Of a case that needs `bytes`; the base where that is unknown. At most a day more than the base.
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
  /// From a worker's start to its first case: drivers load and kernels compile.
  std::chrono::milliseconds start_limit{120'000};
  /// For the end of a worker after SIGKILL; then the run goes on without it.
  std::chrono::milliseconds kill_limit = kKillLimit;
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< of the whole run
  int interrupt = -1;                                        ///< readable: stop now
};

/// Hears of everything as it happens.
class SupervisorListener {
 public:
  SupervisorListener() = default;
  SupervisorListener(const SupervisorListener&) = delete;
  SupervisorListener& operator=(const SupervisorListener&) = delete;
  virtual ~SupervisorListener() = default;

  virtual void started(const PlannedCase& planned) = 0;
  virtual void finished(const PlannedCase& planned, const Observation& observation) = 0;
  /// A worker is started, for so many cases.
  virtual void starting(std::size_t /*cases*/) {}
  /// Called about once a second while a worker works.
  virtual void waiting() {}
  /// The reference case, timed between two cases.
  virtual void reference(const ReferenceTime& time) = 0;
  /// A worker has ended, and none runs: what is left of what it started may be ended.
  virtual void ended() {}
  /// A line that a worker wrote to its standard output or error.
  virtual void said(std::string_view line) = 0;
};

enum class Stop { done, deadline, interrupted };

/// Has workers measure `cases` until each has an observation. A worker that dies, hangs or writes nonsense is
/// killed with its whole group and replaced; its case becomes `crashed` or `timeout`, and the run goes on.
/// One that cannot be killed is left behind, and the outcome says so. A worker may also end by itself between
/// two cases, to be replaced by a fresh one. A case cut short by the deadline or an interrupt has no
/// observation. Throws RecorderError when a worker ends with exit code 5 before a case; UsageError and
/// DeviceError with 2 and 4, or ProtocolError when three workers in a row ended before their first case.
Stop supervise(const SupervisorOptions& options, const std::vector<PlannedCase>& cases,
               SupervisorListener& listener);

/// The reference case, by a worker of its own. Null where the worker has no answer; why goes to the listener.
/// Throws RecorderError as `supervise` does.
ReferenceTime measure_reference(const SupervisorOptions& options, SupervisorListener& listener);

}  // namespace peakmark
