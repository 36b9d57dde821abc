// Memory of the fake driver that belongs to a context: plain, pitched, managed and host memory, and arrays.
#include <algorithm>
#include <utility>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::current_context;
using fake_cuda::Kind;
using fake_cuda::Memory;
using fake_cuda::number;
using fake_cuda::State;

namespace {

CUresult new_memory(State& s, std::uint64_t& address, std::size_t bytes, Kind kind) {
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool on_host = kind == Kind::host;
  if (on_host && bytes > fake_cuda::kDeviceBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  if (!on_host) {
    const CUresult result = fake_cuda::take_bytes(context->device, bytes);
    if (result != CUDA_SUCCESS) return result;
  }
  const bool is_handle = kind == Kind::array || kind == Kind::mipmapped;
  address = is_handle ? s.objects.take() : (on_host ? s.host_addresses : s.addresses).take();
  s.memory[address] = {
      .bytes = bytes, .kind = kind, .owner = context->memory_owner, .device = context->device};
  return CUDA_SUCCESS;
}

template <typename Pointer>
CUresult new_pointer(State& s, Pointer* pointer, std::size_t bytes, Kind kind) {
  std::uint64_t address = 0;
  const CUresult result = new_memory(s, address, bytes, kind);
  if (result == CUDA_SUCCESS) *pointer = (Pointer)address;  // an integer or a pointer
  return result;
}

CUresult free_memory(State& s, std::uint64_t address, std::initializer_list<Kind> kinds) {
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  const auto found = s.memory.find(address);
  if (found == s.memory.end() || std::count(kinds.begin(), kinds.end(), found->second.kind) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  fake_cuda::end_memory(found);
  return CUDA_SUCCESS;
}

/// A rough size, good enough to know when the device is full.
std::size_t rough_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  if ((array.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 1;
  return std::max<std::size_t>(array.Width, 1) * std::max<std::size_t>(array.Height, 1) *
         std::max<std::size_t>(array.Depth, 1);
}

}  // namespace

namespace fake_cuda {

void end_memory(std::map<std::uint64_t, Memory>::iterator memory) {
  State& s = state();
  const Memory& one = memory->second;
  switch (one.kind) {
    case Kind::host:
      s.host_addresses.undo(memory->first);
      break;
    case Kind::registered:
      break;
    case Kind::array:
    case Kind::mipmapped:
      s.objects.undo(memory->first);
      give_bytes(one.device, one.bytes);
      break;
    case Kind::pool:
      s.addresses.undo(memory->first);
      one.pool->used -= one.bytes;
      if (--one.pool->allocations == 0 && !one.pool->alive) s.free_pools.push_back(one.pool);
      if (one.pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE) give_bytes(one.device, one.bytes);
      break;
    case Kind::graph:
      break;  // the graph keeps the address
    case Kind::imported:
    case Kind::global:
      s.addresses.undo(memory->first);
      break;
    case Kind::plain:
    case Kind::managed:
      s.addresses.undo(memory->first);
      give_bytes(one.device, one.bytes);
      break;
  }
  s.memory.erase(memory);
}

}  // namespace fake_cuda

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* dptr, size_t bytesize) {
  FAKE_CALL(cuMemAlloc_v2, dptr, bytesize)
  ([&](State& s) { return new_pointer(s, dptr, bytesize, Kind::plain); });
}
CUresult cuMemAllocPitch(CUdeviceptr* dptr, size_t* pPitch, size_t width, size_t height,
                         unsigned int element) {
  FAKE_CALL(cuMemAllocPitch_v2, dptr, pPitch, width, height, element)
  ([&](State& s) {
    const std::size_t pitch = (width + 511) / 512 * 512;
    const CUresult result = new_pointer(s, dptr, pitch * height, Kind::plain);
    if (result == CUDA_SUCCESS) *pPitch = pitch;
    return result;
  });
}
CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  FAKE_CALL(cuMemAllocManaged, dptr, bytesize, flags)
  ([&](State& s) { return new_pointer(s, dptr, bytesize, Kind::managed); });
}
CUresult cuMemFree(CUdeviceptr dptr) {
  FAKE_CALL(cuMemFree_v2, dptr)
  ([&](State& s) {
    return free_memory(s, dptr, {Kind::plain, Kind::managed, Kind::pool, Kind::graph, Kind::imported});
  });
}

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  FAKE_CALL(cuMemGetInfo_v2, free, total)
  ([&](State& s) {
    CUcontext context = nullptr;
    if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
    *total = fake_cuda::kDeviceBytes;
    *free = fake_cuda::kDeviceBytes - s.used[context->device];
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocHost(void** pp, size_t bytesize) {
  FAKE_CALL(cuMemAllocHost_v2, pp, bytesize)
  ([&](State& s) { return new_pointer(s, pp, bytesize, Kind::host); });
}
CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int flags) {
  FAKE_CALL(cuMemHostAlloc, pp, bytesize, flags)
  ([&](State& s) { return new_pointer(s, pp, bytesize, Kind::host); });
}
CUresult cuMemFreeHost(void* p) {
  FAKE_CALL(cuMemFreeHost, p)([&](State& s) { return free_memory(s, number(p), {Kind::host}); });
}
CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int flags) {
  FAKE_CALL(cuMemHostRegister_v2, p, bytesize, flags)
  ([&](State& s) {
    CUcontext context = nullptr;
    if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
    const Memory memory{.bytes = bytesize, .kind = Kind::registered, .owner = context->memory_owner};
    return s.memory.emplace(number(p), memory).second ? CUDA_SUCCESS
                                                      : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}
CUresult cuMemHostUnregister(void* p) {
  FAKE_CALL(cuMemHostUnregister, p)
  ([&](State& s) {
    const CUresult result = free_memory(s, number(p), {Kind::registered});
    return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : result;
  });
}

CUresult cuArrayCreate(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* array) {
  FAKE_CALL(cuArrayCreate_v2, pHandle, array)
  ([&](State& s) {
    return new_pointer(s, pHandle, array->Width * std::max<std::size_t>(array->Height, 1), Kind::array);
  });
}
CUresult cuArray3DCreate(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* array) {
  FAKE_CALL(cuArray3DCreate_v2, pHandle, array)
  ([&](State& s) { return new_pointer(s, pHandle, rough_bytes(*array), Kind::array); });
}
CUresult cuArrayDestroy(CUarray hArray) {
  FAKE_CALL(cuArrayDestroy, hArray)([&](State& s) { return free_memory(s, number(hArray), {Kind::array}); });
}
CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* array,
                                unsigned int numMipmapLevels) {
  FAKE_CALL(cuMipmappedArrayCreate, pHandle, array, numMipmapLevels)
  ([&](State& s) { return new_pointer(s, pHandle, rough_bytes(*array), Kind::mipmapped); });
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  FAKE_CALL(cuMipmappedArrayDestroy, hMipmappedArray)
  ([&](State& s) { return free_memory(s, number(hMipmappedArray), {Kind::mipmapped}); });
}

// Memory of another process. The handle is the address.
CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  FAKE_CALL(cuIpcGetMemHandle, pHandle, dptr)
  ([&](State& s) {
    if (!s.memory.contains(dptr)) return CUDA_ERROR_INVALID_VALUE;
    *reinterpret_cast<CUdeviceptr*>(pHandle->reserved) = dptr;
    return CUDA_SUCCESS;
  });
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int flags) {
  FAKE_CALL(cuIpcOpenMemHandle_v2, pdptr, handle, flags)
  ([&](State& s) {
    CUcontext context = nullptr;
    if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
    *pdptr = s.addresses.take();
    s.memory[*pdptr] = {.bytes = 0, .kind = Kind::imported, .owner = context->memory_owner};
    return CUDA_SUCCESS;
  });
}
CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  FAKE_CALL(cuIpcCloseMemHandle, dptr)([&](State& s) { return free_memory(s, dptr, {Kind::imported}); });
}

}  // extern "C"
