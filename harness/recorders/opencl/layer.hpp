#pragma once

// The recorder as a layer of the OpenCL loader: it stands between a program and the drivers, writes down what
// is allocated and released, and passes everything on. No lock is held across a call into the driver.

#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <atomic>

#include "recorders/profile_writer.hpp"

#define PEAKMARK_EXPORT __attribute__((visibility("default")))

namespace peakmark::opencl_layer {

/// What the loader forwards to (a null slot is one that it lacks), and what the layer puts before it (a null
/// slot falls through).
struct Tables {
  cl_icd_dispatch next{};
  cl_icd_dispatch hooks{};
};

/// The process's only layer. Static and never destroyed, since drivers call back until the very end.
struct Layer {
  /// Tables are published whole and never changed from then on: calls read them without a lock.
  std::atomic<const Tables*> tables{&kNone};
  Tables* draft = nullptr;  ///< while a loader initialises the layer: what is published next
  ProfileWriter writer;

  [[nodiscard]] const cl_icd_dispatch& next() const { return tables.load(std::memory_order_acquire)->next; }
  [[nodiscard]] const cl_icd_dispatch& hooks() const { return tables.load(std::memory_order_acquire)->hooks; }

  static constexpr Tables kNone{};
};
extern Layer layer;

/// Hooks a slot where there is something to pass on to. While the layer is initialised.
template <typename Function>
void hook(Function cl_icd_dispatch::*slot, Function function) {
  if (layer.draft->next.*slot != nullptr && layer.draft->hooks.*slot == nullptr) {
    layer.draft->hooks.*slot = function;
  }
}

/// Puts `ours` before whatever is there, which it calls through `forward`. Once only: another loader hooks
/// again, and other hooks may be before ours by then.
template <typename Function>
void put_before(Function cl_icd_dispatch::*slot, Function ours, Function& forward) {
  Function& hooked = layer.draft->hooks.*slot;
  if (layer.draft->next.*slot == nullptr || forward != nullptr) return;
  forward = hooked != nullptr ? hooked : layer.draft->next.*slot;
  hooked = ours;
}

inline std::uint64_t address_of(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// Each hooks what its file is about.
void hook_memory_objects();
void hook_svm();
void hook_extensions();
void hook_user_events();
void hook_enqueues();  ///< with PEAKMARK_SYNC=1
void hook_work();      ///< with PEAKMARK_WORK=1

/// True while the program has made a user event and not set it: a command may be waiting for it, and
/// finishing its queue would wait for ever.
bool has_unset_events();

/// Records a memory object that the driver has made, or refused (`memory` is null): `asked` bytes of `kind`.
cl_mem record_memory(cl_mem memory, cl_int result, std::int64_t asked, MemoryKind kind, cl_int* errcode_ret);
MemoryKind kind_of(cl_mem_flags flags, MemoryKind plain);

}  // namespace peakmark::opencl_layer
