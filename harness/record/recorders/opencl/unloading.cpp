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
  put_hook<Calling, &Slots::clReleaseMemObject>();
  put_hook<Calling, &Slots::clReleaseCommandQueue>();
  put_hook<Calling, &Slots::clReleaseContext>();
  put_hook<Calling, &Slots::clReleaseEvent>();
  put_hook<Calling, &Slots::clReleaseKernel>();
  put_hook<Calling, &Slots::clReleaseProgram>();
  put_hook<Calling, &Slots::clSetUserEventStatus>();
  put_hook<Calling, &Slots::clWaitForEvents>();
  put_hook<Calling, &Slots::clFlush>();
  put_hook<Calling, &Slots::clFinish>();
  put_hook<Calling, &Slots::clEnqueueReadBuffer>();
  put_hook<Calling, &Slots::clEnqueueWriteBuffer>();
  put_hook<Calling, &Slots::clEnqueueReadImage>();
  put_hook<Calling, &Slots::clEnqueueWriteImage>();
  put_hook<Calling, &Slots::clEnqueueMapBuffer>();
  put_hook<Calling, &Slots::clEnqueueMapImage>();
  put_hook<Calling, &Slots::clEnqueueUnmapMemObject>();
}

}  // namespace peakmark::opencl_layer
