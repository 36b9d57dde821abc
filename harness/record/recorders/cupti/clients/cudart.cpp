// Devices, memory, streams and events of the runtime.
#include "record/recorders/cupti/clients/cudart.hpp"

#include <array>
#include <cstring>
#include <mutex>
#include <utility>

using own_cudart::end;
using own_cudart::make;
using own_cudart::number;
using own_cudart::start;

namespace {

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

constexpr int kMaxDevices = 16;

CUresult primary_context(int device, CUcontext& context) {
  static std::mutex mutex;
  static std::array<CUcontext, kMaxDevices> contexts{};  // kept until the process ends
  const std::scoped_lock lock(mutex);
  if (device < 0 || device >= kMaxDevices) return CUDA_ERROR_INVALID_DEVICE;
  CUcontext& known = contexts[static_cast<std::size_t>(device)];
  if (known == nullptr) {
    if (const CUresult result = cuDevicePrimaryCtxRetain(&known, device); result != CUDA_SUCCESS)
      return result;
  }
  context = known;
  return CUDA_SUCCESS;
}

CUresult attribute(int& value, CUdevice_attribute which, int device) {
  return cuDeviceGetAttribute(&value, which, device);
}

int attribute(CUdevice_attribute which, int device) {
  int value = 0;
  attribute(value, which, device);
  return value;
}

CUresult set_properties(cudaDeviceProp& p, int device) {
  std::memset(&p, 0, sizeof(p));
  if (const CUresult result = cuDeviceGetName(p.name, sizeof(p.name), device); result != CUDA_SUCCESS)
    return result;
  cuDeviceTotalMem(&p.totalGlobalMem, device);
  cuDeviceGetUuid(&p.uuid, device);
  const auto of = [device](CUdevice_attribute which) { return attribute(which, device); };
  const auto bytes_of = [device](CUdevice_attribute which) {
    return static_cast<std::size_t>(attribute(which, device));
  };
  p.sharedMemPerBlock = bytes_of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p.regsPerBlock = of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.warpSize = of(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.memPitch = bytes_of(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p.maxThreadsPerBlock = of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.maxThreadsDim[0] = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p.maxThreadsDim[1] = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p.maxThreadsDim[2] = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p.maxGridSize[0] = of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p.maxGridSize[1] = of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p.maxGridSize[2] = of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p.totalConstMem = bytes_of(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p.major = of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.minor = of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.textureAlignment = bytes_of(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  p.texturePitchAlignment = bytes_of(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  p.multiProcessorCount = of(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.canMapHostMemory = of(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p.concurrentKernels = of(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p.pciBusID = of(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p.asyncEngineCount = of(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p.unifiedAddressing = of(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p.memoryBusWidth = of(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.l2CacheSize = of(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.maxThreadsPerMultiProcessor = of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.streamPrioritiesSupported = of(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p.sharedMemPerMultiprocessor = bytes_of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p.regsPerMultiprocessor = of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p.managedMemory = of(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p.concurrentManagedAccess = of(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p.cooperativeLaunch = of(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p.sharedMemPerBlockOptin = bytes_of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p.maxBlocksPerMultiProcessor = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p.reservedSharedMemPerBlock = bytes_of(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p.hostRegisterSupported = of(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  p.memoryPoolsSupported = of(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  return CUDA_SUCCESS;
}

CUresult copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                   std::size_t width, std::size_t height, CUstream stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = number(from);
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = number(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return cuMemcpy2DAsync(&copy, stream);
}

CUresult initialise() {
  static const CUresult result = cuInit(0);
  return result;
}

}  // namespace

namespace own_cudart {

CUresult start() {
  if (const CUresult result = initialise(); result != CUDA_SUCCESS) return result;
  CUcontext context = nullptr;
  if (const CUresult result = primary_context(device_of_thread, context); result != CUDA_SUCCESS)
    return result;
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  return current == context ? CUDA_SUCCESS : cuCtxSetCurrent(context);
}

cudaError_t end(CUresult result) {
  const auto error = static_cast<cudaError_t>(result);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) last_error = error;
  return error;
}

int current_device() {
  return device_of_thread;
}

}  // namespace own_cudart

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  return last_error;
}
const char* cudaGetErrorName(cudaError_t error) {
  const char* text = nullptr;
  cuGetErrorName(static_cast<CUresult>(error), &text);
  return text == nullptr ? "unrecognized error code" : text;
}
const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaSuccess) return "no error";
  return error == cudaErrorMemoryAllocation ? "out of memory" : cudaGetErrorName(error);
}

cudaError_t cudaDriverGetVersion(int* version) {
  return end(cuDriverGetVersion(version));
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  const CUresult result = initialise();
  return end(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}
cudaError_t cudaGetDevice(int* device) {
  *device = device_of_thread;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return error;
  if (device < 0 || device >= count) return end(CUDA_ERROR_INVALID_DEVICE);
  device_of_thread = device;
  return end(start());
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  const CUresult result = initialise();
  return end(result == CUDA_SUCCESS ? set_properties(*prop, device) : result);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  const CUresult result = initialise();
  return end(result == CUDA_SUCCESS ? attribute(*value, static_cast<CUdevice_attribute>(attr), device)
                                    : result);
}
cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return make([&] { return cuDeviceGetPCIBusId(pciBusId, len, device); });
}
cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return make([&] { return cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice); });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return make([&] { return cuCtxGetStreamPriorityRange(least, greatest); });
}
cudaError_t cudaDeviceSynchronize() {
  return make([] { return cuCtxSynchronize(); });
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return make([&] { return cuDeviceGetDefaultMemPool(pool, device); });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void* value) {
  return make([&] { return cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attr), value); });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attr, void* value) {
  return make([&] { return cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attr), value); });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  return make([&] { return cuMemPoolTrimTo(pool, keep); });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return make([&] { return cuMemGetInfo(free, total); });
}
cudaError_t cudaMalloc(void** devPtr, size_t size) {
  *devPtr = nullptr;
  return make(
      [&] { return size == 0 ? CUDA_SUCCESS : cuMemAlloc(reinterpret_cast<CUdeviceptr*>(devPtr), size); });
}
cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned flags) {
  return make([&] { return cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(devPtr), size, flags); });
}
cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return make(
      [&] { return cuMemAllocPitch(reinterpret_cast<CUdeviceptr*>(devPtr), pitch, width, height, 4); });
}
cudaError_t cudaFree(void* devPtr) {
  return make([&] { return cuMemFree(number(devPtr)); });
}
cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t stream) {
  return make([&] { return cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(devPtr), size, stream); });
}
cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return make(
      [&] { return cuMemAllocFromPoolAsync(reinterpret_cast<CUdeviceptr*>(ptr), size, pool, stream); });
}
cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t stream) {
  return make([&] { return cuMemFreeAsync(number(devPtr), stream); });
}
cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return make([&] { return cuMemAllocHost(ptr, size); });
}
cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned flags) {
  return make([&] { return cuMemHostAlloc(pHost, size, flags); });
}
cudaError_t cudaFreeHost(void* ptr) {
  return make([&] { return cuMemFreeHost(ptr); });
}
cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned flags) {
  return make([&] { return cuMemHostRegister(ptr, size, flags); });
}
cudaError_t cudaHostUnregister(void* ptr) {
  return make([&] { return cuMemHostUnregister(ptr); });
}
cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned flags) {
  return make(
      [&] { return cuMemHostGetDevicePointer(reinterpret_cast<CUdeviceptr*>(pDevice), pHost, flags); });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  *attributes = {};
  attributes->device = -2;
  return make([&] {
    unsigned type = 0;
    unsigned managed = 0;
    int device = 0;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* values[] = {&type, &managed, &device};
    const CUresult result = cuPointerGetAttributes(3, which, values, number(ptr));
    if (result != CUDA_SUCCESS || type == 0) {
      attributes->hostPointer = const_cast<void*>(ptr);
      return result;
    }
    attributes->type = managed != 0                 ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
    attributes->device = device;
    attributes->devicePointer = const_cast<void*>(ptr);
    if (attributes->type != cudaMemoryTypeDevice) attributes->hostPointer = const_cast<void*>(ptr);
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind /*kind*/) {
  return make([&] { return cuMemcpy(number(dst), number(src), count); });
}
cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  return make([&] { return cuMemcpyAsync(number(dst), number(src), count, stream); });
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int /*dstDevice*/, const void* src, int /*srcDevice*/,
                                size_t count, cudaStream_t stream) {
  return make([&] { return cuMemcpyAsync(number(dst), number(src), count, stream); });
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                              size_t height, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  return make([&] { return copy_rows(dst, dpitch, src, spitch, width, height, stream); });
}
cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind /*kind*/) {
  return make([&] { return copy_rows(dst, dpitch, src, spitch, width, height, nullptr); });
}
cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return make([&] { return cuMemsetD8(number(devPtr), static_cast<unsigned char>(value), count); });
}
cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return make(
      [&] { return cuMemsetD8Async(number(devPtr), static_cast<unsigned char>(value), count, stream); });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return make([&] { return cuStreamCreate(stream, CU_STREAM_DEFAULT); });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return make([&] { return cuStreamCreate(stream, flags); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return make([&] { return cuStreamCreateWithPriority(stream, flags, priority); });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return make([&] { return cuStreamDestroy(stream); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return make([&] { return cuStreamSynchronize(stream); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return make([&] { return cuStreamQuery(stream); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return make([&] { return cuStreamWaitEvent(stream, event, flags); });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return make([&] { return cuStreamGetPriority(stream, priority); });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return make([&] { return cuStreamGetFlags(stream, flags); });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return make([&] { return cuStreamGetId(stream, id); });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return make([&] { return cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)); });
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return make([&] {
    return cuStreamGetCaptureInfo(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                  reinterpret_cast<cuuint64_t*>(id), graph, dependencies,
                                  reinterpret_cast<const CUgraphEdgeData**>(edges), count);
  });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return make(
      [&] { return cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return make([&] { return cuEventCreate(event, CU_EVENT_DEFAULT); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return make([&] { return cuEventCreate(event, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return make([&] { return cuEventDestroy(event); });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return make([&] { return cuEventRecord(event, stream); });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return make([&] { return cuEventRecordWithFlags(event, stream, flags); });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return make([&] { return cuEventQuery(event); });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return make([&] { return cuEventSynchronize(event); });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return make([&] { return cuEventElapsedTime(ms, start, end); });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return make([&] {
    return cuGetProcAddress(symbol, funcPtr, static_cast<int>(version), flags,
                            reinterpret_cast<CUdriverProcAddressQueryResult*>(status));
  });
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, funcPtr, CUDART_VERSION, flags, status);
}
cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

}  // extern "C"
