// PEAKMARK_SYNC=1: the queue is finished after each enqueue. Commands that run asynchronously keep their
// memory alive, so that the peak of one program differs from run to run; finished one by one they give one
// peak.
#include <atomic>
#include <type_traits>

#include "recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

/// User events that the program has made and not yet set.
std::atomic<int> unset_events{0};

void finish(cl_command_queue queue) {
  if (!has_unset_events()) {
    layer.next().clFinish(queue);
    return;
  }
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    layer.writer.note("a queue was not finished after an enqueue, since a user event was not set yet");
  }
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
    // What our own hook forwards to, where there is one.
    const Result result = forward(queue, arguments...);
    if (succeeded(result)) finish(queue);
    return result;
  }
  static inline Result(CL_API_CALL* forward)(cl_command_queue, Arguments...) = nullptr;
};

template <auto Slot>
void finish_after() {
  using Function = std::remove_cvref_t<decltype(layer.next().*Slot)>;
  using Finish = Finishing<Slot, Function>;
  put_before<Function>(Slot, Finish::call, Finish::forward);
}

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
  finish_after<&Slots::clEnqueueReadBuffer>();
  finish_after<&Slots::clEnqueueWriteBuffer>();
  finish_after<&Slots::clEnqueueCopyBuffer>();
  finish_after<&Slots::clEnqueueReadBufferRect>();
  finish_after<&Slots::clEnqueueWriteBufferRect>();
  finish_after<&Slots::clEnqueueCopyBufferRect>();
  finish_after<&Slots::clEnqueueFillBuffer>();
  finish_after<&Slots::clEnqueueReadImage>();
  finish_after<&Slots::clEnqueueWriteImage>();
  finish_after<&Slots::clEnqueueCopyImage>();
  finish_after<&Slots::clEnqueueFillImage>();
  finish_after<&Slots::clEnqueueCopyImageToBuffer>();
  finish_after<&Slots::clEnqueueCopyBufferToImage>();
  finish_after<&Slots::clEnqueueMapBuffer>();
  finish_after<&Slots::clEnqueueMapImage>();
  finish_after<&Slots::clEnqueueUnmapMemObject>();
  finish_after<&Slots::clEnqueueMigrateMemObjects>();
  finish_after<&Slots::clEnqueueNDRangeKernel>();
  finish_after<&Slots::clEnqueueTask>();
  finish_after<&Slots::clEnqueueNativeKernel>();
  finish_after<&Slots::clEnqueueMarker>();
  finish_after<&Slots::clEnqueueWaitForEvents>();
  finish_after<&Slots::clEnqueueBarrier>();
  finish_after<&Slots::clEnqueueMarkerWithWaitList>();
  finish_after<&Slots::clEnqueueBarrierWithWaitList>();
  finish_after<&Slots::clEnqueueSVMFree>();
  finish_after<&Slots::clEnqueueSVMMemcpy>();
  finish_after<&Slots::clEnqueueSVMMemFill>();
  finish_after<&Slots::clEnqueueSVMMap>();
  finish_after<&Slots::clEnqueueSVMUnmap>();
  finish_after<&Slots::clEnqueueSVMMigrateMem>();
  finish_after<&Slots::clEnqueueAcquireGLObjects>();
  finish_after<&Slots::clEnqueueReleaseGLObjects>();
  finish_after<&Slots::clEnqueueAcquireEGLObjectsKHR>();
  finish_after<&Slots::clEnqueueReleaseEGLObjectsKHR>();
}

}  // namespace peakmark::opencl_layer
