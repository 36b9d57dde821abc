#include "worker/worker_devices.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "device/dry/dry_device.hpp"
#include "recorders/recorder_libraries.hpp"
#include "worker/recorder_kernel_tracer.hpp"

namespace peakmark {

namespace {

constexpr const char* kRecorderVariable = "PEAKMARK_RECORDER_LIBRARY";

void attach(DeviceInUse& use, bool required) {
  try {
    const char* library = std::getenv(kRecorderVariable);
    if (library == nullptr || *library == '\0') {
      throw RecorderError(std::string("no recorder: ") + kRecorderVariable +
                          " does not name one; start the worker through `peakmark run`");
    }
    use.recorder = attach_recorder(library);
    use.events = use.recorder.get();
    use.tracer = find_kernel_tracer(library);
  } catch (const RecorderError& error) {
    if (required) throw;
    std::fprintf(stderr, "memory figures are unknown: %s\n", error.what());
  }
}

}  // namespace

const DeviceList& WorkerDevices::list() {
  if (!list_) {
    // The first call into CUDA brings its recorder up, which has to know by then.
    if (!options_.memory_only) setenv("PEAKMARK_KERNEL_RECORDS", "1", 0);
    list_ = list_devices();
  }
  return *list_;
}

Backend WorkerDevices::automatic() {
  if (options_.backend) return *options_.backend;
  return choose_device({std::nullopt, options_.device}, list()).backend;
}

DeviceInUse& WorkerDevices::on(Backend backend) {
  const auto [at, is_new] = devices_.try_emplace(backend);
  if (is_new) open(at->second, backend);
  return at->second;
}

void WorkerDevices::open(DeviceInUse& use, Backend backend) {
  if (backend == Backend::dry) {
    DryOptions dry;
    dry.budget_bytes = options_.dry_budget_bytes;
    std::unique_ptr<DryDevice> device = open_dry(dry);
    if (!options_.no_memory) use.events = &device->allocation_log();
    use.device = std::move(device);
    return;
  }
  try {
    use.device = open_device(choose_device({backend, options_.device}, list()));
  } catch (const DeviceError& error) {
    if (options_.backend == backend || !options_.device.empty()) throw;
    use.missing = error.what();
    return;
  }
  if (!options_.memory_only) use.clocks = open_clock_source(use.device->info());
  if (!options_.no_memory) attach(use, options_.require_recorder);
}

}  // namespace peakmark
