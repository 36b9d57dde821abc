// Some drivers destroy remaining objects when they are unloaded (Intel's CPU runtime). This is not a release
// by the program: it happens on the thread that ends the process, outside any call of the program. In
// contrast, destructors of the program's globals make calls, and a driver's own threads finish what the
// program has released.
#include <atomic>
#include <cstdlib>
#include <type_traits>

#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

constinit thread_local int calls_of_program = 0;
constinit thread_local bool ends_process = false;

class CallOfProgram {
 public:
  CallOfProgram() { ++calls_of_program; }
  CallOfProgram(const CallOfProgram&) = delete;
  CallOfProgram& operator=(const CallOfProgram&) = delete;
  ~CallOfProgram() { --calls_of_program; }
};

template <auto Slot, typename Function>
struct Calling;

template <auto Slot, typename Result, typename... Arguments>
struct Calling<Slot, Result(CL_API_CALL*)(Arguments...)> {
  static Result CL_API_CALL call(Arguments... arguments) {
    const CallOfProgram now;
    return forward(arguments...);
  }
  static inline Result(CL_API_CALL* forward)(Arguments...) = nullptr;
};

}  // namespace

void watch_unloading() {
  static std::atomic<bool> is_watching{false};
  // Handlers run in reverse order: those of the driver, registered before its first object, run after this
  // one.
  if (!is_watching.exchange(true)) std::atexit([] { ends_process = true; });
}

bool is_driver_unloading() {
  return ends_process && calls_of_program == 0;
}

void hook_destructions() {
  using Slots = cl_icd_dispatch;
  put_hooks<Calling, &Slots::clReleaseMemObject, &Slots::clReleaseCommandQueue, &Slots::clReleaseContext,
            &Slots::clReleaseEvent, &Slots::clReleaseKernel, &Slots::clReleaseProgram,
            &Slots::clSetUserEventStatus, &Slots::clWaitForEvents, &Slots::clFlush, &Slots::clFinish,
            &Slots::clEnqueueReadBuffer, &Slots::clEnqueueWriteBuffer, &Slots::clEnqueueReadImage,
            &Slots::clEnqueueWriteImage, &Slots::clEnqueueMapBuffer, &Slots::clEnqueueMapImage,
            &Slots::clEnqueueUnmapMemObject>();
}

}  // namespace peakmark::opencl_layer
