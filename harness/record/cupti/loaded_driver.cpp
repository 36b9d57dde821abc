#include "record/cupti/loaded_driver.hpp"

#include <dlfcn.h>

namespace peakmark {
namespace {

template <typename Function>
void find(Function& function, void* library, const char* name) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

std::optional<CudaDriver::PoolUsage> usage(bool known, std::uint64_t reserved, std::uint64_t used) {
  if (!known) return std::nullopt;
  return CudaDriver::PoolUsage{static_cast<std::int64_t>(reserved), static_cast<std::int64_t>(used)};
}

}  // namespace

LoadedDriver::LoadedDriver(const CuptiLibrary& cupti) : cupti_(cupti) {
  void* const cuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  find(stream_is_capturing_, cuda, "cuStreamIsCapturing");
  find(stream_synchronise_, cuda, "cuStreamSynchronize");
  find(context_synchronise_, cuda, "cuCtxSynchronize");
  find(device_pool_, cuda, "cuDeviceGetMemPool");
  find(pool_attribute_, cuda, "cuMemPoolGetAttribute");
  find(graph_attribute_, cuda, "cuDeviceGetGraphMemAttribute");
}

std::uint32_t LoadedDriver::device_of(CUcontext context, std::uint32_t context_id) {
  if (context == nullptr) return 0;
  std::atomic<std::uint64_t>& place = devices_[context_id % devices_.size()];
  if (const std::uint64_t known = place.load(std::memory_order_relaxed);
      known != 0 && (known - 1) >> 32 == context_id) {
    return static_cast<std::uint32_t>(known - 1);
  }
  std::uint32_t device = 0;
  if (cupti_.device_id(context, &device) != CUPTI_SUCCESS) return 0;
  place.store((std::uint64_t{context_id} << 32 | device) + 1, std::memory_order_relaxed);
  return device;
}

std::uint32_t LoadedDriver::id_of(CUcontext context) {
  std::uint32_t id = 0;
  return cupti_.context_id(context, &id) == CUPTI_SUCCESS ? id : 0;
}

bool LoadedDriver::is_capturing(CUstream stream) {
  if (stream_is_capturing_ == nullptr) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // An error too means that a capture is under way: the legacy stream must not be touched during one.
  return stream_is_capturing_(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUmemoryPool LoadedDriver::current_pool(std::uint32_t device) {
  CUmemoryPool pool = nullptr;
  if (device_pool_ == nullptr || device_pool_(&pool, static_cast<CUdevice>(device)) != CUDA_SUCCESS)
    return nullptr;
  return pool;
}

std::optional<CudaDriver::PoolUsage> LoadedDriver::pool_usage(CUmemoryPool pool) {
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  const bool known = pool_attribute_ != nullptr &&
                     pool_attribute_(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) == CUDA_SUCCESS &&
                     pool_attribute_(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS;
  return usage(known, reserved, used);
}

std::optional<CudaDriver::PoolUsage> LoadedDriver::graph_usage(std::uint32_t device) {
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  const auto id = static_cast<CUdevice>(device);
  const bool known =
      graph_attribute_ != nullptr &&
      graph_attribute_(id, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved) == CUDA_SUCCESS &&
      graph_attribute_(id, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS;
  return usage(known, reserved, used);
}

void LoadedDriver::synchronise(CUstream stream) {
  // An error is one of the program's own work; the program's next call is told of it too.
  if (stream_synchronise_ != nullptr) stream_synchronise_(stream);
}

void LoadedDriver::synchronise_context() {
  if (context_synchronise_ != nullptr) context_synchronise_();
}

}  // namespace peakmark
