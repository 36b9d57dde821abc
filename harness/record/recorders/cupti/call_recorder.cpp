// The part of CallRecorder that handles driver calls, modules and pools.
#include "record/recorders/cupti/call_recorder.hpp"

#include <cupti.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>

#include "record/recorders/cupti/allocation_size.hpp"
#include "record/recorders/exports.hpp"

namespace peakmark {
namespace {

/// Returns true if the driver or the context has ended, and its memory with it.
bool is_gone(CUresult result) {
  return result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
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
  if (noted_lost_.exchange(true)) return;
  try {
    sink_.invalid("the recorder could not allocate memory for an event; give the program more memory");
  } catch (...) {  // only the sink of a test throws
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
  if (!releases_memory(call.id)) {
    apply_budget(call);
    return begin_refusal(call);
  }
  auto withdrawn = std::make_unique<Withdrawn>();
  if (!withdraw_free(call, *withdrawn) && !withdraw_physical(call, *withdrawn) &&
      !withdraw_context(call, *withdrawn)) {
    return;
  }
  *call.correlation = reinterpret_cast<std::uint64_t>(withdrawn.release());
}

void CallRecorder::apply_budget(const DriverCall& call) {
  if (budget_ == nullptr || call.context == nullptr) return;
  budget_->apply(driver_.device_ordinal(call.context, call.context_id));
}

void CallRecorder::begin_refusal(const DriverCall& call) {
  if (refused_ == nullptr) return;
  const auto request = decode_allocation(call);
  if (!request || !(request->stream_ordered || counts_into_peak(request->kind))) return;
  if (request->stream_ordered && driver_.is_capturing(request->stream)) return;
  refused_->begin(request->device ? *request->device : driver_.device_ordinal(call.context, call.context_id),
                  without_guards(request->bytes));
}

void CallRecorder::write_name(std::uint32_t device) {
  std::array<char, 256> name{};
  driver_.name_device(device, name);
  sink_.device(device, name.data());
}

void CallRecorder::note_device(std::uint32_t device) {
  constexpr std::uint32_t kMaxBit = 63;
  const std::uint64_t bit = std::uint64_t{1} << std::min(device, kMaxBit);
  if ((used_devices_.load(std::memory_order_relaxed) & bit) != 0 || (used_devices_.fetch_or(bit) & bit) != 0)
    return;
  std::uint32_t none = kNoDevice;
  if (first_device_.compare_exchange_strong(none, device)) return;
  if (!has_named_first_.exchange(true)) write_name(first_device_);
  write_name(device);
}

void CallRecorder::write_allocation(const CudaAllocation& allocation) {
  note_device(allocation.device);
  live_.add(allocation);
  sink_.allocation(allocation);
  if (refused_ != nullptr && counts_into_peak(allocation.kind)) refused_->count();
}

bool CallRecorder::withdraw_free(const DriverCall& call, Withdrawn& withdrawn) {
  if (call.id == PEAKMARK_CALL(cuMemPoolDestroy)) {
    withdrawn.pool = reinterpret_cast<std::uint64_t>(parameters<cuMemPoolDestroy_params>(call).pool);
    const auto info = pools_.destroyed(withdrawn.pool);
    withdrawn.pool_info = info.value_or(Pools::Info{.kind = MemoryKind::none});
    return info.has_value();
  }
  const auto address = decode_release(call);
  if (!address || *address == 0) return false;
  withdraw(*address, withdrawn);
  if (withdrawn.allocations.empty()) withdrawn.unknown_address = *address;
  if (call.id == PEAKMARK_CALL(cuArrayDestroy) || call.id == PEAKMARK_CALL(cuMipmappedArrayDestroy)) {
    withdraw(physical_.unmap_array(*address), withdrawn);
  }
  return true;
}

void CallRecorder::end(const DriverCall& call) {
  if (call.correlation != nullptr && *call.correlation != 0) {
    const std::unique_ptr<Withdrawn> withdrawn(reinterpret_cast<Withdrawn*>(*call.correlation));
    *call.correlation = 0;
    end_withdrawal(call, *withdrawn);
    // cuMemMapArrayAsync can map and unmap in one call.
    return call.result == CUDA_SUCCESS ? end_physical(call) : void();
  }
  if (const auto request = decode_allocation(call)) return end_allocation(call, *request);
  if (call.result != CUDA_SUCCESS) return;

  if (const auto graph = decode_graph_allocation(call))
    return note_graph_allocation(graph->address, graph->bytes);
  if (const auto import = decode_import(call)) note_import(*import);
  if (const auto found = decode_pool(call)) {
    if (found->is_new) return pools_.created(found->pool, found->info);
    pools_.seen(found->pool, found->info);
    return;
  }
  if (call.id == PEAKMARK_CALL(cuMemPoolTrimTo)) {
    const auto pool = reinterpret_cast<std::uint64_t>(parameters<cuMemPoolTrimTo_params>(call).pool);
    return sample_pool(pool, pools_.find(pool).value_or(Pools::Info{}).device);
  }
  end_physical(call);
  end_context(call);
  end_enqueue(call);
}

void CallRecorder::end_enqueue(const DriverCall& call) {
  if (graphs_seen_ &&
      (call.id == PEAKMARK_CALL(cuGraphLaunch) || call.id == PEAKMARK_CALL(cuGraphLaunch_ptsz))) {
    sample_graphs(driver_.device_ordinal(call.context, call.context_id));
  }
  if (!finish_each_) return;
  const auto stream = decode_stream(call);
  // During a capture nothing runs, and waiting would end the capture with an error.
  if (!stream || driver_.is_capturing(*stream) || driver_.synchronise(*stream)) return;
  finish_each_ = false;
  note_once(noted_wait_,
            "--sync: a stream was not idle in time: it may wait for work on another device; from here "
            "on the recorder does not wait, and the peak may differ from run to run");
}

/// Sets pool, kind and device. `allocation.pool` is the pool that the call names; 0: the current pool.
void CallRecorder::set_pool(CudaAllocation& allocation) {
  std::optional<Pools::Info> known;
  if (allocation.pool != 0) {
    known = pools_.find(allocation.pool);
  } else {
    allocation.pool = reinterpret_cast<std::uint64_t>(driver_.current_pool(allocation.device));
    if (allocation.pool == 0 || pools_.is_driver_pool(allocation.pool, allocation.device)) return;
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
      .bytes = without_guards(request.bytes),
      .kind = request.kind,
      .pool = reinterpret_cast<std::uint64_t>(request.pool),
      .device = request.device ? *request.device : driver_.device_ordinal(call.context, call.context_id),
      .context = call.context_id,
      .in_context = request.in_context};
  const bool is_refused =
      refused_ != nullptr && refused_->end(allocation.device, call.result == CUDA_SUCCESS);
  if (call.result != CUDA_SUCCESS) {
    if (const auto pool = pools_.find(allocation.pool)) allocation.kind = pool->kind;
    if (allocation.kind == MemoryKind::none) allocation.kind = request.kind;
    const bool is_limited =
        budget_ != nullptr && counts_into_peak(allocation.kind) && budget_->limits(allocation.device);
    RefusedBy limit = RefusedBy::driver;
    if (call.result == CUDA_ERROR_OUT_OF_MEMORY) {
      if (is_limited) limit = RefusedBy::budget;
      if (is_refused) limit = refused_->limit();
    }
    return sink_.failed_allocation(allocation, static_cast<std::int32_t>(call.result), limit);
  }
  if (allocation.address == 0) return;
  if (request.stream_ordered) {
    if (driver_.is_capturing(request.stream)) return note_graph_allocation(request.address, request.bytes);
    set_pool(allocation);
  }
  if (!request.sized) {
    note_once(noted_unsized_, "an array of a packed format is counted as 0 bytes: its size is unknown");
  }
  if (call.id == PEAKMARK_CALL(cuMemCreate)) {
    allocation.address = physical_.created(allocation.address, allocation.device);
  }
  write_allocation(allocation);
  if (request.stream_ordered) sample_pool(allocation.pool, allocation.device);
}

void CallRecorder::end_withdrawal(const DriverCall& call, Withdrawn& withdrawn) {
  if (call.result != CUDA_SUCCESS && !is_gone(call.result)) return undo(call, withdrawn);
  if (withdrawn.context) contexts_.destroyed(*withdrawn.context);
  if (withdrawn.released && !is_process_exiting_ &&
      !driver_.primary_is_active(*withdrawn.released).value_or(true))
    end_memory_of_primary(*withdrawn.released);
  if (withdrawn.unknown_address != 0) {
    {
      const std::scoped_lock lock(mutex_);
      if (not_counted_.erase(withdrawn.unknown_address) != 0) return;
    }
    // Allocated before the recorder was loaded: the reader counts an unmatched release.
    if (call.result == CUDA_SUCCESS) sink_.release(withdrawn.unknown_address);
  }
  for (const CudaAllocation& one : withdrawn.allocations) {
    if (one.pool != 0) sample_pool(one.pool, one.device);
  }
}

void CallRecorder::undo(const DriverCall& call, const Withdrawn& withdrawn) {
  if (withdrawn.pool != 0) pools_.created(withdrawn.pool, withdrawn.pool_info);
  if (withdrawn.green != 0) contexts_.green_created(withdrawn.green, withdrawn.released.value_or(0));
  if (withdrawn.detached) contexts_.attached(*withdrawn.detached);
  physical_.undo(withdrawn.physical);
  for (const CudaAllocation& one : withdrawn.allocations) {
    live_.add(one);
    sink_.refused_release(one, static_cast<std::int32_t>(call.result));
  }
  if (withdrawn.allocations.empty()) return;
  char text[160];
  std::snprintf(text, sizeof(text), "the driver refused a release (code %d): its memory counts as live again",
                static_cast<int>(call.result));
  note_once(noted_refused_release_, text);
}

void CallRecorder::note_import(const Import& import) {
  if (import.address != 0) {
    const std::scoped_lock lock(mutex_);
    not_counted_.insert(import.address);
  }
  char text[160];
  std::snprintf(text, sizeof(text),
                "imported memory counts 0 bytes, because another process or API has allocated it (%s)",
                import.call);
  note_once(noted_import_, text);
}

void CallRecorder::note_graph_allocation(std::uint64_t address, std::int64_t bytes) {
  graphs_seen_ = true;
  {
    const std::scoped_lock lock(mutex_);
    not_counted_.insert(address);
  }
  char text[160];
  std::snprintf(
      text, sizeof(text),
      "a graph holds an allocation of %lld bytes: not part of the peak, see the pool of graph memory",
      static_cast<long long>(bytes));
  sink_.note(text);
}

void CallRecorder::note_unknown_pool(std::uint64_t pool) {
  sink_.pool(pool, kUnknownPoolBytes, kUnknownPoolBytes);
  note_once(noted_unknown_pool_, "the driver did not report a memory pool: what pools hold is unknown");
}

void CallRecorder::sample_pool(std::uint64_t pool, std::uint32_t device) {
  if (pool == 0) return note_unknown_pool(pool);  // the driver did not report the current pool
  std::optional<Pools::Use> use;                  // keeps the program from destroying the pool meanwhile
  if (!pools_.is_driver_pool(pool, device)) {
    use.emplace(pools_, pool);
    if (!use->info() || !counts_into_peak(use->info()->kind)) return;
  }
  const auto usage = driver_.pool_usage(reinterpret_cast<CUmemoryPool>(pool));
  use.reset();
  if (!usage) return note_unknown_pool(pool);
  sink_.pool(pool, usage->reserved_bytes, usage->used_bytes);
}

void CallRecorder::sample_graphs(std::uint32_t device) {
  const std::uint64_t pool = kGraphMemoryPool + device;
  const auto usage = driver_.graph_usage(device);
  if (!usage) return note_unknown_pool(pool);
  sink_.pool(pool, usage->reserved_bytes, usage->used_bytes);
}

void CallRecorder::note_once(std::atomic<bool>& is_noted, const char* text) {
  if (!is_noted.exchange(true)) sink_.note(text);
}

namespace {

// Returns an address for a module. It is below 2^48, because readers put the process into the upper bits;
// odd, unlike any handle; and different from the addresses of PhysicalMemory.
std::uint64_t module_address(std::uint32_t module) {
  return 0xe000'0000'0001 + 2 * std::uint64_t{module};
}

}  // namespace

void CallRecorder::on_module_loaded(std::uint32_t module, std::span<const std::byte> image,
                                    CUcontext context) noexcept {
  try {
    const std::int64_t bytes = module_globals_bytes(image);
    if (bytes == 0) return;
    const std::uint32_t context_id = driver_.cupti_id(context);
    const CudaAllocation globals{.address = module_address(module),
                                 .bytes = bytes,
                                 .kind = MemoryKind::module_globals,
                                 .device = driver_.device_ordinal(context, context_id),
                                 .context = context_id};
    write_allocation(globals);
  } catch (...) {
    lose_event();
  }
}

void CallRecorder::on_module_unloading(std::uint32_t module) noexcept {
  const std::uint64_t address = module_address(module);
  if (live_.take(address)) sink_.release(address);
}

}  // namespace peakmark
