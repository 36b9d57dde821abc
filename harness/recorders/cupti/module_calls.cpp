// The part of CallRecorder that CUPTI's resource callbacks reach.
#include "recorders/cupti/call_recorder.hpp"
#include "recorders/cupti/module_globals.hpp"

namespace peakmark {
namespace {

// Below 2^48, since readers keep the process in the upper bits; odd, as no handle is. Others than those of
// PhysicalMemory.
std::uint64_t address_of_module(std::uint32_t module) {
  return 0xe000'0000'0001 + 2 * std::uint64_t{module};
}

}  // namespace

void CallRecorder::on_module_loaded(std::uint32_t module, std::span<const std::byte> image,
                                    CUcontext context) noexcept {
  try {
    const std::int64_t bytes = module_globals_bytes(image);
    if (bytes == 0) return;
    const std::uint32_t context_id = driver_.id_of(context);
    const CudaAllocation globals{.address = address_of_module(module),
                                 .bytes = bytes,
                                 .kind = MemoryKind::module_globals,
                                 .device = driver_.device_of(context, context_id),
                                 .context = context_id};
    live_.add(globals);
    sink_.allocation(globals);
  } catch (...) {
    lose_event();
  }
}

void CallRecorder::on_module_unloading(std::uint32_t module) noexcept {
  const std::uint64_t address = address_of_module(module);
  if (live_.take(address)) sink_.release(address);
}

}  // namespace peakmark
