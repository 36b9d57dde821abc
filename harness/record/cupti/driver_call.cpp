// The one place that knows the parameters of the driver's calls.
#include "record/cupti/driver_call.hpp"

#include <cupti.h>

#include <limits>

#include "record/cupti/array_bytes.hpp"

namespace peakmark {
namespace {

#define PEAKMARK_CALL(name) CUPTI_DRIVER_TRACE_CBID_##name

constexpr CUpti_CallbackId kMemoryCalls[] = {
    PEAKMARK_CALL(cuMemAlloc_v2),
    PEAKMARK_CALL(cuMemAllocPitch_v2),
    PEAKMARK_CALL(cuMemAllocManaged),
    PEAKMARK_CALL(cuMemAllocAsync),
    PEAKMARK_CALL(cuMemAllocAsync_ptsz),
    PEAKMARK_CALL(cuMemAllocFromPoolAsync),
    PEAKMARK_CALL(cuMemAllocFromPoolAsync_ptsz),
    PEAKMARK_CALL(cuMemPoolCreate),
    PEAKMARK_CALL(cuMemCreate),
    PEAKMARK_CALL(cuMemRetainAllocationHandle),
    PEAKMARK_CALL(cuMemRelease),
    PEAKMARK_CALL(cuMemMap),
    PEAKMARK_CALL(cuMemUnmap),
    PEAKMARK_CALL(cuArrayCreate_v2),
    PEAKMARK_CALL(cuArray3DCreate_v2),
    PEAKMARK_CALL(cuArrayDestroy),
    PEAKMARK_CALL(cuMipmappedArrayCreate),
    PEAKMARK_CALL(cuMipmappedArrayDestroy),
    PEAKMARK_CALL(cuMemHostAlloc),
    PEAKMARK_CALL(cuMemHostAlloc_v2),
    PEAKMARK_CALL(cuMemAllocHost_v2),
    PEAKMARK_CALL(cuMemFreeHost),
    PEAKMARK_CALL(cuMemHostRegister),
    PEAKMARK_CALL(cuMemHostRegister_v2),
    PEAKMARK_CALL(cuMemHostUnregister),
    PEAKMARK_CALL(cuMemFree_v2),
    PEAKMARK_CALL(cuMemFreeAsync),
    PEAKMARK_CALL(cuMemFreeAsync_ptsz),
    PEAKMARK_CALL(cuGraphAddMemAllocNode),
    PEAKMARK_CALL(cuGraphAddNode),
    PEAKMARK_CALL(cuGraphAddNode_v2),
    PEAKMARK_CALL(cuGraphLaunch),
    PEAKMARK_CALL(cuGraphLaunch_ptsz),
    PEAKMARK_CALL(cuCtxDestroy_v2),
    PEAKMARK_CALL(cuDevicePrimaryCtxReset),
    PEAKMARK_CALL(cuDevicePrimaryCtxReset_v2),
};

constexpr CUpti_CallbackId kEnqueueingCalls[] = {
    PEAKMARK_CALL(cuLaunchKernel),
    PEAKMARK_CALL(cuLaunchKernel_ptsz),
    PEAKMARK_CALL(cuLaunchKernelEx),
    PEAKMARK_CALL(cuLaunchKernelEx_ptsz),
    PEAKMARK_CALL(cuLaunchCooperativeKernel),
    PEAKMARK_CALL(cuLaunchCooperativeKernel_ptsz),
    PEAKMARK_CALL(cuLaunchHostFunc),
    PEAKMARK_CALL(cuLaunchHostFunc_ptsz),
    PEAKMARK_CALL(cuGraphLaunch),
    PEAKMARK_CALL(cuGraphLaunch_ptsz),
    PEAKMARK_CALL(cuMemcpyAsync),
    PEAKMARK_CALL(cuMemcpyAsync_ptsz),
    PEAKMARK_CALL(cuMemcpyHtoDAsync_v2),
    PEAKMARK_CALL(cuMemcpyHtoDAsync_v2_ptsz),
    PEAKMARK_CALL(cuMemcpyDtoHAsync_v2),
    PEAKMARK_CALL(cuMemcpyDtoHAsync_v2_ptsz),
    PEAKMARK_CALL(cuMemcpyDtoDAsync_v2),
    PEAKMARK_CALL(cuMemcpyDtoDAsync_v2_ptsz),
};

template <typename Parameters>
const Parameters& parameters(const DriverCall& call) {
  return *static_cast<const Parameters*>(call.parameters);
}

std::int64_t to_bytes(std::size_t bytes) {
  return saturating_multiply(bytes, 1);
}

/// `_ptsz` calls mean the thread's own stream by 0.
CUstream per_thread(CUstream stream) {
  return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

AllocationRequest sized(std::size_t bytes, MemoryKind kind) {
  return {.bytes = to_bytes(bytes), .kind = kind};
}

AllocationRequest array(std::optional<std::int64_t> bytes) {
  return {.bytes = bytes.value_or(0), .kind = MemoryKind::array, .sized = bytes.has_value()};
}

AllocationRequest pitched(const cuMemAllocPitch_v2_params& call, bool succeeded) {
  // The pitch is the driver's answer; without one the width is all that was asked for.
  const std::size_t row = succeeded && call.pPitch != nullptr ? *call.pPitch : call.WidthInBytes;
  return {.bytes = saturating_multiply(row, call.Height), .kind = MemoryKind::pitched};
}

MemoryKind physical_kind(const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE
             ? MemoryKind::host_pinned
             : MemoryKind::physical;
}

template <typename Pointer>
std::uint64_t result_of(const DriverCall& call, const Pointer* place) {
  if (call.result != CUDA_SUCCESS || place == nullptr) return 0;
  if constexpr (std::is_pointer_v<Pointer>) {
    return reinterpret_cast<std::uint64_t>(*place);
  } else {
    return *place;
  }
}

}  // namespace

std::span<const CUpti_CallbackId> memory_calls() {
  return kMemoryCalls;
}
std::span<const CUpti_CallbackId> enqueueing_calls() {
  return kEnqueueingCalls;
}

std::optional<AllocationRequest> allocation_of(const DriverCall& call) {
  AllocationRequest request;
  switch (call.id) {
    case PEAKMARK_CALL(cuMemAlloc_v2): {
      const auto& p = parameters<cuMemAlloc_v2_params>(call);
      request = sized(p.bytesize, MemoryKind::device);
      request.address = result_of(call, p.dptr);
      return request;
    }
    case PEAKMARK_CALL(cuMemAllocPitch_v2): {
      const auto& p = parameters<cuMemAllocPitch_v2_params>(call);
      request = pitched(p, call.result == CUDA_SUCCESS);
      request.address = result_of(call, p.dptr);
      return request;
    }
    case PEAKMARK_CALL(cuMemAllocManaged): {
      const auto& p = parameters<cuMemAllocManaged_params>(call);
      request = sized(p.bytesize, MemoryKind::managed);
      request.address = result_of(call, p.dptr);
      return request;
    }
    case PEAKMARK_CALL(cuMemAllocAsync):
    case PEAKMARK_CALL(cuMemAllocAsync_ptsz): {
      const auto& p = parameters<cuMemAllocAsync_params>(call);
      request = sized(p.bytesize, MemoryKind::pool_async);
      request.address = result_of(call, p.dptr);
      request.stream_ordered = true;
      request.stream = call.id == PEAKMARK_CALL(cuMemAllocAsync_ptsz) ? per_thread(p.hStream) : p.hStream;
      return request;
    }
    case PEAKMARK_CALL(cuMemAllocFromPoolAsync):
    case PEAKMARK_CALL(cuMemAllocFromPoolAsync_ptsz): {
      const auto& p = parameters<cuMemAllocFromPoolAsync_params>(call);
      request = sized(p.bytesize, MemoryKind::pool_async);
      request.address = result_of(call, p.dptr);
      request.stream_ordered = true;
      request.pool = p.pool;
      request.stream =
          call.id == PEAKMARK_CALL(cuMemAllocFromPoolAsync_ptsz) ? per_thread(p.hStream) : p.hStream;
      return request;
    }
    case PEAKMARK_CALL(cuMemCreate): {
      const auto& p = parameters<cuMemCreate_params>(call);
      request = sized(p.size, physical_kind(p.prop));
      request.address = result_of(call, p.handle);
      return request;
    }
    case PEAKMARK_CALL(cuArrayCreate_v2): {
      const auto& p = parameters<cuArrayCreate_v2_params>(call);
      request = array(p.pAllocateArray == nullptr ? std::nullopt : array_bytes(*p.pAllocateArray));
      request.address = result_of(call, p.pHandle);
      return request;
    }
    case PEAKMARK_CALL(cuArray3DCreate_v2): {
      const auto& p = parameters<cuArray3DCreate_v2_params>(call);
      request = array(p.pAllocateArray == nullptr ? std::nullopt : array_bytes(*p.pAllocateArray));
      request.address = result_of(call, p.pHandle);
      return request;
    }
    case PEAKMARK_CALL(cuMipmappedArrayCreate): {
      const auto& p = parameters<cuMipmappedArrayCreate_params>(call);
      request = array(p.pMipmappedArrayDesc == nullptr
                          ? std::nullopt
                          : mipmapped_array_bytes(*p.pMipmappedArrayDesc, p.numMipmapLevels));
      request.address = result_of(call, p.pHandle);
      return request;
    }
    case PEAKMARK_CALL(cuMemHostAlloc):
    case PEAKMARK_CALL(cuMemHostAlloc_v2): {
      const auto& p = parameters<cuMemHostAlloc_params>(call);
      request = sized(p.bytesize, MemoryKind::host_pinned);
      request.address = result_of(call, p.pp);
      return request;
    }
    case PEAKMARK_CALL(cuMemAllocHost_v2): {
      const auto& p = parameters<cuMemAllocHost_v2_params>(call);
      request = sized(p.bytesize, MemoryKind::host_pinned);
      request.address = result_of(call, p.pp);
      return request;
    }
    case PEAKMARK_CALL(cuMemHostRegister):
    case PEAKMARK_CALL(cuMemHostRegister_v2): {
      const auto& p = parameters<cuMemHostRegister_v2_params>(call);
      request = sized(p.bytesize, MemoryKind::host_registered);
      request.address = result_of(call, &p.p);
      return request;
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> freed_by(const DriverCall& call) {
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

std::optional<GraphAllocation> graph_allocation_of(const DriverCall& call) {
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

std::optional<CUstream> stream_of(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuLaunchKernel):
      return parameters<cuLaunchKernel_params>(call).hStream;
    case PEAKMARK_CALL(cuLaunchKernel_ptsz):
      return per_thread(parameters<cuLaunchKernel_params>(call).hStream);
    case PEAKMARK_CALL(cuLaunchKernelEx):
      return parameters<cuLaunchKernelEx_params>(call).config->hStream;
    case PEAKMARK_CALL(cuLaunchKernelEx_ptsz):
      return per_thread(parameters<cuLaunchKernelEx_params>(call).config->hStream);
    case PEAKMARK_CALL(cuLaunchCooperativeKernel):
      return parameters<cuLaunchCooperativeKernel_params>(call).hStream;
    case PEAKMARK_CALL(cuLaunchCooperativeKernel_ptsz):
      return per_thread(parameters<cuLaunchCooperativeKernel_params>(call).hStream);
    case PEAKMARK_CALL(cuLaunchHostFunc):
      return parameters<cuLaunchHostFunc_params>(call).hStream;
    case PEAKMARK_CALL(cuLaunchHostFunc_ptsz):
      return per_thread(parameters<cuLaunchHostFunc_params>(call).hStream);
    case PEAKMARK_CALL(cuGraphLaunch):
      return parameters<cuGraphLaunch_params>(call).hStream;
    case PEAKMARK_CALL(cuGraphLaunch_ptsz):
      return per_thread(parameters<cuGraphLaunch_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyAsync):
      return parameters<cuMemcpyAsync_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyAsync_ptsz):
      return per_thread(parameters<cuMemcpyAsync_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyHtoDAsync_v2):
      return parameters<cuMemcpyHtoDAsync_v2_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyHtoDAsync_v2_ptsz):
      return per_thread(parameters<cuMemcpyHtoDAsync_v2_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyDtoHAsync_v2):
      return parameters<cuMemcpyDtoHAsync_v2_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyDtoHAsync_v2_ptsz):
      return per_thread(parameters<cuMemcpyDtoHAsync_v2_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyDtoDAsync_v2):
      return parameters<cuMemcpyDtoDAsync_v2_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyDtoDAsync_v2_ptsz):
      return per_thread(parameters<cuMemcpyDtoDAsync_v2_params>(call).hStream);
    default:
      return std::nullopt;
  }
}

}  // namespace peakmark
