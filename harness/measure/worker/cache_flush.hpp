#pragma once

#include "measure/device/device.hpp"

namespace peakmark {

/// Evicts the contents of a device's last-level cache by writing its own buffer. Create it for timings only,
/// because a memory pass would count the buffer.
class CacheFlush {
 public:
  /// Throws OutOfMemoryError if the buffer does not fit, UnsupportedError if the device does not report its
  /// cache.
  explicit CacheFlush(backend::Device& device);
  /// Waits until the memory is released.
  ~CacheFlush();
  CacheFlush(const CacheFlush&) = delete;
  CacheFlush& operator=(const CacheFlush&) = delete;

  /// Enqueues the writes. On a GPU they take about 100 us; meanwhile the host enqueues the next call, so that
  /// its launch latency is not timed.
  void enqueue();

 private:
  backend::Device& device_;
  Size elements_;
  backend::Kernel kernel_;
  backend::Array buffer_;
};

}  // namespace peakmark
