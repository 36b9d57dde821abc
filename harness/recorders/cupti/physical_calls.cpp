// The part of CallRecorder about cuMemCreate and what is mapped.
#include <cupti.h>

#include "recorders/cupti/call_recorder.hpp"

namespace peakmark {

void CallRecorder::withdraw(PhysicalMemory::Taken taken, Withdrawn& withdrawn) {
  for (const std::uint64_t address : taken.ended) withdraw(address, withdrawn);
  auto& all = withdrawn.physical.holders;
  all.insert(all.end(), taken.holders.begin(), taken.holders.end());
}

bool CallRecorder::withdraw_physical(const DriverCall& call, Withdrawn& withdrawn) {
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
      withdraw(physical_.release(static_cast<const cuMemRelease_params*>(call.parameters)->handle),
               withdrawn);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap: {
      const auto& parameters = *static_cast<const cuMemUnmap_params*>(call.parameters);
      withdraw(physical_.unmap(parameters.ptr, parameters.size), withdrawn);
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMulticastUnbind: {
      const auto& parameters = *static_cast<const cuMulticastUnbind_params*>(call.parameters);
      withdraw(physical_.unbind(parameters.mcHandle, static_cast<std::uint32_t>(parameters.dev),
                                parameters.mcOffset),
               withdrawn);
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemMapArrayAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemMapArrayAsync_ptsz: {
      const auto& parameters = *static_cast<const cuMemMapArrayAsync_params*>(call.parameters);
      for (unsigned i = 0; i < parameters.count; ++i) {
        const CUarrayMapInfo& info = parameters.mapInfoList[i];
        if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP)
          withdraw(physical_.unmap_part(part_of(info)), withdrawn);
      }
      return true;
    }
    default:
      return false;
  }
}

void CallRecorder::end_physical(const DriverCall& call) {
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle: {
      const auto& parameters = *static_cast<const cuMemRetainAllocationHandle_params*>(call.parameters);
      return physical_.retained(*parameters.handle, reinterpret_cast<std::uint64_t>(parameters.addr));
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle:
      return physical_.imported(
          *static_cast<const cuMemImportFromShareableHandle_params*>(call.parameters)->handle);
    case CUPTI_DRIVER_TRACE_CBID_cuMulticastCreate:
      return physical_.imported(*static_cast<const cuMulticastCreate_params*>(call.parameters)->mcHandle);
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
      const auto& parameters = *static_cast<const cuMemMap_params*>(call.parameters);
      return physical_.mapped(parameters.ptr, parameters.size, parameters.handle);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMulticastBindMem: {
      const auto& parameters = *static_cast<const cuMulticastBindMem_params*>(call.parameters);
      return physical_.bound(parameters.mcHandle, parameters.mcOffset, parameters.memHandle);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMulticastBindAddr: {
      const auto& parameters = *static_cast<const cuMulticastBindAddr_params*>(call.parameters);
      return physical_.bound_address(parameters.mcHandle, parameters.mcOffset, parameters.memptr);
    }
    case kMulticastBindMemV2: {
      const auto& parameters = *static_cast<const MulticastBindV2Parameters*>(call.parameters);
      return physical_.bound(parameters.object, parameters.object_offset, parameters.memory);
    }
    case kMulticastBindAddrV2: {
      const auto& parameters = *static_cast<const MulticastBindV2Parameters*>(call.parameters);
      return physical_.bound_address(parameters.object, parameters.object_offset, parameters.memory);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemMapArrayAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemMapArrayAsync_ptsz: {
      const auto& parameters = *static_cast<const cuMemMapArrayAsync_params*>(call.parameters);
      for (unsigned i = 0; i < parameters.count; ++i) {
        const CUarrayMapInfo& info = parameters.mapInfoList[i];
        if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP)
          physical_.part_mapped(part_of(info), info.memHandle.memHandle);
      }
      return;
    }
    default:
      return;
  }
}

}  // namespace peakmark
