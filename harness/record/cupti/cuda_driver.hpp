#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace peakmark {

/// What the recorder asks of the driver and of CUPTI while it decodes a call: the seam at which a test puts a
/// fake driver. Called from within callbacks, with no lock held; nothing here allocates on the device.
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
  virtual std::optional<PoolUsage> pool_usage(CUmemoryPool pool) = 0;
  /// Memory that graphs hold on a device.
  virtual std::optional<PoolUsage> graph_usage(std::uint32_t device) = 0;
  virtual void synchronise(CUstream stream) = 0;
};

}  // namespace peakmark
