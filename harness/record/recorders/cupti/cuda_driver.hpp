#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "record/recorders/cupti/cupti_library.hpp"

namespace peakmark {

/// The queries that the recorder sends to the driver and to CUPTI while it decodes a call. An interface, so
/// that tests can provide a fake. Called inside callbacks, with no lock held. No query gets a handle of a
/// destroyed pool or context, and only `occupy` and `allocate` take device memory.
class CudaDriver {
 public:
  struct PoolUsage {
    std::int64_t reserved_bytes;
    std::int64_t used_bytes;
  };

  virtual ~CudaDriver() = default;
  virtual std::uint32_t device_ordinal(CUcontext context, std::uint32_t context_id) = 0;
  virtual std::uint32_t cupti_id(CUcontext context) = 0;
  /// Writes the name of a device; empty if the driver does not report it.
  virtual void name_device(std::uint32_t device, std::span<char> name) = 0;
  /// Returns true if work enqueued on this stream is captured into a graph instead of executed.
  virtual bool is_capturing(CUstream stream) = 0;
  /// Returns the pool that cuMemAllocAsync uses, or nullptr if the driver does not report it.
  virtual CUmemoryPool current_pool(std::uint32_t device) = 0;
  /// Returns true for the address of live host memory.
  virtual bool is_on_host(CUdeviceptr address) = 0;
  /// Returns false if nothing retains the primary context any more; null if the driver does not report it.
  virtual std::optional<bool> primary_is_active(std::uint32_t device) = 0;
  virtual std::optional<PoolUsage> pool_usage(CUmemoryPool pool) = 0;
  /// Returns the memory that graphs hold on a device.
  virtual std::optional<PoolUsage> graph_usage(std::uint32_t device) = 0;
  /// Waits until the stream is idle. Returns false after a time limit: the stream may wait for work that the
  /// calling thread has yet to enqueue.
  virtual bool synchronise(CUstream stream) = 0;
  /// Returns the free memory on the device of the current context.
  virtual std::optional<std::int64_t> free_bytes() = 0;
  /// Returns the granularity of physical memory sizes; null if the driver has none.
  virtual std::optional<std::int64_t> physical_granularity(std::uint32_t device) = 0;
  /// Takes physical memory, until give_back() or the end of the process. Returns its handle; null if the
  /// driver refuses.
  virtual std::optional<std::uint64_t> occupy(std::uint32_t device, std::int64_t bytes) = 0;
  virtual void give_back(std::uint64_t physical) = 0;
  /// Allocates in the current context. Returns the address; null if the driver refuses.
  virtual std::optional<std::uint64_t> allocate(std::int64_t bytes) = 0;
  virtual void release(std::uint64_t address) = 0;
};

/// The driver of this process, through the libcuda that it has loaded. Queries that an old driver lacks
/// return null.
class LoadedDriver : public CudaDriver {
 public:
  explicit LoadedDriver(const CuptiLibrary& cupti);

  std::uint32_t device_ordinal(CUcontext context, std::uint32_t context_id) override;
  std::uint32_t cupti_id(CUcontext context) override;
  void name_device(std::uint32_t device, std::span<char> name) override;
  bool is_capturing(CUstream stream) override;
  CUmemoryPool current_pool(std::uint32_t device) override;
  bool is_on_host(CUdeviceptr address) override;
  std::optional<bool> primary_is_active(std::uint32_t device) override;
  std::optional<PoolUsage> pool_usage(CUmemoryPool pool) override;
  std::optional<PoolUsage> graph_usage(std::uint32_t device) override;
  bool synchronise(CUstream stream) override;
  std::optional<std::int64_t> free_bytes() override;
  std::optional<std::int64_t> physical_granularity(std::uint32_t device) override;
  std::optional<std::uint64_t> occupy(std::uint32_t device, std::int64_t bytes) override;
  void give_back(std::uint64_t physical) override;
  std::optional<std::uint64_t> allocate(std::int64_t bytes) override;
  void release(std::uint64_t address) override;
  /// Returns true while this thread makes a call of the recorder itself.
  static bool is_own_call();
  /// Makes a call without effect. Returns false if the driver has been shut down.
  bool call_without_effect();
  /// Waits for all work in the current context.
  void synchronise_context();

 private:
  /// Makes a call that allocates or frees, even while the program captures a stream in global mode.
  template <typename Call>
  CUresult call_relaxed(Call call);

  const CuptiLibrary& cupti_;
  decltype(&cuDeviceGetName) device_name_ = nullptr;
  decltype(&cuStreamIsCapturing) stream_is_capturing_ = nullptr;
  decltype(&cuMemFree) free_ = nullptr;
  decltype(&cuStreamQuery) stream_query_ = nullptr;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode_ = nullptr;
  decltype(&cuCtxSynchronize) context_synchronise_ = nullptr;
  decltype(&cuDeviceGetMemPool) device_pool_ = nullptr;
  decltype(&cuPointerGetAttribute) pointer_attribute_ = nullptr;
  decltype(&cuDevicePrimaryCtxGetState) primary_state_ = nullptr;
  decltype(&cuMemPoolGetAttribute) pool_attribute_ = nullptr;
  decltype(&cuDeviceGetGraphMemAttribute) graph_attribute_ = nullptr;
  decltype(&cuMemGetInfo) memory_info_ = nullptr;
  decltype(&cuMemGetAllocationGranularity) granularity_ = nullptr;
  decltype(&cuMemCreate) create_ = nullptr;
  decltype(&cuMemRelease) release_ = nullptr;
  decltype(&cuMemAlloc) allocate_ = nullptr;
  // Devices of contexts, as (context id << 32 | device) + 1; another context with the same index replaces an
  // entry.
  std::array<std::atomic<std::uint64_t>, 64> devices_{};
};

}  // namespace peakmark
