// Memory of the fake driver that exists as long as its handles and mappings: cuMemCreate, sparse arrays,
// multicast objects.
#include <utility>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::Physical;
using fake_cuda::State;

namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

Physical* find(State& s, CUmemGenericAllocationHandle handle) {
  const auto found = s.physical.find(handle);
  return found == s.physical.end() ? nullptr : found->second;
}

void unmap(Physical* physical) {
  --physical->mappings;
  fake_cuda::drop_if_unheld(physical);
}

CUresult map_array(State& s, const CUarrayMapInfo& info) {
  const bool is_mipmapped = info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  const auto array = is_mipmapped ? reinterpret_cast<std::uint64_t>(info.resource.mipmap)
                                  : reinterpret_cast<std::uint64_t>(info.resource.array);
  const auto& tile = info.subresource.sparseLevel;
  const std::uint64_t place =
      std::uint64_t{tile.level} << 48 | std::uint64_t{tile.offsetY} << 24 | tile.offsetX;
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_UNMAP) {
    const auto found = s.array_mappings.find({array, place});
    if (found == s.array_mappings.end()) return CUDA_ERROR_INVALID_VALUE;
    unmap(found->second);
    s.array_mappings.erase(found);
    return CUDA_SUCCESS;
  }
  Physical* const physical = find(s, info.memHandle.memHandle);
  if (physical == nullptr || s.array_mappings.contains({array, place})) return CUDA_ERROR_INVALID_VALUE;
  ++physical->mappings;
  s.array_mappings[{array, place}] = physical;
  return CUDA_SUCCESS;
}

}  // namespace

namespace fake_cuda {

void drop_if_unheld(Physical* physical) {
  if (physical->references > 0 || physical->mappings > 0) return;
  if (physical->properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
    give_bytes(physical->properties.location.id, physical->bytes);
  if (!state().reuse_handles) state().handles.undo(physical->handle);
  delete physical;
}

}  // namespace fake_cuda

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  FAKE_CALL(cuMemGetAllocationGranularity, granularity, prop, option)
  ([&](State& /*s*/) {
    *granularity = kGranularity;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  FAKE_CALL(cuMemCreate, handle, size, prop, flags)
  ([&](State& s) {
    if (size == 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
      const CUresult result = fake_cuda::take_bytes(prop->location.id, size);
      if (result != CUDA_SUCCESS) return result;
    }
    *handle = s.handles.take();
    s.physical[*handle] = new Physical{size, *prop, 1, 0, *handle};
    return CUDA_SUCCESS;
  });
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  FAKE_CALL(cuMemRelease, handle)
  ([&](State& s) {
    if (s.multicast.contains(handle)) {
      for (const auto& [offset, physical] : s.multicast[handle].bound) unmap(physical);
      s.multicast.erase(handle);
      return CUDA_SUCCESS;
    }
    Physical* const physical = find(s, handle);
    if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (--physical->references > 0) return CUDA_SUCCESS;
    s.physical.erase(handle);
    if (s.reuse_handles) s.handles.undo(handle);
    fake_cuda::drop_if_unheld(physical);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  FAKE_CALL(cuMemRetainAllocationHandle, handle, addr)
  ([&](State& s) {
    const auto address = reinterpret_cast<std::uint64_t>(addr);
    auto found = s.mappings.upper_bound(address);
    if (found == s.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    --found;
    if (address - found->first >= found->second.bytes) return CUDA_ERROR_INVALID_VALUE;
    Physical* const physical = found->second.physical;
    if (physical->references == 0) {
      // Its handle was released, so the number may belong to other memory now.
      if (s.reuse_handles) physical->handle = s.handles.take();
      s.physical[physical->handle] = physical;
    }
    ++physical->references;
    *handle = physical->handle;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  FAKE_CALL(cuMemAddressReserve, ptr, size, alignment, addr, flags)
  ([&](State& s) {
    *ptr = fake_cuda::reserve_addresses(size);
    if (*ptr == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    s.reserved[*ptr] = size;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  FAKE_CALL(cuMemAddressFree, ptr, size)
  ([&](State& s) {
    const auto mapped = s.mappings.lower_bound(ptr);
    if (!s.reserved.contains(ptr) || (mapped != s.mappings.end() && mapped->first - ptr < size))
      return CUDA_ERROR_INVALID_VALUE;
    s.reserved.erase(ptr);
    fake_cuda::release_addresses(ptr, size);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  FAKE_CALL(cuMemMap, ptr, size, offset, handle, flags)
  ([&](State& s) {
    Physical* const physical = find(s, handle);
    if (physical == nullptr || offset + size > physical->bytes || s.mappings.contains(ptr))
      return CUDA_ERROR_INVALID_VALUE;
    ++physical->mappings;
    s.mappings[ptr] = {size, physical};
    return CUDA_SUCCESS;
  });
}
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  FAKE_CALL(cuMemSetAccess, ptr, size, desc, count)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  FAKE_CALL(cuMemUnmap, ptr, size)
  ([&](State& s) {
    // Only whole mappings can be unmapped.
    std::size_t covered = 0;
    for (auto at = s.mappings.find(ptr);
         at != s.mappings.end() && at->first == ptr + covered && covered < size; ++at)
      covered += at->second.bytes;
    if (covered != size) return CUDA_ERROR_INVALID_VALUE;
    for (auto at = s.mappings.find(ptr); covered > 0;) {
      covered -= at->second.bytes;
      unmap(at->second.physical);
      at = s.mappings.erase(at);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo* mapInfoList, unsigned int count, CUstream hStream) {
  FAKE_CALL(cuMemMapArrayAsync, mapInfoList, count, hStream)
  ([&](State& s) {
    for (unsigned int i = 0; i < count; ++i) {
      if (const CUresult result = map_array(s, mapInfoList[i]); result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* mcHandle, const CUmulticastObjectProp* prop) {
  FAKE_CALL(cuMulticastCreate, mcHandle, prop)
  ([&](State& s) {
    *mcHandle = s.handles.take();
    s.multicast[*mcHandle];
    return CUDA_SUCCESS;
  });
}
CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  FAKE_CALL(cuMulticastBindMem, mcHandle, mcOffset, memHandle, memOffset, size, flags)
  ([&](State& s) {
    Physical* const physical = find(s, memHandle);
    if (physical == nullptr || !s.multicast.contains(mcHandle) ||
        s.multicast[mcHandle].bound.contains(mcOffset))
      return CUDA_ERROR_INVALID_VALUE;
    ++physical->mappings;
    s.multicast[mcHandle].bound[mcOffset] = physical;
    return CUDA_SUCCESS;
  });
}
CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
                           size_t size) {
  FAKE_CALL(cuMulticastUnbind, mcHandle, dev, mcOffset, size)
  ([&](State& s) {
    if (!s.multicast.contains(mcHandle) || !s.multicast[mcHandle].bound.contains(mcOffset))
      return CUDA_ERROR_INVALID_VALUE;
    unmap(s.multicast[mcHandle].bound[mcOffset]);
    s.multicast[mcHandle].bound.erase(mcOffset);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
