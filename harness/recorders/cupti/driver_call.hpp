#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <cstdint>
#include <optional>
#include <span>

#include "profile/event.hpp"
#include "recorders/cupti/physical_memory.hpp"
#include "recorders/cupti/pools.hpp"

namespace peakmark {

/// A call into the driver as CUPTI shows it, at its start or its end.
struct DriverCall {
  CUpti_CallbackId id = 0;
  bool entering = false;
  const void* parameters = nullptr;      ///< the call's `…_params` of generated_cuda_meta.h
  CUresult result = CUDA_SUCCESS;        ///< at the end
  std::uint64_t* correlation = nullptr;  ///< 64 bits that the recorder passes from start to end
  CUcontext context = nullptr;
  std::uint32_t context_id = 0;
};

/// The calls that the recorder wants to see: those about memory, and those that enqueue work.
std::span<const CUpti_CallbackId> memory_calls();
std::span<const CUpti_CallbackId> enqueueing_calls();

/// Calls of drivers that are newer than the headers that the recorder is compiled with (CUDA 13.1).
inline constexpr CUpti_CallbackId kMulticastBindMemV2 = 820;
inline constexpr CUpti_CallbackId kMulticastBindAddrV2 = 821;
inline constexpr CUpti_CallbackId kNewerMemoryCalls[] = {kMulticastBindMemV2, kMulticastBindAddrV2};
/// Of both of them.
struct MulticastBindV2Parameters {
  CUmemGenericAllocationHandle object;
  CUdevice device;
  std::size_t object_offset;
  std::uint64_t memory;  ///< handle, or address
  std::size_t memory_offset_or_bytes;
};

/// What a call asks for, or got.
struct AllocationRequest {
  std::uint64_t address = 0;  ///< 0 unless the call succeeded
  std::int64_t bytes = 0;
  MemoryKind kind = MemoryKind::none;
  bool sized = true;                      ///< false: the size of this array format is not known, bytes is 0
  bool stream_ordered = false;            ///< of cuMemAllocAsync and cuMemAllocFromPoolAsync
  bool in_context = true;                 ///< it ends with the context that is current
  std::optional<std::uint32_t> device{};  ///< that the call names; null: that of the context
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr;  ///< of cuMemAllocFromPoolAsync
};

/// The allocation of a call at its end; null for calls that allocate nothing.
std::optional<AllocationRequest> allocation_of(const DriverCall& call);
/// What a call frees; null for calls that free nothing (cuMemRelease and cuMemUnmap are told apart, by
/// PhysicalMemory).
std::optional<std::uint64_t> freed_by(const DriverCall& call);
/// The region of a sparse array, as PhysicalMemory names it.
PhysicalMemory::Part part_of(const CUarrayMapInfo& info);
/// A call that makes memory of another process or API usable here.
struct Import {
  const char* call;           ///< its name
  std::uint64_t address = 0;  ///< that the program frees later as if it had allocated it; 0: none
};
std::optional<Import> import_of(const DriverCall& call);
/// The pool that a call makes or asks for. Its `info.kind` is none where the call does
/// not tell whether its memory is the device's.
struct PoolFound {
  std::uint64_t pool = 0;
  Pools::Info info;
  bool is_new = false;
};
std::optional<PoolFound> pool_of(const DriverCall& call);
/// The graph node that a call adds, when it allocates memory.
struct GraphAllocation {
  std::uint64_t address;
  std::int64_t bytes;
};
std::optional<GraphAllocation> graph_allocation_of(const DriverCall& call);
/// The stream that a call of `enqueueing_calls` enqueues on; null for other calls.
std::optional<CUstream> stream_of(const DriverCall& call);

}  // namespace peakmark
