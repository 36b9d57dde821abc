#include "measure/worker/worker_devices.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "record/recorders/marks.h"
#include "record/recorders/recorder_libraries.hpp"

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

constexpr std::uint64_t kMaxKernels = 256;

class RecorderKernelTracer final : public KernelTracer {
 public:
  RecorderKernelTracer(peakmark_kernel_records_start_t start, peakmark_kernel_records_stop_t stop)
      : start_(start), stop_(stop) {}

  void start() override { started_ = succeeded(start_(PEAKMARK_KERNEL_RECORDS_VERSION)); }

  std::vector<KernelTime> stop() override {
    if (!started_) return {};
    std::vector<peakmark_kernel_record> records(kMaxKernels);
    std::uint64_t count = 0;
    if (!succeeded(stop_(records.data(), kMaxKernels, &count))) return {};
    if (count > kMaxKernels) {
      std::fprintf(stderr, "kernel times: %llu kernels, only the longest %llu are reported\n",
                   static_cast<unsigned long long>(count), static_cast<unsigned long long>(kMaxKernels));
    }
    std::vector<KernelTime> kernels;
    for (std::uint64_t i = 0; i < std::min(count, kMaxKernels); ++i) {
      kernels.push_back({records[i].name, static_cast<std::int64_t>(records[i].count),
                         static_cast<std::int64_t>(records[i].ns)});
    }
    return kernels;
  }

 private:
  /// Prints an error of the recorder. Returns true if there is none.
  static bool succeeded(const char* error) {
    if (error != nullptr) std::fprintf(stderr, "kernel times are unknown: %s\n", error);
    return error == nullptr;
  }

  peakmark_kernel_records_start_t start_;
  peakmark_kernel_records_stop_t stop_;
  bool started_ = false;
};

}  // namespace

const DeviceList& WorkerDevices::list() {
  if (!list_) {
    // The first call into CUDA starts its recorder, which reads this variable.
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
    dry.max_allocation = options_.dry_max_allocation;
    dry.refused_allocation = options_.dry_refused_allocation;
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
  if (use.events != nullptr && options_.sequences) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    use.call_chains =
        std::make_unique<CallChains>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
}

std::unique_ptr<KernelTracer> find_kernel_tracer(const std::filesystem::path& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  const auto start =
      reinterpret_cast<peakmark_kernel_records_start_t>(dlsym(handle, PEAKMARK_KERNEL_RECORDS_START_SYMBOL));
  const auto stop =
      reinterpret_cast<peakmark_kernel_records_stop_t>(dlsym(handle, PEAKMARK_KERNEL_RECORDS_STOP_SYMBOL));
  if (start == nullptr || stop == nullptr) return nullptr;
  return std::make_unique<RecorderKernelTracer>(start, stop);
}

}  // namespace peakmark
