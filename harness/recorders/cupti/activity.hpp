#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "recorders/cupti/cupti_library.hpp"

namespace peakmark {

/// Activity records of CUPTI: hands it buffers, takes them back full and gives each record to a consumer.
/// There is one in a process, as CUPTI's buffer callbacks know no more than that.
class Activity {
 public:
  using Consumer = std::function<void(const CUpti_Activity&)>;

  /// Registers the buffers and the clock (CLOCK_MONOTONIC); before any kind is enabled. Records differ from
  /// release to release of CUPTI: false, with `reason`, for a release whose records are not known.
  bool open(const CuptiLibrary& cupti, Consumer consumer, std::string& reason);

  bool enable(CUpti_ActivityKind kind, std::string& reason);
  /// Takes back everything there is, then stops the kind. The device must be idle.
  void flush();
  void disable(CUpti_ActivityKind kind);
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  void forget_dropped() { dropped_ = 0; }
  /// Calls `use` while no record is consumed: what the consumer keeps is read so.
  void between_records(const std::function<void()>& use);

  /// Gives each record of a buffer to the consumer, one thread at a time.
  void consume(std::uint8_t* buffer, std::size_t valid_bytes);

 private:
  static void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records);
  static void complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                       std::size_t valid_bytes);

  const CuptiLibrary* cupti_ = nullptr;
  Consumer consumer_;
  std::mutex mutex_;  // of the consumer; never held while CUPTI is called to flush or to count
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace peakmark
