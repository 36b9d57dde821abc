// Exported functions of libpeakmark-cupti.so, in addition to exports.cpp: CUDA's entry point, and kernel
// records.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "record/recorders/cupti/recorder.hpp"
#include "record/recorders/exports.hpp"
#include "record/recorders/marks.h"
#include "record/recorders/nvtx.hpp"

namespace {

using peakmark::Recorder;

std::atomic<Recorder*> recorder{nullptr};

struct KernelResult {
  std::mutex mutex;  // guards the members below
  std::vector<peakmark::KernelTotal> totals;
  std::string reason;
};
// Never destroyed, because the caller holds pointers into it.
KernelResult& kernel_result() {
  static auto* const result = new KernelResult;
  return *result;
}

// Runs before CUDA ends; later releases still come as callbacks.
void at_exit() {
  if (Recorder* const one = recorder.load()) one->finish_activity();
}

// Runs after the destructors of the program's objects, which may still release memory.
__attribute__((destructor)) void at_unload() {
  if (Recorder* const one = recorder.load()) one->finish();
}

}  // namespace

namespace peakmark {

bool is_recording() {
  return recorder.load() != nullptr;
}

const char* synchronise_devices() {
  Recorder* const one = recorder.load();
  return one == nullptr ? "the CUDA recorder has not started" : one->synchronise();
}

}  // namespace peakmark

extern "C" {

// Called by the driver. CUPTI reports only the calls of the first driver in a process.
PEAKMARK_EXPORT int InitializeInjection() {
  static std::atomic<const void*> first_driver{nullptr};
  const void* const code = __builtin_return_address(0);
  Dl_info driver{};
  const void* const base = dladdr(code, &driver) != 0 ? driver.dli_fbase : code;
  const void* first = nullptr;
  if (!first_driver.compare_exchange_strong(first, base)) {
    Recorder* const one = recorder.load();
    if (one != nullptr && first != base && driver.dli_fname != nullptr)
      one->note_second_driver(driver.dli_fname);
    return 1;
  }
  recorder = Recorder::start();
  if (recorder.load() == nullptr) return 1;
  std::atexit(at_exit);
  peakmark::request_ranges(reinterpret_cast<const void*>(&at_exit));
  return 1;
}

PEAKMARK_EXPORT const char* peakmark_kernel_records_start(int version) {
  KernelResult& result = kernel_result();
  Recorder* const one = recorder.load();
  if (version != PEAKMARK_KERNEL_RECORDS_VERSION) return "the recorder has another version of kernel records";
  if (one == nullptr) return "the CUDA recorder has not started";
  const std::scoped_lock lock(result.mutex);
  return one->start_kernels(result.reason) ? nullptr : result.reason.c_str();
}

PEAKMARK_EXPORT const char* peakmark_kernel_records_stop(peakmark_kernel_record* records, uint64_t capacity,
                                                         uint64_t* count) {
  KernelResult& result = kernel_result();
  *count = 0;
  Recorder* const one = recorder.load();
  if (one == nullptr) return "the CUDA recorder has not started";
  const std::scoped_lock lock(result.mutex);
  if (!one->stop_kernels(result.totals, result.reason)) return result.reason.c_str();
  *count = result.totals.size();
  for (uint64_t i = 0; i < *count && i < capacity; ++i) {
    records[i] = {result.totals[i].name.c_str(), result.totals[i].count, result.totals[i].ns};
  }
  return nullptr;
}

}  // extern "C"
