// The doors of libpeakmark-cupti.so: the one that CUDA knocks at when it comes up, and the marks.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "recorders/cupti/recorder.hpp"
#include "recorders/marks.h"
#include "recorders/nvtx.hpp"

#define PEAKMARK_EXPORT __attribute__((visibility("default")))

namespace {

using peakmark::Recorder;

std::atomic<Recorder*> recorder{nullptr};

struct KernelAnswer {
  std::mutex mutex;  // of what follows
  std::vector<peakmark::KernelTotal> totals;
  std::string reason;
};
// Never destroyed: the caller holds pointers into it.
KernelAnswer& kernel_answer() {
  static auto* const answer = new KernelAnswer;
  return *answer;
}

// Runs before CUDA goes; what is released later still comes as callbacks.
void at_exit() {
  if (Recorder* const one = recorder.load()) one->finish_activity();
}

// Runs after the destructors of the program's own objects, which may still release memory.
__attribute__((destructor)) void at_unload() {
  if (Recorder* const one = recorder.load()) one->finish();
}

}  // namespace

extern "C" {

PEAKMARK_EXPORT int InitializeInjection() {
  static std::atomic<bool> called{false};
  if (called.exchange(true)) return 1;
  recorder = Recorder::start();
  if (recorder.load() == nullptr) return 1;
  std::atexit(at_exit);
  peakmark::follow_other_recorder(reinterpret_cast<const void*>(&at_exit));
  return 1;
}

PEAKMARK_EXPORT int peakmark_marks_version() {
  return recorder.load() == nullptr ? 0 : PEAKMARK_MARKS_VERSION;
}

PEAKMARK_EXPORT void peakmark_phase(const char* name) {
  peakmark::open_ranges().mark(name);
}

PEAKMARK_EXPORT void peakmark_name(uint64_t address, const char* name) {
  if (Recorder* const one = recorder.load()) one->profile().name(address, name);
}

PEAKMARK_EXPORT const char* peakmark_profile_path() {
  Recorder* const one = recorder.load();
  return one == nullptr ? nullptr : one->profile().path();
}

PEAKMARK_EXPORT uint64_t peakmark_event_count() {
  Recorder* const one = recorder.load();
  return one == nullptr ? 0 : one->profile().count();
}

PEAKMARK_EXPORT const char* peakmark_synchronise() {
  Recorder* const one = recorder.load();
  return one == nullptr ? "the CUDA recorder has not come up" : one->synchronise();
}

PEAKMARK_EXPORT const char* peakmark_kernel_records_start(int version) {
  KernelAnswer& answer = kernel_answer();
  Recorder* const one = recorder.load();
  if (version != PEAKMARK_KERNEL_RECORDS_VERSION) return "another version of kernel records is spoken here";
  if (one == nullptr) return "the CUDA recorder has not come up";
  const std::scoped_lock lock(answer.mutex);
  return one->start_kernels(answer.reason) ? nullptr : answer.reason.c_str();
}

PEAKMARK_EXPORT const char* peakmark_kernel_records_stop(peakmark_kernel_record* records, uint64_t capacity,
                                                         uint64_t* count) {
  KernelAnswer& answer = kernel_answer();
  *count = 0;
  Recorder* const one = recorder.load();
  if (one == nullptr) return "the CUDA recorder has not come up";
  const std::scoped_lock lock(answer.mutex);
  if (!one->stop_kernels(answer.totals, answer.reason)) return answer.reason.c_str();
  *count = answer.totals.size();
  for (uint64_t i = 0; i < *count && i < capacity; ++i) {
    records[i] = {answer.totals[i].name.c_str(), answer.totals[i].count, answer.totals[i].ns};
  }
  return nullptr;
}

}  // extern "C"
