#include "record/cupti/call_recorder.hpp"

#include <cupti.h>

#include <cstdio>
#include <memory>

namespace peakmark {
namespace {

// Pools have addresses of the host; this is none. The device's ordinal is added.
constexpr std::uint64_t kGraphMemory = 0xffff'ffff'ffff'0000;

/// The driver has gone, or the context: so has the memory.
bool is_gone(CUresult result) {
  return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

MemoryKind kind_of(const CUmemPoolProps& properties) {
#if CUDA_VERSION >= 13000
  if (properties.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED) return MemoryKind::managed;
#endif
  return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? MemoryKind::pool_async
                                                                 : MemoryKind::host_pinned;
}

}  // namespace

void CallRecorder::on_call(const DriverCall& call) noexcept {
  // Only memory can run out in here. An event lost for want of it would be a wrong figure: ending is right.
  if (call.entering) {
    begin(call);
  } else {
    end(call);
  }
}

void CallRecorder::withdraw(std::uint64_t address, Withdrawn& withdrawn) {
  const auto allocation = live_.take(address);
  if (!allocation) return;
  sink_.release(address);
  withdrawn.allocations.push_back(*allocation);
}

bool CallRecorder::withdraw_context(const DriverCall& call, Withdrawn& withdrawn) {
  std::vector<CudaAllocation> held;
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2) {
    const std::uint32_t context =
        driver_.id_of(static_cast<const cuCtxDestroy_v2_params*>(call.parameters)->ctx);
    held = live_.take_where([=](const CudaAllocation& one) {
      return one.context == context && one.kind != MemoryKind::physical;
    });
  } else if (call.id == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset ||
             call.id == CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2) {
    const auto device = static_cast<std::uint32_t>(
        static_cast<const cuDevicePrimaryCtxReset_v2_params*>(call.parameters)->dev);
    held = live_.take_where(
        [=](const CudaAllocation& one) { return one.device == device && one.kind != MemoryKind::physical; });
  } else {
    return false;
  }
  for (const CudaAllocation& one : held) sink_.release(one.address);
  if (!held.empty()) {
    note_once(
        told_context_,
        "a context was destroyed while memory was live in it: from then on that memory counts as released");
  }
  withdrawn.allocations = std::move(held);
  return true;
}

void CallRecorder::begin(const DriverCall& call) {
  if (call.correlation == nullptr) return;
  *call.correlation = 0;
  auto withdrawn = std::make_unique<Withdrawn>();
  if (const auto address = freed_by(call)) {
    if (*address == 0) return;
    withdraw(*address, *withdrawn);
    if (withdrawn->allocations.empty()) withdrawn->unknown_address = *address;
  } else if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemRelease) {
    const std::uint64_t handle = static_cast<const cuMemRelease_params*>(call.parameters)->handle;
    withdrawn->released_handle = handle;
    if (physical_.released(handle)) withdraw(handle, *withdrawn);
  } else if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemUnmap) {
    const auto& parameters = *static_cast<const cuMemUnmap_params*>(call.parameters);
    auto unmapped = physical_.unmapped(parameters.ptr, parameters.size);
    for (const std::uint64_t handle : unmapped.ended) withdraw(handle, *withdrawn);
    withdrawn->mappings = std::move(unmapped.mappings);
  } else if (!withdraw_context(call, *withdrawn)) {
    return;
  }
  *call.correlation = reinterpret_cast<std::uint64_t>(withdrawn.release());
}

void CallRecorder::end(const DriverCall& call) {
  if (call.correlation != nullptr && *call.correlation != 0) {
    const std::unique_ptr<Withdrawn> withdrawn(reinterpret_cast<Withdrawn*>(*call.correlation));
    *call.correlation = 0;
    return end_withdrawal(call, *withdrawn);
  }
  if (const auto request = allocation_of(call)) return end_allocation(call, *request);
  if (call.result != CUDA_SUCCESS) return;

  if (const auto graph = graph_allocation_of(call))
    return tell_graph_allocation(graph->address, graph->bytes);
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemPoolCreate: {
      const auto& parameters = *static_cast<const cuMemPoolCreate_params*>(call.parameters);
      const MemoryKind kind = kind_of(*parameters.poolProps);
      const std::scoped_lock lock(mutex_);
      // The address may be that of a pool destroyed before.
      unusual_pools_.erase(reinterpret_cast<std::uint64_t>(*parameters.pool));
      if (kind != MemoryKind::pool_async) {
        unusual_pools_[reinterpret_cast<std::uint64_t>(*parameters.pool)] = kind;
      }
      return;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle:
      return physical_.retained(
          *static_cast<const cuMemRetainAllocationHandle_params*>(call.parameters)->handle);
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
      const auto& parameters = *static_cast<const cuMemMap_params*>(call.parameters);
      return physical_.mapped({parameters.ptr, parameters.size, parameters.handle});
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      if (graphs_seen_) sample_graphs(driver_.device_of(call.context, call.context_id));
      break;
    default:
      break;
  }
  // During a capture nothing runs, and waiting would end the capture with an error.
  if (!finish_each_) return;
  const auto stream = stream_of(call);
  if (stream && !driver_.is_capturing(*stream)) driver_.synchronise(*stream);
}

void CallRecorder::end_allocation(const DriverCall& call, const AllocationRequest& request) {
  CudaAllocation allocation{.address = request.address,
                            .bytes = request.bytes,
                            .kind = request.kind,
                            .pool = reinterpret_cast<std::uint64_t>(request.pool),
                            .device = driver_.device_of(call.context, call.context_id),
                            .context = call.context_id};
  if (request.pool != nullptr) allocation.kind = kind_of_pool(allocation.pool);
  if (call.result != CUDA_SUCCESS) {
    return sink_.failed_allocation(allocation, static_cast<std::int32_t>(call.result));
  }
  if (allocation.address == 0) return;
  if (request.stream_ordered) {
    if (driver_.is_capturing(request.stream)) return tell_graph_allocation(request.address, request.bytes);
    if (request.pool == nullptr) {
      allocation.pool = reinterpret_cast<std::uint64_t>(driver_.current_pool(allocation.device));
    }
  }
  if (!request.sized) {
    note_once(told_unsized_,
              "an array of a packed format is counted as 0 bytes: its size is the driver's secret");
  }
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemCreate) physical_.created(allocation.address);
  live_.add(allocation);
  sink_.allocation(allocation);
  if (request.stream_ordered) sample_pool(allocation.pool);
}

void CallRecorder::end_withdrawal(const DriverCall& call, Withdrawn& withdrawn) {
  const bool refused = call.result != CUDA_SUCCESS && !is_gone(call.result);
  if (!refused) {
    if (withdrawn.unknown_address != 0) {
      {
        const std::scoped_lock lock(mutex_);
        if (graph_addresses_.erase(withdrawn.unknown_address) != 0) return;
      }
      // Allocated before the recorder came, or imported: the reader counts it as unmatched.
      if (call.result == CUDA_SUCCESS) sink_.release(withdrawn.unknown_address);
    }
    for (const CudaAllocation& one : withdrawn.allocations) {
      if (one.kind == MemoryKind::pool_async) sample_pool(one.pool);
    }
    return;
  }
  if (withdrawn.released_handle != 0) {
    if (withdrawn.allocations.empty()) {
      physical_.retained(withdrawn.released_handle);
    } else {
      physical_.created(withdrawn.released_handle);
    }
  }
  for (const CudaAllocation& one : withdrawn.allocations) {
    // Memory that ended with an unmap had no reference any more.
    if (!withdrawn.mappings.empty()) {
      physical_.created(one.address);
    }
    live_.add(one);
    sink_.allocation(one);
  }
  for (const PhysicalMemory::Mapping& mapping : withdrawn.mappings) physical_.mapped(mapping);
  if (!withdrawn.mappings.empty()) {
    for (const CudaAllocation& one : withdrawn.allocations) physical_.released(one.address);
  }
  if (!withdrawn.allocations.empty()) {
    char text[160];
    std::snprintf(
        text, sizeof(text),
        "the driver refused a release (code %d): what it should have released is told as allocated again",
        static_cast<int>(call.result));
    note_once(told_refused_release_, text);
  }
}

void CallRecorder::tell_graph_allocation(std::uint64_t address, std::int64_t bytes) {
  graphs_seen_ = true;
  {
    const std::scoped_lock lock(mutex_);
    graph_addresses_.insert(address);
  }
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "a graph holds an allocation of %lld bytes: unknown to the peak, see the pool of graph memory",
      static_cast<long long>(bytes));
  sink_.note(text);
}

void CallRecorder::sample_pool(std::uint64_t pool) {
  if (pool == 0) return;
  if (const auto usage = driver_.pool_usage(reinterpret_cast<CUmemoryPool>(pool))) {
    sink_.pool(pool, usage->reserved_bytes, usage->used_bytes);
  }
}

void CallRecorder::sample_graphs(std::uint32_t device) {
  if (const auto usage = driver_.graph_usage(device)) {
    sink_.pool(kGraphMemory + device, usage->reserved_bytes, usage->used_bytes);
  }
}

MemoryKind CallRecorder::kind_of_pool(std::uint64_t pool) {
  const std::scoped_lock lock(mutex_);
  const auto found = unusual_pools_.find(pool);
  return found == unusual_pools_.end() ? MemoryKind::pool_async : found->second;
}

void CallRecorder::note_once(std::atomic<bool>& told, const char* text) {
  if (!told.exchange(true)) sink_.note(text);
}

}  // namespace peakmark
