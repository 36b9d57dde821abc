// Decodes the parameters of the driver's calls. To count another call, add it to a list here and to the
// function that decodes its kind (decode_allocation, decode_release, …).

#include "record/recorders/cupti/driver_call.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "record/recorders/cupti/allocation_size.hpp"

namespace peakmark {
namespace {

// The calls that the recorder decodes. Calls that end memory, or its owner, are handled when they begin,
// because the driver may give the address to another thread before the call returns.
constexpr CUpti_CallbackId kReleasingCalls[] = {PEAKMARK_CALL(cuMemPoolDestroy),
                                                PEAKMARK_CALL(cuMemRelease),
                                                PEAKMARK_CALL(cuMemUnmap),
                                                PEAKMARK_CALL(cuMemMapArrayAsync),
                                                PEAKMARK_CALL(cuMemMapArrayAsync_ptsz),
                                                PEAKMARK_CALL(cuMulticastUnbind),
                                                PEAKMARK_CALL(cuArrayDestroy),
                                                PEAKMARK_CALL(cuMipmappedArrayDestroy),
                                                PEAKMARK_CALL(cuMemFreeHost),
                                                PEAKMARK_CALL(cuMemHostUnregister),
                                                PEAKMARK_CALL(cuMemFree_v2),
                                                PEAKMARK_CALL(cuMemFreeAsync),
                                                PEAKMARK_CALL(cuMemFreeAsync_ptsz),
                                                PEAKMARK_CALL(cuCtxDetach),
                                                PEAKMARK_CALL(cuCtxDestroy),
                                                PEAKMARK_CALL(cuCtxDestroy_v2),
                                                PEAKMARK_CALL(cuGreenCtxDestroy),
                                                PEAKMARK_CALL(cuDevicePrimaryCtxRelease),
                                                PEAKMARK_CALL(cuDevicePrimaryCtxRelease_v2),
                                                PEAKMARK_CALL(cuDevicePrimaryCtxReset),
                                                PEAKMARK_CALL(cuDevicePrimaryCtxReset_v2)};
constexpr CUpti_CallbackId kOtherMemoryCalls[] = {PEAKMARK_CALL(cuMemAlloc_v2),
                                                  PEAKMARK_CALL(cuMemAllocPitch_v2),
                                                  PEAKMARK_CALL(cuMemAllocManaged),
                                                  PEAKMARK_CALL(cuMemAllocAsync),
                                                  PEAKMARK_CALL(cuMemAllocAsync_ptsz),
                                                  PEAKMARK_CALL(cuMemAllocFromPoolAsync),
                                                  PEAKMARK_CALL(cuMemAllocFromPoolAsync_ptsz),
                                                  PEAKMARK_CALL(cuMemPoolCreate),
                                                  PEAKMARK_CALL(cuMemPoolTrimTo),
                                                  PEAKMARK_CALL(cuDeviceGetMemPool),
                                                  PEAKMARK_CALL(cuDeviceGetDefaultMemPool),
                                                  PEAKMARK_CALL(cuMemGetMemPool),
                                                  PEAKMARK_CALL(cuMemGetDefaultMemPool),
                                                  PEAKMARK_CALL(cuMemPoolImportFromShareableHandle),
                                                  PEAKMARK_CALL(cuMemPoolImportPointer),
                                                  PEAKMARK_CALL(cuMemCreate),
                                                  PEAKMARK_CALL(cuMemRetainAllocationHandle),
                                                  PEAKMARK_CALL(cuMemMap),
                                                  PEAKMARK_CALL(cuMemImportFromShareableHandle),
                                                  PEAKMARK_CALL(cuMulticastCreate),
                                                  PEAKMARK_CALL(cuMulticastBindMem),
                                                  PEAKMARK_CALL(cuMulticastBindAddr),
                                                  PEAKMARK_CALL(cuIpcOpenMemHandle),
                                                  PEAKMARK_CALL(cuIpcOpenMemHandle_v2),
                                                  PEAKMARK_CALL(cuExternalMemoryGetMappedBuffer),
                                                  PEAKMARK_CALL(cuExternalMemoryGetMappedMipmappedArray),
                                                  PEAKMARK_CALL(cuGraphicsMapResources),
                                                  PEAKMARK_CALL(cuGraphicsMapResources_ptsz),
                                                  PEAKMARK_CALL(cuArrayCreate_v2),
                                                  PEAKMARK_CALL(cuArray3DCreate_v2),
                                                  PEAKMARK_CALL(cuMipmappedArrayCreate),
                                                  PEAKMARK_CALL(cuMemHostAlloc),
                                                  PEAKMARK_CALL(cuMemHostAlloc_v2),
                                                  PEAKMARK_CALL(cuMemAllocHost_v2),
                                                  PEAKMARK_CALL(cuMemHostRegister),
                                                  PEAKMARK_CALL(cuMemHostRegister_v2),
                                                  PEAKMARK_CALL(cuGraphAddMemAllocNode),
                                                  PEAKMARK_CALL(cuGraphAddNode),
                                                  PEAKMARK_CALL(cuGraphAddNode_v2),
                                                  PEAKMARK_CALL(cuGraphLaunch),
                                                  PEAKMARK_CALL(cuGraphLaunch_ptsz),
                                                  PEAKMARK_CALL(cuCtxCreate),
                                                  PEAKMARK_CALL(cuCtxCreate_v2),
                                                  PEAKMARK_CALL(cuCtxCreate_v3),
                                                  PEAKMARK_CALL(cuCtxCreate_v4),
                                                  PEAKMARK_CALL(cuCtxAttach),
                                                  PEAKMARK_CALL(cuGreenCtxCreate),
                                                  PEAKMARK_CALL(cuDevicePrimaryCtxRetain)};

constexpr auto kMemoryCalls = [] {
  std::array<CUpti_CallbackId, std::size(kReleasingCalls) + std::size(kOtherMemoryCalls)> all{};
  std::ranges::copy(kOtherMemoryCalls, std::ranges::copy(kReleasingCalls, all.begin()).out);
  return all;
}();

/// Indexed by id, because every call is looked up.
constexpr auto kIsReleasing = [] {
  std::array<bool, std::ranges::max(kReleasingCalls) + 1> by_id{};
  for (const CUpti_CallbackId id : kReleasingCalls) by_id[id] = true;
  return by_id;
}();

std::int64_t to_bytes(std::size_t bytes) {
  return saturating_multiply(bytes, 1);
}

AllocationRequest request(std::uint64_t address, std::size_t bytes, MemoryKind kind) {
  return {.address = address, .bytes = to_bytes(bytes), .kind = kind};
}

AllocationRequest array_request(std::uint64_t address, std::optional<std::int64_t> bytes) {
  return {
      .address = address, .bytes = bytes.value_or(0), .kind = MemoryKind::array, .sized = bytes.has_value()};
}

AllocationRequest pitched_request(const DriverCall& call, const cuMemAllocPitch_v2_params& p) {
  // The driver returns the pitch. After a failure there is none, and the width is what was requested.
  const bool has_pitch = call.result == CUDA_SUCCESS && p.pPitch != nullptr;
  return {.address = output_value(call, p.dptr),
          .bytes = saturating_multiply(has_pitch ? *p.pPitch : p.WidthInBytes, p.Height),
          .kind = MemoryKind::pitched};
}

/// Returns the request for memory of a pool. `is_per_thread`: the call is a variant `_ptsz`.
AllocationRequest pool_request(std::uint64_t address, std::size_t bytes, CUmemoryPool pool, CUstream stream,
                               bool is_per_thread) {
  return {.address = address,
          .bytes = to_bytes(bytes),
          .kind = MemoryKind::pool_async,
          .stream_ordered = true,
          .in_context = false,
          .stream = is_per_thread ? per_thread(stream) : stream,
          .pool = pool};
}

std::optional<std::uint32_t> device_at(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return std::nullopt;
  return static_cast<std::uint32_t>(location.id);
}

Pools::Info pool_info(const CUmemLocation& location, CUmemAllocationType type) {
  Pools::Info info{.kind = MemoryKind::host_pinned, .device = device_at(location).value_or(0)};
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) info.kind = MemoryKind::pool_async;
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) info.kind = MemoryKind::managed;
  return info;
}

/// Returns the kind of memory of cuMemHostAlloc with these flags.
MemoryKind host_kind(unsigned int flags) {
  if ((flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0) return MemoryKind::host_write_combined;
  return (flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0 ? MemoryKind::host_mapped : MemoryKind::host_pinned;
}

MemoryKind physical_kind(const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE
             ? MemoryKind::host_pinned
             : MemoryKind::physical;
}

}  // namespace

std::span<const CUpti_CallbackId> memory_calls() {
  return kMemoryCalls;
}

bool releases_memory(CUpti_CallbackId id) {
  return id < kIsReleasing.size() && kIsReleasing[id];
}

std::optional<AllocationRequest> decode_allocation(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuMemAlloc_v2): {
      const auto& p = parameters<cuMemAlloc_v2_params>(call);
      return request(output_value(call, p.dptr), p.bytesize, MemoryKind::device);
    }
    case PEAKMARK_CALL(cuMemAllocPitch_v2):
      return pitched_request(call, parameters<cuMemAllocPitch_v2_params>(call));
    case PEAKMARK_CALL(cuMemAllocManaged): {
      const auto& p = parameters<cuMemAllocManaged_params>(call);
      return request(output_value(call, p.dptr), p.bytesize, MemoryKind::managed);
    }
    case PEAKMARK_CALL(cuMemAllocAsync):
    case PEAKMARK_CALL(cuMemAllocAsync_ptsz): {
      const auto& p = parameters<cuMemAllocAsync_params>(call);
      return pool_request(output_value(call, p.dptr), p.bytesize, nullptr, p.hStream,
                          call.id == PEAKMARK_CALL(cuMemAllocAsync_ptsz));
    }
    case PEAKMARK_CALL(cuMemAllocFromPoolAsync):
    case PEAKMARK_CALL(cuMemAllocFromPoolAsync_ptsz): {
      const auto& p = parameters<cuMemAllocFromPoolAsync_params>(call);
      return pool_request(output_value(call, p.dptr), p.bytesize, p.pool, p.hStream,
                          call.id == PEAKMARK_CALL(cuMemAllocFromPoolAsync_ptsz));
    }
    case PEAKMARK_CALL(cuMemCreate): {
      const auto& p = parameters<cuMemCreate_params>(call);
      AllocationRequest created = request(output_value(call, p.handle), p.size, physical_kind(p.prop));
      created.in_context = false;
      if (p.prop != nullptr) created.device = device_at(p.prop->location);
      return created;
    }
    case PEAKMARK_CALL(cuArrayCreate_v2): {
      const auto& p = parameters<cuArrayCreate_v2_params>(call);
      return array_request(output_value(call, p.pHandle),
                           p.pAllocateArray == nullptr ? std::nullopt : array_bytes(*p.pAllocateArray));
    }
    case PEAKMARK_CALL(cuArray3DCreate_v2): {
      const auto& p = parameters<cuArray3DCreate_v2_params>(call);
      return array_request(output_value(call, p.pHandle),
                           p.pAllocateArray == nullptr ? std::nullopt : array_bytes(*p.pAllocateArray));
    }
    case PEAKMARK_CALL(cuMipmappedArrayCreate): {
      const auto& p = parameters<cuMipmappedArrayCreate_params>(call);
      return array_request(output_value(call, p.pHandle),
                           p.pMipmappedArrayDesc == nullptr
                               ? std::nullopt
                               : mipmapped_array_bytes(*p.pMipmappedArrayDesc, p.numMipmapLevels));
    }
    case PEAKMARK_CALL(cuMemHostAlloc):
    case PEAKMARK_CALL(cuMemHostAlloc_v2): {
      const auto& p = parameters<cuMemHostAlloc_params>(call);
      return request(output_value(call, p.pp), p.bytesize, host_kind(p.Flags));
    }
    case PEAKMARK_CALL(cuMemAllocHost_v2): {
      const auto& p = parameters<cuMemAllocHost_v2_params>(call);
      return request(output_value(call, p.pp), p.bytesize, MemoryKind::host_pinned);
    }
    case PEAKMARK_CALL(cuMemHostRegister):
    case PEAKMARK_CALL(cuMemHostRegister_v2): {
      const auto& p = parameters<cuMemHostRegister_v2_params>(call);
      return request(output_value(call, &p.p), p.bytesize, MemoryKind::host_registered);
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> decode_release(const DriverCall& call) {
  const auto address = [](const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); };
  switch (call.id) {
    case PEAKMARK_CALL(cuMemFree_v2):
      return parameters<cuMemFree_v2_params>(call).dptr;
    case PEAKMARK_CALL(cuMemFreeAsync):
    case PEAKMARK_CALL(cuMemFreeAsync_ptsz):
      return parameters<cuMemFreeAsync_params>(call).dptr;
    case PEAKMARK_CALL(cuMemFreeHost):
      return address(parameters<cuMemFreeHost_params>(call).p);
    case PEAKMARK_CALL(cuMemHostUnregister):
      return address(parameters<cuMemHostUnregister_params>(call).p);
    case PEAKMARK_CALL(cuArrayDestroy):
      return address(parameters<cuArrayDestroy_params>(call).hArray);
    case PEAKMARK_CALL(cuMipmappedArrayDestroy):
      return address(parameters<cuMipmappedArrayDestroy_params>(call).hMipmappedArray);
    default:
      return std::nullopt;
  }
}

PhysicalMemory::Part array_part(const CUarrayMapInfo& info) {
  const auto array = reinterpret_cast<std::uint64_t>(info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
                                                         ? static_cast<void*>(info.resource.mipmap)
                                                         : static_cast<void*>(info.resource.array));
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL) {
    return {0, array, 1, info.subresource.miptail.layer, info.subresource.miptail.offset};
  }
  const auto& level = info.subresource.sparseLevel;
  return {0, array, 0, level.level, level.layer, level.offsetX, level.offsetY, level.offsetZ};
}

std::optional<Import> decode_import(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuIpcOpenMemHandle):
    case PEAKMARK_CALL(cuIpcOpenMemHandle_v2):
      return Import{"cuIpcOpenMemHandle"};
    case PEAKMARK_CALL(cuMemImportFromShareableHandle):
      return Import{"cuMemImportFromShareableHandle"};
    case PEAKMARK_CALL(cuMemPoolImportPointer):
      return Import{"cuMemPoolImportPointer",
                    output_value(call, parameters<cuMemPoolImportPointer_params>(call).ptr_out)};
    case PEAKMARK_CALL(cuExternalMemoryGetMappedBuffer):
      return Import{"cuExternalMemoryGetMappedBuffer",
                    output_value(call, parameters<cuExternalMemoryGetMappedBuffer_params>(call).devPtr)};
    case PEAKMARK_CALL(cuExternalMemoryGetMappedMipmappedArray):
      return Import{
          "cuExternalMemoryGetMappedMipmappedArray",
          output_value(call, parameters<cuExternalMemoryGetMappedMipmappedArray_params>(call).mipmap)};
    case PEAKMARK_CALL(cuGraphicsMapResources):
    case PEAKMARK_CALL(cuGraphicsMapResources_ptsz):
      return Import{"cuGraphicsMapResources"};
    default:
      return std::nullopt;
  }
}

std::optional<PoolFound> decode_pool(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuMemPoolCreate): {
      const auto& p = parameters<cuMemPoolCreate_params>(call);
      return PoolFound{output_value(call, p.pool), pool_info(p.poolProps->location, p.poolProps->allocType),
                       true};
    }
    case PEAKMARK_CALL(cuMemPoolImportFromShareableHandle): {
      const auto& p = parameters<cuMemPoolImportFromShareableHandle_params>(call);
      return PoolFound{output_value(call, p.pool_out), {.kind = MemoryKind::none}, true};
    }
    case PEAKMARK_CALL(cuDeviceGetMemPool): {
      const auto& p = parameters<cuDeviceGetMemPool_params>(call);
      return PoolFound{output_value(call, p.pool), {.device = static_cast<std::uint32_t>(p.dev)}};
    }
    case PEAKMARK_CALL(cuDeviceGetDefaultMemPool): {
      const auto& p = parameters<cuDeviceGetDefaultMemPool_params>(call);
      return PoolFound{output_value(call, p.pool_out), {.device = static_cast<std::uint32_t>(p.dev)}};
    }
    case PEAKMARK_CALL(cuMemGetMemPool): {
      const auto& p = parameters<cuMemGetMemPool_params>(call);
      return PoolFound{output_value(call, p.pool), pool_info(*p.location, p.type)};
    }
    case PEAKMARK_CALL(cuMemGetDefaultMemPool): {
      const auto& p = parameters<cuMemGetDefaultMemPool_params>(call);
      return PoolFound{output_value(call, p.pool_out), pool_info(*p.location, p.type)};
    }
    default:
      return std::nullopt;
  }
}

std::optional<GraphAllocation> decode_graph_allocation(const DriverCall& call) {
  const CUgraphNodeParams* node = nullptr;
  if (call.id == PEAKMARK_CALL(cuGraphAddMemAllocNode)) {
    const auto* alloc = parameters<cuGraphAddMemAllocNode_params>(call).nodeParams;
    if (alloc == nullptr) return std::nullopt;
    return GraphAllocation{alloc->dptr, to_bytes(alloc->bytesize)};
  }
  if (call.id == PEAKMARK_CALL(cuGraphAddNode)) node = parameters<cuGraphAddNode_params>(call).nodeParams;
  if (call.id == PEAKMARK_CALL(cuGraphAddNode_v2))
    node = parameters<cuGraphAddNode_v2_params>(call).nodeParams;
  if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return std::nullopt;
  return GraphAllocation{node->alloc.dptr, to_bytes(node->alloc.bytesize)};
}

// Decodes the streams of the calls that enqueue work.

namespace {

// Calls with a stream argument; each has a variant `_ptsz`.
#define PEAKMARK_STREAM_CALLS(DO) \
  DO(cuLaunchKernel)              \
  DO(cuLaunchCooperativeKernel)   \
  DO(cuLaunchHostFunc)            \
  DO(cuGraphLaunch)               \
  DO(cuMemcpyAsync)               \
  DO(cuMemcpyHtoDAsync_v2)        \
  DO(cuMemcpyDtoHAsync_v2)        \
  DO(cuMemcpyDtoDAsync_v2)        \
  DO(cuMemcpyHtoAAsync_v2)        \
  DO(cuMemcpyAtoHAsync_v2)        \
  DO(cuMemcpyPeerAsync)           \
  DO(cuMemcpy2DAsync_v2)          \
  DO(cuMemcpy3DAsync_v2)          \
  DO(cuMemcpy3DPeerAsync)         \
  DO(cuMemcpyBatchAsync)          \
  DO(cuMemcpyBatchAsync_v2)       \
  DO(cuMemcpy3DBatchAsync)        \
  DO(cuMemcpy3DBatchAsync_v2)     \
  DO(cuMemsetD8Async)             \
  DO(cuMemsetD16Async)            \
  DO(cuMemsetD32Async)            \
  DO(cuMemsetD2D8Async)           \
  DO(cuMemsetD2D16Async)          \
  DO(cuMemsetD2D32Async)          \
  DO(cuMemPrefetchAsync)          \
  DO(cuMemPrefetchAsync_v2)

// Calls on the default stream that may return before the work is done; each has a variant `_ptds`.
#define PEAKMARK_DEFAULT_STREAM_CALLS(DO) \
  DO(cuMemcpyDtoD_v2)                     \
  DO(cuMemcpyPeer)                        \
  DO(cuMemcpy2D_v2)                       \
  DO(cuMemcpy3D_v2)                       \
  DO(cuMemcpy3DPeer)                      \
  DO(cuMemsetD8_v2)                       \
  DO(cuMemsetD16_v2)                      \
  DO(cuMemsetD32_v2)                      \
  DO(cuMemsetD2D8_v2)                     \
  DO(cuMemsetD2D16_v2)                    \
  DO(cuMemsetD2D32_v2)

// The macro pastes the names without expanding them, because cuda.h defines some of them as macros for newer
// calls.
constexpr CUpti_CallbackId kEnqueueingCalls[] = {
#define PEAKMARK_ID(name) CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##name##_ptsz,
    PEAKMARK_STREAM_CALLS(PEAKMARK_ID)
#undef PEAKMARK_ID
#define PEAKMARK_ID(name) CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##name##_ptds,
        PEAKMARK_DEFAULT_STREAM_CALLS(PEAKMARK_ID)
#undef PEAKMARK_ID
            PEAKMARK_CALL(cuLaunchKernelEx),
    PEAKMARK_CALL(cuLaunchKernelEx_ptsz)};

}  // namespace

std::span<const CUpti_CallbackId> enqueueing_calls() {
  return kEnqueueingCalls;
}

std::optional<CUstream> decode_stream(const DriverCall& call) {
  switch (call.id) {
#define PEAKMARK_STREAM(name)                       \
  case CUPTI_DRIVER_TRACE_CBID_##name:              \
    return parameters<name##_params>(call).hStream; \
  case CUPTI_DRIVER_TRACE_CBID_##name##_ptsz:       \
    return per_thread(parameters<name##_params>(call).hStream);
    PEAKMARK_STREAM_CALLS(PEAKMARK_STREAM)
#undef PEAKMARK_STREAM
#define PEAKMARK_STREAM(name)                 \
  case CUPTI_DRIVER_TRACE_CBID_##name:        \
    return nullptr;                           \
  case CUPTI_DRIVER_TRACE_CBID_##name##_ptds: \
    return CU_STREAM_PER_THREAD;
    PEAKMARK_DEFAULT_STREAM_CALLS(PEAKMARK_STREAM)
#undef PEAKMARK_STREAM
    case PEAKMARK_CALL(cuLaunchKernelEx):
      return parameters<cuLaunchKernelEx_params>(call).config->hStream;
    case PEAKMARK_CALL(cuLaunchKernelEx_ptsz):
      return per_thread(parameters<cuLaunchKernelEx_params>(call).config->hStream);
    default:
      return std::nullopt;
  }
}

}  // namespace peakmark
