#include "record/recorders/cupti/cuda_driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace peakmark {
namespace {

// Longer than a kernel usually takes. Without a limit, a collective over several devices, whose kernels one
// thread launches one after the other, would wait for ever.
constexpr std::chrono::seconds kMaxWait{10};

template <typename Function>
void find(Function& function, void* library, const char* name) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

std::optional<CudaDriver::PoolUsage> usage(bool known, std::uint64_t reserved, std::uint64_t used) {
  if (!known) return std::nullopt;
  return CudaDriver::PoolUsage{static_cast<std::int64_t>(reserved), static_cast<std::int64_t>(used)};
}

thread_local bool is_within_own_call = false;

class OwnCall {
 public:
  OwnCall() { is_within_own_call = true; }
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;
  ~OwnCall() { is_within_own_call = false; }
};

CUmemAllocationProp physical_memory_of(std::uint32_t device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = static_cast<int>(device);
  return properties;
}

}  // namespace

LoadedDriver::LoadedDriver(const CuptiLibrary& cupti) : cupti_(cupti) {
  void* const cuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  find(device_name_, cuda, "cuDeviceGetName");
  find(stream_is_capturing_, cuda, "cuStreamIsCapturing");
  find(free_, cuda, "cuMemFree_v2");
  find(stream_query_, cuda, "cuStreamQuery");
  find(exchange_capture_mode_, cuda, "cuThreadExchangeStreamCaptureMode");
  find(context_synchronise_, cuda, "cuCtxSynchronize");
  find(device_pool_, cuda, "cuDeviceGetMemPool");
  find(pointer_attribute_, cuda, "cuPointerGetAttribute");
  find(primary_state_, cuda, "cuDevicePrimaryCtxGetState");
  find(pool_attribute_, cuda, "cuMemPoolGetAttribute");
  find(graph_attribute_, cuda, "cuDeviceGetGraphMemAttribute");
  find(memory_info_, cuda, "cuMemGetInfo_v2");
  find(granularity_, cuda, "cuMemGetAllocationGranularity");
  find(create_, cuda, "cuMemCreate");
  find(release_, cuda, "cuMemRelease");
  find(allocate_, cuda, "cuMemAlloc_v2");
}

std::uint32_t LoadedDriver::device_ordinal(CUcontext context, std::uint32_t context_id) {
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

std::uint32_t LoadedDriver::cupti_id(CUcontext context) {
  std::uint32_t id = 0;
  return cupti_.context_id(context, &id) == CUPTI_SUCCESS ? id : 0;
}

void LoadedDriver::name_device(std::uint32_t device, std::span<char> name) {
  name.front() = '\0';
  if (device_name_ != nullptr)
    device_name_(name.data(), static_cast<int>(name.size()), static_cast<CUdevice>(device));
}

bool LoadedDriver::is_capturing(CUstream stream) {
  if (stream_is_capturing_ == nullptr) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // An error also means that a capture is in progress, during which the legacy stream must not be used.
  return stream_is_capturing_(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUmemoryPool LoadedDriver::current_pool(std::uint32_t device) {
  CUmemoryPool pool = nullptr;
  if (device_pool_ == nullptr || device_pool_(&pool, static_cast<CUdevice>(device)) != CUDA_SUCCESS)
    return nullptr;
  return pool;
}

bool LoadedDriver::is_on_host(CUdeviceptr address) {
  unsigned type = 0;
  return pointer_attribute_ != nullptr &&
         pointer_attribute_(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_HOST;
}

std::optional<bool> LoadedDriver::primary_is_active(std::uint32_t device) {
  unsigned flags = 0;
  int active = 0;
  if (primary_state_ == nullptr ||
      primary_state_(static_cast<CUdevice>(device), &flags, &active) != CUDA_SUCCESS)
    return std::nullopt;
  return active != 0;
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

bool LoadedDriver::synchronise(CUstream stream) {
  if (stream_query_ == nullptr) return true;
  // While another stream is captured in global mode, a query of this stream would end that capture.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&mode);
  const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
  auto pause = std::chrono::microseconds(10);
  bool in_time = true;
  // An error is not handled here: it is from the program's own work, and the program's next call also
  // returns it.
  while (in_time && stream_query_(stream) == CUDA_ERROR_NOT_READY) {
    in_time = std::chrono::steady_clock::now() < deadline;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
  if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&mode);
  return in_time;
}

bool LoadedDriver::is_own_call() {
  return is_within_own_call;
}

std::optional<std::int64_t> LoadedDriver::free_bytes() {
  const OwnCall own;
  std::size_t free = 0;
  std::size_t total = 0;
  if (memory_info_ == nullptr || memory_info_(&free, &total) != CUDA_SUCCESS) return std::nullopt;
  return static_cast<std::int64_t>(free);
}

std::optional<std::int64_t> LoadedDriver::physical_granularity(std::uint32_t device) {
  const OwnCall own;
  const CUmemAllocationProp properties = physical_memory_of(device);
  std::size_t bytes = 0;
  if (granularity_ == nullptr || create_ == nullptr ||
      granularity_(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(bytes);
}

template <typename Call>
CUresult LoadedDriver::call_relaxed(Call call) {
  const OwnCall own;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&mode);
  const CUresult result = call();
  if (exchange_capture_mode_ != nullptr) exchange_capture_mode_(&mode);
  return result;
}

std::optional<std::uint64_t> LoadedDriver::occupy(std::uint32_t device, std::int64_t bytes) {
  const CUmemAllocationProp properties = physical_memory_of(device);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result =
      call_relaxed([&] { return create_(&handle, static_cast<std::size_t>(bytes), &properties, 0); });
  return result == CUDA_SUCCESS ? std::optional<std::uint64_t>(handle) : std::nullopt;
}

void LoadedDriver::give_back(std::uint64_t physical) {
  if (release_ != nullptr) call_relaxed([&] { return release_(physical); });
}

std::optional<std::uint64_t> LoadedDriver::allocate(std::int64_t bytes) {
  if (allocate_ == nullptr) return std::nullopt;
  CUdeviceptr address = 0;
  const CUresult result = call_relaxed([&] { return allocate_(&address, static_cast<std::size_t>(bytes)); });
  return result == CUDA_SUCCESS ? std::optional<std::uint64_t>(address) : std::nullopt;
}

void LoadedDriver::release(std::uint64_t address) {
  if (free_ != nullptr) call_relaxed([&] { return free_(address); });
}

bool LoadedDriver::call_without_effect() {
  if (free_ == nullptr) return false;
  const CUresult result = free_(0);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_CONTEXT;
}

void LoadedDriver::synchronise_context() {
  if (context_synchronise_ != nullptr) context_synchronise_();
}

}  // namespace peakmark
