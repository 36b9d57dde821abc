// What the fake driver reports about itself and its devices, and where its functions are.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"
#include "record/recorders/cupti/tests/fake_libcuda_symbols.hpp"

using fake_cuda::is_device;
using fake_cuda::State;

namespace {

// The fake driver's figures must not be mistaken for those of a real device.
constexpr std::string_view kName = "peakmark's fake of a CUDA device";

// The limits that CUDA documents for compute capability 9.0, with 16 multiprocessors. All other attributes
// are 0.
const std::map<CUdevice_attribute, int> kAttributes{
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2'147'483'647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65'535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65'535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 << 10},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1 << 10},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 64 << 10},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2'147'483'647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65'536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65'536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'000'000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1'000'000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
};

CUresult set_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const auto found = kAttributes.find(attribute);
  *value = found == kAttributes.end() ? 0 : found->second;
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) *value = device + 1;
  return CUDA_SUCCESS;
}

CUresult set_uuid(CUuuid* uuid, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid->bytes, 0, sizeof(uuid->bytes));
  std::memcpy(uuid->bytes, "fake", 4);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult find_function(const char* name, void** function, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult& found) {
  *function = nullptr;
  found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (version < 2000) return CUDA_ERROR_INVALID_VALUE;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  int newest = 0;
  bool newest_is_per_thread = false;
  for (const auto& symbol : std::span(fake_cuda::kSymbols, fake_cuda::kSymbolCount)) {
    if (std::string_view(symbol.name) != name) continue;
    if (found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (symbol.version > version || (symbol.per_thread && !per_thread)) continue;
    const bool better =
        symbol.per_thread != newest_is_per_thread ? symbol.per_thread : symbol.version >= newest;
    if (!better) continue;
    newest = symbol.version;
    newest_is_per_thread = symbol.per_thread;
    *function = symbol.function;
    found = CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult set_name(CUresult error, const char** text) {
  const auto results = std::span(fake_cuda::kResults, fake_cuda::kResultCount);
  const auto found = std::ranges::find(results, static_cast<int>(error), &fake_cuda::Result::number);
  *text = found == results.end() ? nullptr : found->name;
  return found == results.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

extern "C" {

int fake_cuda_not_supported(const char* name) {
  if (std::getenv("FAKE_CUDA_VERBOSE") != nullptr) {
    static std::mutex mutex;
    static auto* const named = new std::set<std::string_view>;
    const std::scoped_lock lock(mutex);
    if (named->insert(name).second) std::fprintf(stderr, "fake driver: %s is not supported\n", name);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  return set_name(error, pStr);
}
CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (error != CUDA_ERROR_OUT_OF_MEMORY) return set_name(error, pStr);
  *pStr = "out of memory";  // as NVIDIA's driver: `oom` looks for it. Other texts are the names.
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* symbolStatus) {
  CUdriverProcAddressQueryResult found{};
  const CUresult result = find_function(symbol, pfn, cudaVersion, flags, found);
  // A caller that asks for the state gets it instead of an error.
  if (symbolStatus == nullptr) return result;
  *symbolStatus = found;
  return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  CUdriverProcAddressQueryResult found{};
  return find_function(symbol, pfn, cudaVersion, flags, found);
}
// Private tables are not documented, so there are none here. NVIDIA's runtime uses them to ask whether the
// driver is NVIDIA's, so a program with that runtime ends with an error of the runtime.
CUresult cuGetExportTable(const void** /*table*/, const CUuuid* /*id*/) {
  return static_cast<CUresult>(fake_cuda_not_supported("cuGetExportTable"));
}

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  if (fake_cuda::state().pid == 0) return CUDA_ERROR_NOT_INITIALIZED;
  *count = fake_cuda::kDevices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  FAKE_CALL(cuDeviceGetName, name, len, dev)
  ([&](State& /*s*/) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(len), "%s", kName.data());
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev) {
  FAKE_CALL(cuDeviceTotalMem_v2, bytes, dev)
  ([&](State& /*s*/) {
    *bytes = fake_cuda::kDeviceBytes;
    return is_device(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}
CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  FAKE_CALL(cuDeviceGetAttribute, pi, attrib, dev)
  ([&](State& /*s*/) { return set_attribute(pi, attrib, dev); });
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  FAKE_CALL(cuDeviceComputeCapability, major, minor, dev)
  ([&](State& /*s*/) {
    set_attribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
    return set_attribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
  });
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  FAKE_CALL(cuDeviceGetUuid_v2, uuid, dev)([&](State& /*s*/) { return set_uuid(uuid, dev); });
}
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  FAKE_CALL(cuDeviceGetUuid, uuid, dev)([&](State& /*s*/) { return set_uuid(uuid, dev); });
}
CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  FAKE_CALL(cuDeviceGetPCIBusId, pciBusId, len, dev)
  ([&](State& /*s*/) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(pciBusId, static_cast<std::size_t>(len), "0000:%02x:00.0", static_cast<unsigned>(dev) + 1);
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  FAKE_CALL(cuDeviceGetByPCIBusId, dev, pciBusId)
  ([&](State& /*s*/) {
    unsigned bus = 0;
    if (std::sscanf(pciBusId, "%*x:%x", &bus) != 1 || !is_device(static_cast<int>(bus) - 1))
      return CUDA_ERROR_INVALID_DEVICE;
    *dev = static_cast<int>(bus) - 1;
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  FAKE_CALL(cuDeviceGetProperties, prop, dev)
  ([&](State& /*s*/) {
    *prop = {};
    prop->maxThreadsPerBlock = 1024;
    prop->SIMDWidth = 32;
    return is_device(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}
CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  FAKE_CALL(cuDeviceCanAccessPeer, canAccessPeer, dev, peerDev)
  ([&](State& /*s*/) {
    *canAccessPeer = 0;
    return is_device(dev) && is_device(peerDev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice dev, CUdevice peerDev) {
  FAKE_CALL(cuDeviceGetP2PAttribute, value, attrib, dev, peerDev)
  ([&](State& /*s*/) {
    *value = 0;
    return is_device(dev) && is_device(peerDev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}
CUresult cuProfilerStart() {
  return CUDA_SUCCESS;
}
CUresult cuProfilerStop() {
  return CUDA_SUCCESS;
}

}  // extern "C"
