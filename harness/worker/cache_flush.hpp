#pragma once

#include "device/device.hpp"

namespace peakmark {

/// Evicts what the last-level cache of a device holds, by writing a buffer of its own. It owns that buffer,
/// so create it for timings only: a memory pass would count it.
class CacheFlush {
 public:
  /// Throws OutOfMemory where the buffer does not fit, Unsupported where the device does not report its
  /// cache.
  explicit CacheFlush(Device& device);
  /// The memory is free when it returns.
  ~CacheFlush();
  CacheFlush(const CacheFlush&) = delete;
  CacheFlush& operator=(const CacheFlush&) = delete;

  /// Enqueues the writes. On a GPU they take some 100 us, in which the host enqueues the call that follows:
  /// its launch latency is over when it begins.
  void enqueue();

 private:
  Device& device_;
  Size elements_;
  Kernel kernel_;
  Array buffer_;
};

}  // namespace peakmark
