#pragma once

// The recorder as a layer of the OpenCL loader. It is between a program and the drivers, records allocations
// and releases, and passes every call on. It never holds a lock while it calls the driver, except to retain a
// queue.
//
// Path of an allocation: clCreateBuffer of the program → create_buffer() (memory_objects.cpp) → take_budget()
// → the driver → record_memory() → ProfileWriter::allocation(), an event in the profile.
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <atomic>
#include <type_traits>

#include "record/recorders/exports.hpp"
#include "record/recorders/mutex_lock.hpp"
#include "record/recorders/opencl/budget.hpp"

namespace peakmark::opencl_layer {

/// The loader's functions (null: the loader lacks it), and the layer's hooks in front of them (null: no
/// hook).
struct Tables {
  cl_icd_dispatch next{};
  cl_icd_dispatch hooks{};
};

/// The only layer of the process. Static and never destroyed, because drivers call back until the very end.
struct Layer {
  /// Published tables never change, so calls read them without a lock.
  std::atomic<const Tables*> tables{&kNone};
  Tables* draft = nullptr;  ///< the tables to publish next, while a loader initialises the layer
  ProfileWriter writer;

  [[nodiscard]] const cl_icd_dispatch& next() const { return tables.load(std::memory_order_acquire)->next; }
  [[nodiscard]] const cl_icd_dispatch& hooks() const { return tables.load(std::memory_order_acquire)->hooks; }

  static constexpr Tables kNone{};
};
extern Layer layer;

/// Hooks a function, if the loader has it. Call it while the layer is initialised.
template <typename Function>
void hook(Function cl_icd_dispatch::*slot, Function function) {
  if (layer.draft->next.*slot != nullptr && layer.draft->hooks.*slot == nullptr) {
    layer.draft->hooks.*slot = function;
  }
}

/// Puts `ours` in front of the current function, which is stored in `forward`. Does so only once: a further
/// loader hooks again, and other hooks may then be in front of ours.
template <typename Function>
void put_before(Function cl_icd_dispatch::*slot, Function ours, Function& forward) {
  Function& hooked = layer.draft->hooks.*slot;
  if (layer.draft->next.*slot == nullptr || forward != nullptr) return;
  forward = hooked != nullptr ? hooked : layer.draft->next.*slot;
  hooked = ours;
}

/// Puts hooks in front of the functions of slots: `Hook<Slot, Function>` has `call` and `forward`.
template <template <auto, typename> class Hook, auto... Slots>
void put_hooks() {
  const auto put = []<auto Slot>() {
    using Function = std::remove_cvref_t<decltype(layer.draft->next.*Slot)>;
    put_before<Function>(Slot, Hook<Slot, Function>::call, Hook<Slot, Function>::forward);
  };
  (put.template operator()<Slots>(), ...);
}

/// Puts hooks in front of the commands that read or write memory objects, without those that map them.
template <template <auto, typename> class Hook>
void put_hooks_of_memory_commands() {
  using Calls = cl_icd_dispatch;
  put_hooks<Hook, &Calls::clEnqueueReadBuffer, &Calls::clEnqueueWriteBuffer, &Calls::clEnqueueCopyBuffer,
            &Calls::clEnqueueReadBufferRect, &Calls::clEnqueueWriteBufferRect,
            &Calls::clEnqueueCopyBufferRect, &Calls::clEnqueueFillBuffer, &Calls::clEnqueueReadImage,
            &Calls::clEnqueueWriteImage, &Calls::clEnqueueCopyImage, &Calls::clEnqueueFillImage,
            &Calls::clEnqueueCopyImageToBuffer, &Calls::clEnqueueCopyBufferToImage,
            &Calls::clEnqueueNDRangeKernel, &Calls::clEnqueueTask>();
}

/// Writes a note unless `noted` is set, and sets it.
inline void note_once(std::atomic<bool>& noted, const char* text) {
  if (!noted.exchange(true)) layer.writer.note(text);
}

inline std::uint64_t to_address(const void* handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

/// Returns true if the driver of this handle lacks a function: an old driver has null in its table, and the
/// loader, whose own entry is never null, would call it. Every handle begins with its driver's table
/// (cl_khr_icd).
template <auto Slot>
bool driver_lacks(const void* handle) {
  // CL_ICD2_TAG_KHR: the loader has a separate table for this driver, without null.
  constexpr std::uint64_t kTableOfLoader = 0x4F50454E434C3331;
  if (handle == nullptr) return false;  // the loader refuses it
  const cl_icd_dispatch* const table = *static_cast<const cl_icd_dispatch* const*>(handle);
  return table->*Slot == nullptr &&
         reinterpret_cast<std::uint64_t>(table->clGetPlatformIDs) != kTableOfLoader;
}

/// Calls a function that the program did not call. Returns CL_INVALID_OPERATION if loader or driver lacks it.
/// Calls of the program itself are passed on unchecked: they fail or crash as without the recorder.
template <auto Slot, typename Handle, typename... Arguments>
cl_int ask_driver(Handle handle, Arguments... arguments) {
  const auto function = layer.next().*Slot;
  return function == nullptr || driver_lacks<Slot>(handle) ? CL_INVALID_OPERATION
                                                           : function(handle, arguments...);
}

// Each hooks the calls that its file handles.
void hook_memory_objects();
void hook_svm();
void hook_extensions();
void hook_user_events();
void hook_references();
void hook_destructions();
void hook_enqueues();   ///< with PEAKMARK_SYNC=1
void hook_work();       ///< with PEAKMARK_WORK=1
void hook_first_use();  ///< with PEAKMARK_REFUSE_AT_USE=1

/// Returns true while the program has a user event that is not set. A command may wait for it, so finishing
/// its queue could wait for ever.
bool has_unset_events();

/// A requested allocation, before the driver is called.
struct Request {
  cl_context context = nullptr;
  std::int64_t bytes = 0;  ///< as far as known; for a memory object only the driver knows the size
  MemoryKind kind = MemoryKind::none;
  cl_device_id device = nullptr;  ///< null: all devices of the context
};

/// Records that the budget refuses a request, or that it is too large for one allocation. Returns the error
/// for the program: CL_INVALID_BUFFER_SIZE for a buffer that is too large, else
/// CL_MEM_OBJECT_ALLOCATION_FAILURE, or CL_OUT_OF_RESOURCES for calls that do not have these errors.
cl_int refuse(const Request& request);
/// Returns true if a memory object that the budget refuses is created nevertheless, and refused when a
/// command first uses it.
bool refuses_at_use(const Request& request);
/// Keeps such an object, which the driver has created. Returns it.
cl_mem keep_for_use(cl_mem memory, const Request& request);
/// Records SVM or USM memory that the driver has allocated, or refused (`memory` is null).
void record_pointer(void* memory, cl_int result, const Request& request, Charge charge);
/// Records a memory object that the driver has created, or refused (`memory` is null). Returns it, and sets
/// `errcode_ret`. Returns null if it is larger than requested and exceeds the budget.
cl_mem record_memory(cl_mem memory, cl_int result, const Request& request, Charge charge,
                     cl_int* errcode_ret);
MemoryKind memory_kind(cl_mem_flags flags, MemoryKind plain);

/// Creates a memory object by `create(&result)` and records it, unless the budget refuses it.
template <typename Create>
cl_mem create_memory(const Request& request, cl_int* errcode_ret, Create create) {
  const Charge charge = take_budget(request.context, request.bytes, request.kind);
  if (charge.is_refused() && refuses_at_use(request)) return keep_for_use(create(errcode_ret), request);
  if (charge.is_refused()) {
    const cl_int error = refuse(request);
    if (errcode_ret != nullptr) *errcode_ret = error;
    return nullptr;
  }
  cl_int result = CL_SUCCESS;
  const cl_mem memory = create(&result);
  return record_memory(memory, result, request, charge, errcode_ret);
}

/// Does the same for SVM and USM memory.
template <typename Allocate>
void* allocate_pointer(const Request& request, cl_int* errcode_ret, Allocate allocate) {
  const Charge charge = take_budget(request.context, request.device, request.bytes, request.kind);
  cl_int result = CL_SUCCESS;
  void* memory = nullptr;
  if (charge.is_refused()) {
    result = refuse(request);
  } else {
    memory = allocate(&result);
    record_pointer(memory, result, request, charge);
  }
  if (errcode_ret != nullptr) *errcode_ret = result;
  return memory;
}

/// Returns true if the driver of this memory has no destructor callbacks: its release is then recorded, and
/// its stored charge given back, at the program's last clReleaseMemObject.
bool is_released_by_references(cl_mem memory);

/// Begins to watch for the end of the process. Call it when the driver has created a memory object.
void watch_unloading();

/// Returns true if this thread ends the process and the program makes no call: the driver is then destroying
/// memory that the program did not release.
bool is_driver_unloading();

/// Marks the loader that contains `caller` as reached: it has passed its table to the layer.
void note_reached(const void* caller);

/// Queries the platforms of every loader in this process that is not reached, so that it initialises the
/// layer. The first call also loads the system's loader (libOpenCL.so.1), so that a library linked to it
/// finds it initialised. Call it with no lock held.
void reach_loaders();

/// Notes that a loader has loaded the recorder as a driver. If it supports no layers, the library with this
/// code uses the system's loader from now on.
void meet_loader(const void* code);

/// Makes the library with this code call the functions of `loader` (from dlopen) instead of its own OpenCL
/// functions. Returns false if it contains a loader and calls it without the dynamic linker.
bool use_other_loader(const void* code, void* loader);

/// Reports each loader of this process that is not reached, once, in a note and an error. While the program
/// runs, only reports loaders that were queried; at the end, all. A loader that no library calls, because
/// another one comes first in symbol order (LD_PRELOAD), is not reported.
enum class Moment { running, end };
void report_unreached(Moment moment);

/// Returns true if report_unreached() has reported a loader.
bool has_unreached();

/// Hooks calls that a program makes rarely and before it allocates: new loaders are reached there.
void hook_arrivals();

/// Hooks the calls that create and release queues.
void hook_queues();

/// Finishes every queue of the program. Returns null, or the reason why it did not wait: released memory may
/// then still be live.
const char* synchronise();

}  // namespace peakmark::opencl_layer
