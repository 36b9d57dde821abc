// Hooks the calls that enqueue commands.
//
// PEAKMARK_SYNC=1 finishes the queue after each enqueue. Commands that run asynchronously keep their memory
// alive, so the peak of a program differs from run to run. If each command is finished, the peak is always
// the same.
//
// PEAKMARK_WORK=1 records how long the device worked on each command: queues are created with profiling,
// every command gets an event, and its times are read when it is complete.
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

/// Number of user events that the program has created and not yet set.
std::atomic<int> unset_events{0};

void finish(cl_command_queue queue) {
  if (!has_unset_events()) {
    ask_driver<&cl_icd_dispatch::clFinish>(queue);
    return;
  }
  static std::atomic<bool> noted{false};
  note_once(noted, "a queue was not finished after an enqueue, because a user event was not set yet");
}

constexpr bool succeeded(cl_int result) {
  return result == CL_SUCCESS;
}
bool succeeded(const void* mapped) {
  return mapped != nullptr;
}

template <auto Slot, typename Function>
struct Finishing;

template <auto Slot, typename Result, typename... Arguments>
struct Finishing<Slot, Result(CL_API_CALL*)(cl_command_queue, Arguments...)> {
  static Result CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    // The next hook, or the loader's function.
    const Result result = forward(queue, arguments...);
    if (succeeded(result)) finish(queue);
    return result;
  }
  static inline Result(CL_API_CALL* forward)(cl_command_queue, Arguments...) = nullptr;
};

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* errcode_ret) {
  const cl_event event = layer.next().clCreateUserEvent(context, errcode_ret);
  if (event != nullptr) ++unset_events;
  return event;
}

cl_int CL_API_CALL set_user_event_status(cl_event event, cl_int status) {
  const cl_int result = layer.next().clSetUserEventStatus(event, status);
  if (result == CL_SUCCESS) --unset_events;
  return result;
}

}  // namespace

bool has_unset_events() {
  return unset_events.load() != 0;
}

void hook_user_events() {
  hook(&cl_icd_dispatch::clCreateUserEvent, create_user_event);
  hook(&cl_icd_dispatch::clSetUserEventStatus, set_user_event_status);
}

void hook_enqueues() {
  using Slots = cl_icd_dispatch;
  put_hooks_of_memory_commands<Finishing>();
  put_hooks<Finishing, &Slots::clEnqueueMapBuffer, &Slots::clEnqueueMapImage, &Slots::clEnqueueUnmapMemObject,
            &Slots::clEnqueueMigrateMemObjects, &Slots::clEnqueueNativeKernel, &Slots::clEnqueueMarker,
            &Slots::clEnqueueWaitForEvents, &Slots::clEnqueueBarrier, &Slots::clEnqueueMarkerWithWaitList,
            &Slots::clEnqueueBarrierWithWaitList, &Slots::clEnqueueSVMFree, &Slots::clEnqueueSVMMemcpy,
            &Slots::clEnqueueSVMMemFill, &Slots::clEnqueueSVMMap, &Slots::clEnqueueSVMUnmap,
            &Slots::clEnqueueSVMMigrateMem, &Slots::clEnqueueAcquireGLObjects,
            &Slots::clEnqueueReleaseGLObjects, &Slots::clEnqueueAcquireEGLObjectsKHR,
            &Slots::clEnqueueReleaseEGLObjectsKHR>();
}

namespace {

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

bool read_time(cl_event event, cl_profiling_info what, cl_ulong& ns) {
  return ask_driver<&cl_icd_dispatch::clGetEventProfilingInfo>(event, what, sizeof(ns), &ns, nullptr) ==
         CL_SUCCESS;
}

/// `enqueued`: the time of the enqueue in ns.
void CL_CALLBACK note_work(cl_event event, cl_int status, void* enqueued) {
  cl_ulong start = 0;
  cl_ulong end = 0;
  if (status == CL_COMPLETE && read_time(event, CL_PROFILING_COMMAND_START, start) &&
      read_time(event, CL_PROFILING_COMMAND_END, end) && end >= start) {
    layer.writer.work(static_cast<std::int64_t>(end - start),
                      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(enqueued)));
  }
  ask_driver<&cl_icd_dispatch::clReleaseEvent>(event);
}

/// Records the command when it is complete, and releases the event.
void watch(cl_event event, std::int64_t enqueued_ns) {
  void* const enqueued = reinterpret_cast<void*>(static_cast<std::intptr_t>(enqueued_ns));
  if (ask_driver<&cl_icd_dispatch::clSetEventCallback>(event, CL_COMPLETE, note_work, enqueued) !=
      CL_SUCCESS) {
    ask_driver<&cl_icd_dispatch::clReleaseEvent>(event);
  }
}

template <auto Slot, typename Function>
struct Timing;

/// Hook for calls whose last argument returns the command's event.
template <auto Slot, typename... Arguments>
struct Timing<Slot, cl_int(CL_API_CALL*)(Arguments...)> {
  static cl_int CL_API_CALL call(Arguments... arguments) {
    std::tuple<Arguments...> all(arguments...);
    cl_event*& asked = std::get<sizeof...(Arguments) - 1>(all);
    const bool theirs = asked != nullptr;
    cl_event own = nullptr;
    if (!theirs) asked = &own;
    const std::int64_t enqueued_ns = now_ns();
    const cl_int result = std::apply(forward, all);
    if (result != CL_SUCCESS || *asked == nullptr) return result;
    if (!theirs || ask_driver<&cl_icd_dispatch::clRetainEvent>(*asked) == CL_SUCCESS)
      watch(*asked, enqueued_ns);
    return result;
  }
  static inline cl_int(CL_API_CALL* forward)(Arguments...) = nullptr;
};

decltype(cl_icd_dispatch::clCreateCommandQueue) create_queue = nullptr;
decltype(cl_icd_dispatch::clCreateCommandQueueWithProperties) create_queue_with_properties = nullptr;

/// Creates a queue with profiling, or the requested queue if the driver cannot.
cl_command_queue CL_API_CALL create_timed_queue(cl_context context, cl_device_id device,
                                                cl_command_queue_properties properties, cl_int* errcode_ret) {
  const cl_command_queue queue =
      create_queue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, errcode_ret);
  return queue != nullptr ? queue : create_queue(context, device, properties, errcode_ret);
}

cl_command_queue CL_API_CALL create_timed_queue_with_properties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* errcode_ret) {
  constexpr std::size_t kMaxProperties = 32;
  std::array<cl_queue_properties, kMaxProperties + 3> timed{};
  std::size_t end = 0;
  bool has_properties = false;
  bool is_on_device = false;
  for (; properties != nullptr && properties[end] != 0 && end + 1 < kMaxProperties; end += 2) {
    timed[end] = properties[end];
    timed[end + 1] = properties[end + 1];
    if (properties[end] != CL_QUEUE_PROPERTIES) continue;
    has_properties = true;
    is_on_device = (properties[end + 1] & CL_QUEUE_ON_DEVICE) != 0;
    timed[end + 1] |= CL_QUEUE_PROFILING_ENABLE;
  }
  if (!has_properties) {
    timed[end] = CL_QUEUE_PROPERTIES;
    timed[end + 1] = CL_QUEUE_PROFILING_ENABLE;
  }
  cl_command_queue queue = nullptr;
  if (!is_on_device) queue = create_queue_with_properties(context, device, timed.data(), errcode_ret);
  return queue != nullptr ? queue : create_queue_with_properties(context, device, properties, errcode_ret);
}

}  // namespace

void hook_work() {
  using Slots = cl_icd_dispatch;
  put_before(&Slots::clCreateCommandQueue, create_timed_queue, create_queue);
  put_before(&Slots::clCreateCommandQueueWithProperties, create_timed_queue_with_properties,
             create_queue_with_properties);
  put_hooks_of_memory_commands<Timing>();
  put_hooks<Timing, &Slots::clEnqueueNativeKernel, &Slots::clEnqueueSVMMemcpy, &Slots::clEnqueueSVMMemFill>();
}

}  // namespace peakmark::opencl_layer
