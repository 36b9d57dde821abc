#include "record/recorders/opencl/layer.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "record/recorders/nvtx.hpp"

namespace peakmark::opencl_layer {

constinit Layer layer;

namespace {

constexpr char kName[] = "peakmark recorder";
constexpr cl_uint kSlots = sizeof(cl_icd_dispatch) / sizeof(void*);

pthread_mutex_t initialising = PTHREAD_MUTEX_INITIALIZER;
bool has_opened_profile = false;
bool is_layer_recording = false;

// Maximum number of loaders that have functions which the earlier ones lack. More than seen in practice.
constexpr std::size_t kMaxTables = 8;
std::array<Tables, kMaxTables> all_tables;
std::size_t used_tables = 0;

/// Copies functions that `next` lacks from the table of a loader. A process can contain several loaders
/// (pyopencl brings one), which all initialise the layer. Their functions are interchangeable, because each
/// finds the driver through the handle. So the first loader's functions stay. Returns false if the table has
/// nothing new.
bool adopt(cl_icd_dispatch& next, const cl_icd_dispatch& target, cl_uint entries) {
  std::array<void*, kSlots> have{};
  std::array<void*, kSlots> offered{};
  std::memcpy(have.data(), &next, sizeof(have));
  std::memcpy(offered.data(), &target, std::min(entries, kSlots) * sizeof(void*));
  bool is_new = false;
  for (cl_uint i = 0; i < kSlots; ++i) {
    if (have[i] != nullptr || offered[i] == nullptr) continue;
    have[i] = offered[i];
    is_new = true;
  }
  std::memcpy(&next, have.data(), sizeof(have));
  return is_new;
}

bool is_one(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

void hook_all() {
  hook_memory_objects();
  hook_svm();
  hook_extensions();
  if (is_one("PEAKMARK_SYNC")) hook_enqueues();
  hook_arrivals();
  hook_devices();
  if (const std::int64_t bytes = layer.writer.budget(); bytes != 0) hook_budget(bytes);
  if (const std::int64_t bytes = layer.writer.max_allocation(); bytes != 0) hook_max_allocation(bytes);
  if (const char* const number = std::getenv("PEAKMARK_REFUSE"); number != nullptr)
    refuse_from(std::strtoll(number, nullptr, 10),
                is_one("PEAKMARK_REFUSE_ONCE") ? AfterRefusal::other_again : AfterRefusal::full_device);
  hook_references();
  hook_user_events();
  hook_queues();
  if (is_one("PEAKMARK_WORK")) hook_work();
  if (is_one("PEAKMARK_REFUSE_AT_USE")) hook_first_use();  // before the other hooks see the command
  hook_destructions();
}

/// The caller must hold `initialising`. Threads of the program may be calling through the published tables,
/// so new functions are published in a copy.
void publish(const cl_icd_dispatch& target, cl_uint entries) {
  if (used_tables == kMaxTables) return;
  Tables& draft = all_tables[used_tables];
  draft = *layer.tables.load(std::memory_order_relaxed);
  if (!adopt(draft.next, target, entries)) return;
  ++used_tables;
  layer.draft = &draft;
  hook_all();
  layer.draft = nullptr;
  layer.tables.store(&draft, std::memory_order_release);
}

cl_int initialise(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                  const cl_icd_dispatch** layer_ret, const void* caller) {
  if (target == nullptr || entries_ret == nullptr || layer_ret == nullptr) return CL_INVALID_VALUE;
  pthread_mutex_lock(&initialising);
  if (!has_opened_profile) {
    has_opened_profile = true;
    is_layer_recording = layer.writer.open_from_environment("opencl-layer 1");
    if (is_layer_recording) request_ranges(&layer);
  }
  note_reached(caller);
  if (is_layer_recording) publish(*target, entries);
  pthread_mutex_unlock(&initialising);
  *layer_ret = &layer.hooks();
  *entries_ret = std::min(entries, kSlots);
  if (is_layer_recording) reach_loaders();
  return CL_SUCCESS;
}

/// Runs at the very end of the process: exit handlers and destructors of globals may still release memory.
__attribute__((destructor)) void close_profile() {
  if (is_layer_recording) report_unreached(Moment::end);
  layer.writer.close();
}

}  // namespace

// Some drivers destroy remaining objects when they are unloaded (Intel's CPU runtime). This is not a release
// by the program: it happens on the thread that ends the process, outside any call of the program. In
// contrast, destructors of the program's globals make calls, and a driver's own threads finish what the
// program has released.

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

namespace peakmark {

ProfileWriter& recorder_profile() {
  return opencl_layer::layer.writer;
}

bool is_recording() {
  return opencl_layer::layer.writer.path() != nullptr;
}

const char* synchronise_devices() {
  return opencl_layer::synchronise();
}

}  // namespace peakmark

using peakmark::opencl_layer::initialise;

#ifdef CL_LAYER_PROPERTIES_LIST_END
using LayerProperties = const cl_layer_properties*;
#else
using LayerProperties = const void*;
#endif

extern "C" {

PEAKMARK_EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value,
                                                  size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  const void* from = nullptr;
  std::size_t bytes = 0;
  if (name == CL_LAYER_API_VERSION) {
    from = &version;
    bytes = sizeof(version);
  } else if (name == CL_LAYER_NAME) {
    from = peakmark::opencl_layer::kName;
    bytes = sizeof(peakmark::opencl_layer::kName);
  } else {
    return CL_INVALID_VALUE;
  }
  if (value != nullptr) {
    if (size < bytes) return CL_INVALID_VALUE;
    std::memcpy(value, from, bytes);
  }
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

PEAKMARK_EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target,
                                               cl_uint* entries_ret, const cl_icd_dispatch** layer_ret) {
  return initialise(entries, target, entries_ret, layer_ret, __builtin_return_address(0));
}

// Newer Khronos loaders refuse a layer without this function.
PEAKMARK_EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint entries, const cl_icd_dispatch* target,
                                                             cl_uint* entries_ret,
                                                             const cl_icd_dispatch** layer_ret,
                                                             LayerProperties /*properties*/) {
  return initialise(entries, target, entries_ret, layer_ret, __builtin_return_address(0));
}

// The loader has ended, but drivers and the program's globals have not. close_profile() runs later.
PEAKMARK_EXPORT cl_int CL_API_CALL clDeinitLayer() {
  return CL_SUCCESS;
}

}  // extern "C"
