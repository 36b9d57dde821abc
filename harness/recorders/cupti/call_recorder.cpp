#include "recorders/cupti/call_recorder.hpp"

#include <cupti.h>

#include <cstdio>
#include <memory>
#include <utility>

namespace peakmark {
namespace {

// Pools have addresses of the host; this is none. The device's ordinal is added.
constexpr std::uint64_t kGraphMemory = 0xffff'ffff'ffff'0000;

/// The driver has gone, or the context: so has the memory.
bool is_gone(CUresult result) {
  return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// True for calls that end memory, or what holds it.
bool takes_away(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
    case CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuMemPoolDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
    case CUPTI_DRIVER_TRACE_CBID_cuMulticastUnbind:
    case CUPTI_DRIVER_TRACE_CBID_cuMemMapArrayAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemMapArrayAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDetach:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy:
      return true;
    default:
      return false;
  }
}

}  // namespace

void CallRecorder::on_call(const DriverCall& call) noexcept {
  try {
    if (call.entering) {
      begin(call);
    } else {
      end(call);
    }
  } catch (...) {
    lose_event();
  }
}

void CallRecorder::lose_event() noexcept {
  if (told_lost_.exchange(true)) return;
  try {
    sink_.invalid("the recorder found no memory for an event; give the program more memory");
  } catch (...) {  // the sink of a test
  }
}

void CallRecorder::withdraw(std::uint64_t address, Withdrawn& withdrawn) {
  withdrawn.allocations.reserve(withdrawn.allocations.size() + 1);
  const auto allocation = live_.take(address);
  if (!allocation) return;
  withdrawn.allocations.push_back(*allocation);
  sink_.release(address);
}

void CallRecorder::begin(const DriverCall& call) {
  if (call.correlation == nullptr) return;
  *call.correlation = 0;
  if (!takes_away(call.id)) return;
  auto withdrawn = std::make_unique<Withdrawn>();
  if (!withdraw_free(call, *withdrawn) && !withdraw_physical(call, *withdrawn) &&
      !withdraw_context(call, *withdrawn)) {
    return;
  }
  *call.correlation = reinterpret_cast<std::uint64_t>(withdrawn.release());
}

bool CallRecorder::withdraw_free(const DriverCall& call, Withdrawn& withdrawn) {
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemPoolDestroy) {
    withdrawn.pool =
        reinterpret_cast<std::uint64_t>(static_cast<const cuMemPoolDestroy_params*>(call.parameters)->pool);
    const auto info = pools_.destroyed(withdrawn.pool);
    withdrawn.pool_info = info.value_or(Pools::Info{.kind = MemoryKind::none});
    return info.has_value();
  }
  const auto address = freed_by(call);
  if (!address || *address == 0) return false;
  withdraw(*address, withdrawn);
  if (withdrawn.allocations.empty()) withdrawn.unknown_address = *address;
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuArrayDestroy ||
      call.id == CUPTI_DRIVER_TRACE_CBID_cuMipmappedArrayDestroy) {
    withdraw(physical_.unmap_array(*address), withdrawn);
  }
  return true;
}

void CallRecorder::end(const DriverCall& call) {
  if (call.correlation != nullptr && *call.correlation != 0) {
    const std::unique_ptr<Withdrawn> withdrawn(reinterpret_cast<Withdrawn*>(*call.correlation));
    *call.correlation = 0;
    end_withdrawal(call, *withdrawn);
    // The one call that may both map and unmap.
    return call.result == CUDA_SUCCESS ? end_physical(call) : void();
  }
  if (const auto request = allocation_of(call)) return end_allocation(call, *request);
  if (call.result != CUDA_SUCCESS) return;

  if (const auto graph = graph_allocation_of(call))
    return tell_graph_allocation(graph->address, graph->bytes);
  if (const auto import = import_of(call)) note_import(*import);
  if (const auto found = pool_of(call)) {
    if (found->is_new) return pools_.created(found->pool, found->info);
    pools_.seen(found->pool, found->info);
    return;
  }
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemPoolTrimTo) {
    const auto pool =
        reinterpret_cast<std::uint64_t>(static_cast<const cuMemPoolTrimTo_params*>(call.parameters)->pool);
    return sample_pool(pool, pools_.find(pool).value_or(Pools::Info{}).device);
  }
  end_physical(call);
  end_context(call);
  end_enqueue(call);
}

void CallRecorder::end_enqueue(const DriverCall& call) {
  if (graphs_seen_ && (call.id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
                       call.id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz)) {
    sample_graphs(driver_.device_of(call.context, call.context_id));
  }
  if (!finish_each_) return;
  const auto stream = stream_of(call);
  // During a capture nothing runs, and waiting would end the capture with an error.
  if (!stream || driver_.is_capturing(*stream) || driver_.synchronise(*stream)) return;
  finish_each_ = false;
  note_once(told_wait_,
            "--sync: a stream was not idle in time, as one that waits for work on another device; from here "
            "on the recorder does not wait, and the peak may differ from run to run");
}

/// `allocation.pool` is that of the call, 0 where it takes the current one.
void CallRecorder::set_pool(CudaAllocation& allocation) {
  std::optional<Pools::Info> known;
  if (allocation.pool != 0) {
    known = pools_.find(allocation.pool);
  } else {
    allocation.pool = reinterpret_cast<std::uint64_t>(driver_.current_pool(allocation.device));
    if (allocation.pool == 0 || pools_.is_of_driver(allocation.pool, allocation.device)) return;
    known = pools_.seen(allocation.pool, {.device = allocation.device});
  }
  if (!known || known->kind == MemoryKind::none) {
    if (driver_.is_on_host(allocation.address)) allocation.kind = MemoryKind::host_pinned;
    return;
  }
  allocation.kind = known->kind;
  if (counts_into_peak(known->kind)) allocation.device = known->device;
}

void CallRecorder::end_allocation(const DriverCall& call, const AllocationRequest& request) {
  CudaAllocation allocation{
      .address = request.address,
      .bytes = request.bytes,
      .kind = request.kind,
      .pool = reinterpret_cast<std::uint64_t>(request.pool),
      .device = request.device ? *request.device : driver_.device_of(call.context, call.context_id),
      .context = call.context_id,
      .in_context = request.in_context};
  if (call.result != CUDA_SUCCESS) {
    if (const auto pool = pools_.find(allocation.pool)) allocation.kind = pool->kind;
    if (allocation.kind == MemoryKind::none) allocation.kind = request.kind;
    return sink_.failed_allocation(allocation, static_cast<std::int32_t>(call.result));
  }
  if (allocation.address == 0) return;
  if (request.stream_ordered) {
    if (driver_.is_capturing(request.stream)) return tell_graph_allocation(request.address, request.bytes);
    set_pool(allocation);
  }
  if (!request.sized) {
    note_once(told_unsized_,
              "an array of a packed format is counted as 0 bytes: its size is the driver's secret");
  }
  if (call.id == CUPTI_DRIVER_TRACE_CBID_cuMemCreate) {
    allocation.address = physical_.created(allocation.address, allocation.device);
  }
  live_.add(allocation);
  sink_.allocation(allocation);
  if (request.stream_ordered) sample_pool(allocation.pool, allocation.device);
}

void CallRecorder::end_withdrawal(const DriverCall& call, Withdrawn& withdrawn) {
  if (call.result != CUDA_SUCCESS && !is_gone(call.result)) return give_back(call, withdrawn);
  if (withdrawn.context) contexts_.destroyed(*withdrawn.context);
  if (withdrawn.released && !process_ends_ && !driver_.primary_is_active(*withdrawn.released).value_or(true))
    end_memory_of_primary(*withdrawn.released);
  if (withdrawn.unknown_address != 0) {
    {
      const std::scoped_lock lock(mutex_);
      if (not_counted_.erase(withdrawn.unknown_address) != 0) return;
    }
    // Allocated before the recorder came: the reader counts it as unmatched.
    if (call.result == CUDA_SUCCESS) sink_.release(withdrawn.unknown_address);
  }
  for (const CudaAllocation& one : withdrawn.allocations) {
    if (one.pool != 0) sample_pool(one.pool, one.device);
  }
}

void CallRecorder::give_back(const DriverCall& call, const Withdrawn& withdrawn) {
  if (withdrawn.pool != 0) pools_.created(withdrawn.pool, withdrawn.pool_info);
  if (withdrawn.green != 0) contexts_.green_created(withdrawn.green, withdrawn.released.value_or(0));
  if (withdrawn.detached) contexts_.attached(*withdrawn.detached);
  physical_.give_back(withdrawn.physical);
  for (const CudaAllocation& one : withdrawn.allocations) {
    live_.add(one);
    sink_.refused_release(one, static_cast<std::int32_t>(call.result));
  }
  if (withdrawn.allocations.empty()) return;
  char text[160];
  std::snprintf(text, sizeof(text),
                "the driver refused a release (code %d): the memory that it names counts as live again",
                static_cast<int>(call.result));
  note_once(told_refused_release_, text);
}

void CallRecorder::note_import(const Import& import) {
  if (import.address != 0) {
    const std::scoped_lock lock(mutex_);
    not_counted_.insert(import.address);
  }
  char text[160];
  std::snprintf(text, sizeof(text),
                "imported memory counts 0 bytes, since another process or API has allocated it (%s)",
                import.call);
  note_once(told_import_, text);
}

void CallRecorder::tell_graph_allocation(std::uint64_t address, std::int64_t bytes) {
  graphs_seen_ = true;
  {
    const std::scoped_lock lock(mutex_);
    not_counted_.insert(address);
  }
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "a graph holds an allocation of %lld bytes: unknown to the peak, see the pool of graph memory",
      static_cast<long long>(bytes));
  sink_.note(text);
}

void CallRecorder::sample_pool(std::uint64_t pool, std::uint32_t device) {
  std::optional<Pools::Use> use;  // keeps the program from destroying the pool meanwhile
  if (!pools_.is_of_driver(pool, device)) {
    use.emplace(pools_, pool);
    if (!use->info() || !counts_into_peak(use->info()->kind)) return;
  }
  const auto usage = driver_.pool_usage(reinterpret_cast<CUmemoryPool>(pool));
  use.reset();
  if (usage) sink_.pool(pool, usage->reserved_bytes, usage->used_bytes);
}

void CallRecorder::sample_graphs(std::uint32_t device) {
  if (const auto usage = driver_.graph_usage(device)) {
    sink_.pool(kGraphMemory + device, usage->reserved_bytes, usage->used_bytes);
  }
}

void CallRecorder::note_once(std::atomic<bool>& told, const char* text) {
  if (!told.exchange(true)) sink_.note(text);
}

}  // namespace peakmark
