#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "record/recorders/cupti/cupti_library.hpp"
#include "record/recorders/cupti/event_sink.hpp"

namespace peakmark {

/// CUPTI's activity records: provides buffers, and passes each record to a consumer. One per process, because
/// CUPTI's buffer callbacks have no context argument.
class Activity {
 public:
  using Consumer = std::function<void(const CUpti_Activity&)>;

  /// Registers the buffers and the clock (CLOCK_MONOTONIC), before any kind is enabled. The layout of records
  /// differs between releases of CUPTI: for an unknown release, returns false, with `reason`.
  bool open(const CuptiLibrary& cupti, Consumer consumer, std::string& reason);

  bool enable(CUpti_ActivityKind kind, std::string& reason);
  /// Flushes all records. The device must be idle.
  void flush();
  void disable(CUpti_ActivityKind kind);
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void forget_dropped() { dropped_ = 0; }
  /// Calls `use` while no record is being consumed, so that it can read the consumer's data.
  void between_records(const std::function<void()>& use);

  /// Passes each record of a buffer to the consumer, one thread at a time.
  void consume(std::uint8_t* buffer, std::size_t valid_bytes);

 private:
  static void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
  static void complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                       std::size_t valid_bytes);

  const CuptiLibrary* cupti_ = nullptr;
  Consumer consumer_;
  std::mutex mutex_;  // for the consumer; never held while CUPTI flushes or counts
  std::atomic<std::uint64_t> dropped_{0};
};

/// How often a kernel ran, and its total time.
struct KernelTotal {
  std::string name;  ///< demangled; copies and fills as `[memset]`, `[memcpy device to device]`
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

/// Start and end of a kernel, a copy or a fill on the device, in ns of CLOCK_MONOTONIC.
struct DeviceWork {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  /// Returns whether the times are known: CUPTI writes 0 and 0 if it could not measure them.
  [[nodiscard]] bool is_timed() const { return (start != 0 || end != 0) && end >= start; }
};
/// Returns null for other kinds of record.
std::optional<DeviceWork> device_work(const CUpti_Activity& record);

/// Sums activity records of kernels, copies and fills. Ignores other kinds.
class KernelTimes {
 public:
  void add(const CUpti_Activity& record);
  /// Returns the totals, the longest first, equal ones by name.
  [[nodiscard]] std::vector<KernelTotal> totals() const;
  /// Returns the number of records without times, which are in no total.
  [[nodiscard]] std::uint64_t untimed() const { return untimed_; }
  void clear() {
    totals_.clear();
    untimed_ = 0;
  }

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  void add(const std::string& name, std::uint64_t start, std::uint64_t end);
  std::map<std::string, Total> totals_;
  std::uint64_t untimed_ = 0;
};

/// Collects activity records of kind MEMORY2, and writes them in the order of their time at the end. They are
/// an independent account that checks the recorded callbacks.
class MemoryRecords {
 public:
  void add(const CUpti_Activity& record);
  /// Writes everything collected, the earliest first. Static variables, which no call allocates, are omitted.
  /// A note has their number, and another one the number of `dropped` records.
  void write(EventSink& sink, std::uint64_t dropped);

 private:
  struct Record {
    std::uint64_t time_ns;
    bool is_release;
    CudaAllocation allocation;
  };
  std::vector<Record> records_;
  std::uint64_t static_variables_ = 0;
};

}  // namespace peakmark
