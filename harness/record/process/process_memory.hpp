#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "record/ledger/region_ledger.hpp"
#include "record/ledger/repetitions.hpp"
#include "record/process/process_recorders.hpp"

namespace peakmark {

/// The figures of device memory of a region of this process.
struct RegionResult {
  RegionFigures figures;
  std::optional<RegionLists> lists;
  std::vector<std::string>
      notes;  ///< the notes of the lists, on devices that were not waited for, and from children
  /// The phases that this process itself repeated, if the region keeps events. Their marks waited for the
  /// devices.
  std::vector<RepeatedPhase> repetitions;
  bool is_recorded = false;  ///< false: neither OpenCL nor CUDA was called here or in a child
};

/// The device memory of this process while it runs: reads the profiles that its recorders write, and those of
/// the processes that it starts, into a ledger with regions. After a fork the child starts from zero, as its
/// profile does. Thread-safe.
class ProcessMemory {
 public:
  /// The caller, which decides what is read and waited for.
  enum class Use {
    benchmarks,  ///< only this process; begin() also waits for late releases
    windows,     ///< children too, and lists
  };

  ProcessMemory();
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  ~ProcessMemory();

  /// Calls ProcessRecorders::request() and, for benchmarks, ProcessRecorders::load().
  void load(Use use, const std::filesystem::path& folder, bool sync, bool stacks);
  /// Returns the number of recorders. Throws RecorderError if something is used unrecorded.
  std::size_t require_recorded(Use use);

  struct RegionOptions {
    std::optional<std::uint64_t> since;  ///< an earlier region, see RegionLedger::open
    bool has_timeline = false;
    bool keeps_events = false;  ///< for `repetitions` of the result
  };
  /// Begins a region after the devices have finished all enqueued work. Throws RecorderError if something
  /// cannot be recorded.
  std::uint64_t begin(Use use, const RegionOptions& options);
  /// Ends a region after the devices have finished all enqueued work, and waits up to 100 ms for late
  /// releases.
  RegionResult end(Use use, std::uint64_t region);

  /// For pthread_atfork: no other thread may hold the lock during the fork.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct OwnProfile;
  struct Stream;
  struct State;

  State& state();
  std::vector<std::string> synchronise(std::unique_lock<std::mutex>& lock, Use use);
  void advance(Use use);
  void wait_for_releases(Use use, Size enough, const std::function<Size()>& live);

  std::mutex mutex_;
  ProcessRecorders recorders_;
  std::unique_ptr<State> state_;
  std::unique_ptr<State> parents_;  ///< state of the parent process at the fork
  std::uint64_t next_region_ = 0;
};

}  // namespace peakmark
