#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "record/profile/event.hpp"
#include "record/recorders/cupti/live_objects.hpp"
#include "record/recorders/cupti/newer_cuda.hpp"
#include "record/recorders/cupti/physical_memory.hpp"

/// CUPTI's id of a driver call, by its name in cupti_driver_cbid.h: PEAKMARK_CALL(cuMemFree_v2).
#define PEAKMARK_CALL(name) CUPTI_DRIVER_TRACE_CBID_##name

namespace peakmark {

/// A driver call as CUPTI reports it, at its start or its end.
struct DriverCall {
  CUpti_CallbackId id = 0;
  bool entering = false;
  const void* parameters = nullptr;      ///< the call's `…_params` of generated_cuda_meta.h
  CUresult result = CUDA_SUCCESS;        ///< at the end
  std::uint64_t* correlation = nullptr;  ///< 64 bits that CUPTI keeps from the start to the end of a call
  CUcontext context = nullptr;
  std::uint32_t context_id = 0;
};

/// The parameters of a call, as generated_cuda_meta.h declares them: parameters<cuMemFree_v2_params>(call).
template <typename Parameters>
const Parameters& parameters(const DriverCall& call) {
  return *static_cast<const Parameters*>(call.parameters);
}

/// In `_ptsz` calls, stream 0 is the per-thread default stream.
inline CUstream per_thread(CUstream stream) {
  return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

/// Returns the value that a successful call wrote to `place`; otherwise 0.
template <typename Pointer>
std::uint64_t output_value(const DriverCall& call, const Pointer* place) {
  if (call.result != CUDA_SUCCESS || place == nullptr) return 0;
  if constexpr (std::is_pointer_v<Pointer>) {
    return reinterpret_cast<std::uint64_t>(*place);
  } else {
    return *place;
  }
}

/// Return the calls that the recorder subscribes to: those that concern memory, and those that enqueue work.
std::span<const CUpti_CallbackId> memory_calls();
std::span<const CUpti_CallbackId> enqueueing_calls();
/// Returns true for calls that end memory, or a pool, mapping or context that holds it.
bool releases_memory(CUpti_CallbackId id);

/// Calls of drivers that are newer than the headers of this build (CUDA 13.1).
inline constexpr CUpti_CallbackId kMulticastBindMemV2 = 820;
inline constexpr CUpti_CallbackId kMulticastBindAddrV2 = 821;
inline constexpr CUpti_CallbackId kNewerMemoryCalls[] = {kMulticastBindMemV2, kMulticastBindAddrV2};
/// The parameters of both.
struct MulticastBindV2Parameters {
  CUmemGenericAllocationHandle object;
  CUdevice device;
  std::size_t object_offset;
  std::uint64_t memory;  ///< handle, or address
  std::size_t memory_offset_or_bytes;
};

/// An allocation that a call requests.
struct AllocationRequest {
  std::uint64_t address = 0;  ///< 0 unless the call succeeded
  std::int64_t bytes = 0;
  MemoryKind kind = MemoryKind::none;
  bool sized = true;                      ///< false: the size of this array format is unknown, and bytes is 0
  bool stream_ordered = false;            ///< of cuMemAllocAsync and cuMemAllocFromPoolAsync
  bool in_context = true;                 ///< the memory ends with the current context
  std::optional<std::uint32_t> device{};  ///< the device that the call names; null: the context's
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;  ///< of cuMemAllocFromPoolAsync
};

/// Returns the allocation of a call at its end; null for calls that allocate nothing.
std::optional<AllocationRequest> decode_allocation(const DriverCall& call);
/// Returns the address that a call frees; null for other calls. cuMemRelease and cuMemUnmap are decoded by
/// CallRecorder, because whether they free memory depends on PhysicalMemory.
std::optional<std::uint64_t> decode_release(const DriverCall& call);
/// Returns the region of a sparse array as a key of PhysicalMemory.
PhysicalMemory::Part array_part(const CUarrayMapInfo& info);
/// A call that imports memory of another process or API.
struct Import {
  const char* call;           ///< its name
  std::uint64_t address = 0;  ///< an address that the program later frees like its own memory; 0: none
};
std::optional<Import> decode_import(const DriverCall& call);
/// A pool that a call creates or returns. `info.kind` is none if the call does not say where its memory is.
struct PoolFound {
  std::uint64_t pool = 0;
  Pools::Info info;
  bool is_new = false;
};
std::optional<PoolFound> decode_pool(const DriverCall& call);
/// A graph node that allocates memory.
struct GraphAllocation {
  std::uint64_t address;
  std::int64_t bytes;
};
std::optional<GraphAllocation> decode_graph_allocation(const DriverCall& call);
/// Returns the stream on which a call of `enqueueing_calls` enqueues; null for other calls.
std::optional<CUstream> decode_stream(const DriverCall& call);

}  // namespace peakmark
