// What the fake driver reports about addresses.
#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::Kind;
using fake_cuda::Memory;
using fake_cuda::State;

namespace {

bool is_on_host(const Memory& memory) {
  return memory.kind == Kind::host || memory.kind == Kind::registered ||
         (memory.pool != nullptr && memory.pool->location.type != CU_MEM_LOCATION_TYPE_DEVICE);
}

template <typename Value>
CUresult set(void* data, Value value) {
  *static_cast<Value*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult attribute_of(State& s, CUpointer_attribute attribute, CUdeviceptr address, void* data) {
  const auto found = fake_cuda::find_memory(s, address);
  if (found == s.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [first, memory] = *found;
  const bool on_host = is_on_host(memory);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return set<CUcontext>(data, memory.owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return set<unsigned>(data, on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return set<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!on_host && memory.kind != Kind::managed) return CUDA_ERROR_INVALID_VALUE;
      return set<void*>(data, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return set<unsigned>(data, memory.kind == Kind::managed ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return set<unsigned long long>(data, first);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return set<int>(data, memory.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return set<CUdeviceptr>(data, first);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return set<std::size_t>(data, memory.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return set<unsigned>(data, 1);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return set<CUmemoryPool>(data, memory.pool);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return set<unsigned>(data, memory.kind == Kind::plain ? 1 : 0);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

/// Sets what cuPointerGetAttributes reports of an address that the driver does not know.
void set_unknown(CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
      set<unsigned>(data, 0);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      set<int>(data, CU_DEVICE_INVALID);
      break;
    default:
      set<std::uint64_t>(data, 0);
  }
}

}  // namespace

namespace fake_cuda {

std::map<std::uint64_t, Memory>::iterator find_memory(State& s, std::uint64_t address) {
  const auto after = s.memory.upper_bound(address);
  if (after == s.memory.begin()) return s.memory.end();
  const auto found = std::prev(after);
  return address == found->first || address - found->first < found->second.bytes ? found : s.memory.end();
}

}  // namespace fake_cuda

extern "C" {

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  FAKE_CALL(cuPointerGetAttribute, data, attribute, ptr)
  ([&](State& s) { return attribute_of(s, attribute, ptr, data); });
}
CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
  FAKE_CALL(cuPointerGetAttributes, numAttributes, attributes, data, ptr)
  ([&](State& s) {
    for (unsigned i = 0; i < numAttributes; ++i) {
      if (attribute_of(s, attributes[i], ptr, data[i]) != CUDA_SUCCESS) set_unknown(attributes[i], data[i]);
    }
    return CUDA_SUCCESS;
  });
}
CUresult cuMemGetAddressRange(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  FAKE_CALL(cuMemGetAddressRange_v2, pbase, psize, dptr)
  ([&](State& s) {
    const auto found = fake_cuda::find_memory(s, dptr);
    if (found == s.memory.end()) return CUDA_ERROR_NOT_FOUND;
    if (pbase != nullptr) *pbase = found->first;
    if (psize != nullptr) *psize = found->second.bytes;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* pdptr, void* p, unsigned int flags) {
  FAKE_CALL(cuMemHostGetDevicePointer_v2, pdptr, p, flags)
  ([&](State& s) {
    const auto address = reinterpret_cast<std::uint64_t>(p);
    const auto found = fake_cuda::find_memory(s, address);
    if (found == s.memory.end() || !is_on_host(found->second)) return CUDA_ERROR_INVALID_VALUE;
    *pdptr = address;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemHostGetFlags(unsigned int* flags, void* p) {
  FAKE_CALL(cuMemHostGetFlags, flags, p)
  ([&](State& s) {
    const auto found = fake_cuda::find_memory(s, reinterpret_cast<std::uint64_t>(p));
    if (found == s.memory.end() || !is_on_host(found->second)) return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
