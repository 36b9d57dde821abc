#pragma once

#include <array>
#include <atomic>

#include "recorders/cupti/cuda_driver.hpp"
#include "recorders/cupti/cupti_library.hpp"

namespace peakmark {

/// The driver of this process, asked through the libcuda that it has loaded. What an old driver lacks is
/// answered with null.
class LoadedDriver : public CudaDriver {
 public:
  explicit LoadedDriver(const CuptiLibrary& cupti);

  std::uint32_t device_of(CUcontext context, std::uint32_t context_id) override;
  std::uint32_t id_of(CUcontext context) override;
  bool is_capturing(CUstream stream) override;
  CUmemoryPool current_pool(std::uint32_t device) override;
  bool is_on_host(CUdeviceptr address) override;
  std::optional<bool> primary_is_active(std::uint32_t device) override;
  std::optional<PoolUsage> pool_usage(CUmemoryPool pool) override;
  std::optional<PoolUsage> graph_usage(std::uint32_t device) override;
  bool synchronise(CUstream stream) override;
  /// Makes a call that has no effect. False when the driver has gone.
  bool free_nothing();
  /// Waits for everything in the current context.
  void synchronise_context();

 private:
  const CuptiLibrary& cupti_;
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
  // Contexts seen, as (id << 32 | device) + 1; a place is overwritten by the next context that falls on it.
  std::array<std::atomic<std::uint64_t>, 64> devices_{};
};

}  // namespace peakmark
