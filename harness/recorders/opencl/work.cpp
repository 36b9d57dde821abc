// PEAKMARK_WORK=1: how long the device worked on each command. Queues are made with profiling, every command
// gets an event, and its times are read when it is done.
#include <time.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

bool read_time(cl_event event, cl_profiling_info what, cl_ulong& ns) {
  return layer.next().clGetEventProfilingInfo(event, what, sizeof(ns), &ns, nullptr) == CL_SUCCESS;
}

/// `enqueued`: when, in ns.
void CL_CALLBACK note_work(cl_event event, cl_int status, void* enqueued) {
  cl_ulong start = 0;
  cl_ulong end = 0;
  if (status == CL_COMPLETE && read_time(event, CL_PROFILING_COMMAND_START, start) &&
      read_time(event, CL_PROFILING_COMMAND_END, end) && end >= start) {
    layer.writer.work(static_cast<std::int64_t>(end - start),
                      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(enqueued)));
  }
  layer.next().clReleaseEvent(event);
}

/// An event of a command, which is ours to release.
void watch(cl_event event, std::int64_t enqueued_ns) {
  void* const enqueued = reinterpret_cast<void*>(static_cast<std::intptr_t>(enqueued_ns));
  if (layer.next().clSetEventCallback(event, CL_COMPLETE, note_work, enqueued) != CL_SUCCESS) {
    layer.next().clReleaseEvent(event);
  }
}

template <auto Slot, typename Function>
struct Timing;

/// Of the calls whose last argument is where the command's event goes.
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
    if (theirs) layer.next().clRetainEvent(*asked);
    watch(*asked, enqueued_ns);
    return result;
  }
  static inline cl_int(CL_API_CALL* forward)(Arguments...) = nullptr;
};

template <auto Slot>
void time() {
  using Function = std::remove_cvref_t<decltype(layer.next().*Slot)>;
  using Time = Timing<Slot, Function>;
  put_before<Function>(Slot, Time::call, Time::forward);
}

decltype(cl_icd_dispatch::clCreateCommandQueue) create_queue = nullptr;
decltype(cl_icd_dispatch::clCreateCommandQueueWithProperties) create_queue_with_properties = nullptr;

/// A driver that gives no queue with profiling gives the one that was asked for.
cl_command_queue CL_API_CALL create_timed_queue(cl_context context, cl_device_id device,
                                                cl_command_queue_properties properties, cl_int* errcode_ret) {
  const cl_command_queue queue =
      create_queue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, errcode_ret);
  return queue != nullptr ? queue : create_queue(context, device, properties, errcode_ret);
}

cl_command_queue CL_API_CALL create_timed_queue_with_properties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* errcode_ret) {
  constexpr std::size_t kMost = 32;
  std::array<cl_queue_properties, kMost + 3> timed{};
  std::size_t end = 0;
  bool has_properties = false;
  bool is_on_device = false;
  for (; properties != nullptr && properties[end] != 0 && end + 1 < kMost; end += 2) {
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
  time<&Slots::clEnqueueReadBuffer>();
  time<&Slots::clEnqueueWriteBuffer>();
  time<&Slots::clEnqueueCopyBuffer>();
  time<&Slots::clEnqueueReadBufferRect>();
  time<&Slots::clEnqueueWriteBufferRect>();
  time<&Slots::clEnqueueCopyBufferRect>();
  time<&Slots::clEnqueueFillBuffer>();
  time<&Slots::clEnqueueReadImage>();
  time<&Slots::clEnqueueWriteImage>();
  time<&Slots::clEnqueueCopyImage>();
  time<&Slots::clEnqueueFillImage>();
  time<&Slots::clEnqueueCopyImageToBuffer>();
  time<&Slots::clEnqueueCopyBufferToImage>();
  time<&Slots::clEnqueueNDRangeKernel>();
  time<&Slots::clEnqueueTask>();
  time<&Slots::clEnqueueNativeKernel>();
  time<&Slots::clEnqueueSVMMemcpy>();
  time<&Slots::clEnqueueSVMMemFill>();
}

}  // namespace peakmark::opencl_layer
