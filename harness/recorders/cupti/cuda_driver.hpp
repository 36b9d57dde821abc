#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace peakmark {

/// What the recorder asks of the driver and of CUPTI while it decodes a call: the seam at which a test puts a
/// fake driver. Called from within callbacks, with no lock held; nothing here allocates on the device. No
/// handle of a destroyed pool or context is passed.
class CudaDriver {
 public:
  struct PoolUsage {
    std::int64_t reserved_bytes;
    std::int64_t used_bytes;
  };

  virtual ~CudaDriver() = default;
  virtual std::uint32_t device_of(CUcontext context, std::uint32_t context_id) = 0;
  virtual std::uint32_t id_of(CUcontext context) = 0;
  /// True when what is enqueued on this stream becomes a node of a graph instead of being done.
  virtual bool is_capturing(CUstream stream) = 0;
  /// The pool that cuMemAllocAsync takes from; nullptr when the driver does not tell.
  virtual CUmemoryPool current_pool(std::uint32_t device) = 0;
  /// True for an address of live memory that lies on the host.
  virtual bool is_on_host(CUdeviceptr address) = 0;
  /// False once nothing retains the primary context any more; null when the driver does not tell.
  virtual std::optional<bool> primary_is_active(std::uint32_t device) = 0;
  virtual std::optional<PoolUsage> pool_usage(CUmemoryPool pool) = 0;
  /// Memory that graphs hold on a device.
  virtual std::optional<PoolUsage> graph_usage(std::uint32_t device) = 0;
  /// Waits until the stream is idle. False when that takes longer than a limit: the stream may wait for work
  /// that the calling thread has yet to enqueue.
  virtual bool synchronise(CUstream stream) = 0;
};

}  // namespace peakmark
