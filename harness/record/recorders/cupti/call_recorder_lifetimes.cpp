// The part of CallRecorder for memory that no free call ends: memory of cuMemCreate, which lives as long as
// its handles and mappings, and memory that ends with its context.
#include <algorithm>

#include "record/recorders/cupti/call_recorder.hpp"

namespace peakmark {

void CallRecorder::withdraw(PhysicalMemory::Taken taken, Withdrawn& withdrawn) {
  for (const std::uint64_t address : taken.ended) withdraw(address, withdrawn);
  auto& all = withdrawn.physical.holders;
  all.insert(all.end(), taken.holders.begin(), taken.holders.end());
}

bool CallRecorder::withdraw_physical(const DriverCall& call, Withdrawn& withdrawn) {
  switch (call.id) {
    case PEAKMARK_CALL(cuMemRelease):
      withdraw(physical_.release(parameters<cuMemRelease_params>(call).handle), withdrawn);
      return true;
    case PEAKMARK_CALL(cuMemUnmap): {
      const auto& p = parameters<cuMemUnmap_params>(call);
      withdraw(physical_.unmap(p.ptr, p.size), withdrawn);
      return true;
    }
    case PEAKMARK_CALL(cuMulticastUnbind): {
      const auto& p = parameters<cuMulticastUnbind_params>(call);
      withdraw(physical_.unbind(p.mcHandle, static_cast<std::uint32_t>(p.dev), p.mcOffset), withdrawn);
      return true;
    }
    case PEAKMARK_CALL(cuMemMapArrayAsync):
    case PEAKMARK_CALL(cuMemMapArrayAsync_ptsz): {
      const auto& p = parameters<cuMemMapArrayAsync_params>(call);
      for (unsigned i = 0; i < p.count; ++i) {
        const CUarrayMapInfo& info = p.mapInfoList[i];
        if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
          withdraw(physical_.unmap_part(array_part(info)), withdrawn);
      }
      return true;
    }
    default:
      return false;
  }
}

void CallRecorder::end_physical(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuMemRetainAllocationHandle): {
      const auto& p = parameters<cuMemRetainAllocationHandle_params>(call);
      return physical_.retained(*p.handle, reinterpret_cast<std::uint64_t>(p.addr));
    }
    case PEAKMARK_CALL(cuMemImportFromShareableHandle):
      return physical_.imported(*parameters<cuMemImportFromShareableHandle_params>(call).handle);
    case PEAKMARK_CALL(cuMulticastCreate):
      return physical_.imported(*parameters<cuMulticastCreate_params>(call).mcHandle);
    case PEAKMARK_CALL(cuMemMap): {
      const auto& p = parameters<cuMemMap_params>(call);
      return physical_.mapped(p.ptr, p.size, p.handle);
    }
    case PEAKMARK_CALL(cuMulticastBindMem): {
      const auto& p = parameters<cuMulticastBindMem_params>(call);
      return physical_.bound(p.mcHandle, p.mcOffset, p.memHandle);
    }
    case PEAKMARK_CALL(cuMulticastBindAddr): {
      const auto& p = parameters<cuMulticastBindAddr_params>(call);
      return physical_.bound_address(p.mcHandle, p.mcOffset, p.memptr);
    }
    case kMulticastBindMemV2: {
      const auto& p = parameters<MulticastBindV2Parameters>(call);
      return physical_.bound(p.object, p.object_offset, p.memory);
    }
    case kMulticastBindAddrV2: {
      const auto& p = parameters<MulticastBindV2Parameters>(call);
      return physical_.bound_address(p.object, p.object_offset, p.memory);
    }
    case PEAKMARK_CALL(cuMemMapArrayAsync):
    case PEAKMARK_CALL(cuMemMapArrayAsync_ptsz): {
      const auto& p = parameters<cuMemMapArrayAsync_params>(call);
      for (unsigned i = 0; i < p.count; ++i) {
        const CUarrayMapInfo& info = p.mapInfoList[i];
        if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP)
          physical_.part_mapped(array_part(info), info.memHandle.memHandle);
      }
      return;
    }
    default:
      return;
  }
}

std::vector<CudaAllocation> CallRecorder::end_memory(
    const std::function<bool(const CudaAllocation&)>& wanted) {
  std::vector<CudaAllocation> held =
      live_.take_where([&](const CudaAllocation& one) { return one.in_context && wanted(one); });
  for (const CudaAllocation& one : held) sink_.release(one.address);
  const auto is_the_programs = [](const CudaAllocation& one) {
    return one.kind != MemoryKind::module_globals;
  };
  if (std::ranges::any_of(held, is_the_programs)) {
    note_once(
        noted_context_,
        "a context was destroyed while memory was live in it: from then on that memory counts as released");
  }
  return held;
}

std::vector<CudaAllocation> CallRecorder::end_memory_of_context(std::uint32_t context) {
  return end_memory([=](const CudaAllocation& one) { return one.context == context; });
}

std::vector<CudaAllocation> CallRecorder::end_memory_of_primary(std::uint32_t device) {
  const auto others = contexts_.made_by_program();
  return end_memory(
      [&](const CudaAllocation& one) { return one.device == device && !others.contains(one.context); });
}

bool CallRecorder::withdraw_context(const DriverCall& call, Withdrawn& withdrawn) {
  switch (call.id) {
    case PEAKMARK_CALL(cuCtxDetach): {
      const std::uint32_t context = driver_.cupti_id(parameters<cuCtxDetach_params>(call).ctx);
      if (contexts_.detached(context)) {
        withdrawn.context = context;
        withdrawn.allocations = end_memory_of_context(context);
      } else {
        withdrawn.detached = context;
      }
      return true;
    }
    case PEAKMARK_CALL(cuCtxDestroy):
    case PEAKMARK_CALL(cuCtxDestroy_v2):
      withdrawn.context = driver_.cupti_id(parameters<cuCtxDestroy_v2_params>(call).ctx);
      withdrawn.allocations = end_memory_of_context(*withdrawn.context);
      return true;
    case PEAKMARK_CALL(cuDevicePrimaryCtxReset):
    case PEAKMARK_CALL(cuDevicePrimaryCtxReset_v2):
      withdrawn.allocations = end_memory_of_primary(
          static_cast<std::uint32_t>(parameters<cuDevicePrimaryCtxReset_v2_params>(call).dev));
      return true;
    case PEAKMARK_CALL(cuDevicePrimaryCtxRelease):
    case PEAKMARK_CALL(cuDevicePrimaryCtxRelease_v2):
      // Only after the call it is known whether this was the last reference.
      withdrawn.released =
          static_cast<std::uint32_t>(parameters<cuDevicePrimaryCtxRelease_v2_params>(call).dev);
      return true;
    case PEAKMARK_CALL(cuGreenCtxDestroy):
      withdrawn.green = reinterpret_cast<std::uint64_t>(parameters<cuGreenCtxDestroy_params>(call).hCtx);
      withdrawn.released = contexts_.green_destroyed(withdrawn.green);
      return withdrawn.released.has_value();
    default:
      return false;
  }
}

void CallRecorder::end_context(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuCtxCreate):
    case PEAKMARK_CALL(cuCtxCreate_v2):
    case PEAKMARK_CALL(cuCtxCreate_v3):
    case PEAKMARK_CALL(cuCtxCreate_v4):
      // The first parameter is the same in every variant.
      return contexts_.created(driver_.cupti_id(*parameters<cuCtxCreate_v2_params>(call).pctx));
    case PEAKMARK_CALL(cuCtxAttach):
      return contexts_.attached(driver_.cupti_id(*parameters<cuCtxAttach_params>(call).pctx));
    case PEAKMARK_CALL(cuGreenCtxCreate): {
      const auto& p = parameters<cuGreenCtxCreate_params>(call);
      return contexts_.green_created(reinterpret_cast<std::uint64_t>(*p.phCtx),
                                     static_cast<std::uint32_t>(p.dev));
    }
    case PEAKMARK_CALL(cuDevicePrimaryCtxRetain): {
      const auto& p = parameters<cuDevicePrimaryCtxRetain_params>(call);
      const auto before = contexts_.retained(static_cast<std::uint32_t>(p.dev), driver_.cupti_id(*p.pctx));
      if (before) end_memory_of_context(*before);
      return;
    }
    default:
      return;
  }
}

}  // namespace peakmark
