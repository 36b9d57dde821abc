// Tracks the queues of this process, so that synchronise() can wait for all commands, because the memory of a
// command lives until the command is done.

#include <pthread.h>

#include "record/recorders/marks.h"
#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

constexpr int kMaxQueues = 1024;

/// Counts only the program's references. A queue that the program has released must not be used.
struct KnownQueue {
  cl_command_queue handle = nullptr;
  std::int64_t references = 0;
};

pthread_mutex_t guarding_queues = PTHREAD_MUTEX_INITIALIZER;  // guards the variables below
KnownQueue known_queues[kMaxQueues];
bool too_many_queues = false;

/// The caller must hold `guarding_queues`. A null handle finds a free entry. Returns null if there is none.
KnownQueue* find_queue(cl_command_queue handle) {
  for (KnownQueue& queue : known_queues) {
    if (queue.handle == handle) return &queue;
  }
  return nullptr;
}

cl_command_queue note_made(cl_command_queue handle) {
  if (handle == nullptr) return handle;
  const MutexLock lock(guarding_queues);
  KnownQueue* queue = find_queue(handle);  // the default queue of a device is returned more than once
  if (queue == nullptr) queue = find_queue(nullptr);
  if (queue == nullptr) {
    too_many_queues = true;
  } else {
    queue->handle = handle;
    ++queue->references;
  }
  return handle;
}

decltype(cl_icd_dispatch::clCreateCommandQueue) create_plain = nullptr;
decltype(cl_icd_dispatch::clCreateCommandQueueWithProperties) create_with_properties = nullptr;

cl_command_queue CL_API_CALL create_known_queue(cl_context context, cl_device_id device,
                                                cl_command_queue_properties properties, cl_int* errcode_ret) {
  return note_made(create_plain(context, device, properties, errcode_ret));
}

cl_command_queue CL_API_CALL create_known_queue_with_properties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* errcode_ret) {
  return note_made(create_with_properties(context, device, properties, errcode_ret));
}

cl_int CL_API_CALL retain_known_queue(cl_command_queue handle) {
  const cl_int result = layer.next().clRetainCommandQueue(handle);
  const MutexLock lock(guarding_queues);
  KnownQueue* const queue = handle == nullptr || result != CL_SUCCESS ? nullptr : find_queue(handle);
  if (queue != nullptr) ++queue->references;
  return result;
}

cl_int CL_API_CALL release_known_queue(cl_command_queue handle) {
  {
    // Before the driver is called, because it may give the handle to another thread at once.
    const MutexLock lock(guarding_queues);
    KnownQueue* const queue = handle == nullptr ? nullptr : find_queue(handle);
    if (queue != nullptr && --queue->references == 0) *queue = {};
  }
  return layer.next().clReleaseCommandQueue(handle);
}

/// Returns the queue at this index, retained; null if there is none. The driver is called under the lock, so
/// that no other thread can release the queue in between; a retain never calls back.
cl_command_queue retained_queue(int place) {
  const MutexLock lock(guarding_queues);
  const cl_command_queue handle = known_queues[place].handle;
  return handle != nullptr && ask_driver<&cl_icd_dispatch::clRetainCommandQueue>(handle) == CL_SUCCESS
             ? handle
             : nullptr;
}

void follow_forks_of_queues() {
  static bool follows = false;
  if (follows) return;
  follows = true;
  const auto unlock = [] { pthread_mutex_unlock(&guarding_queues); };
  pthread_atfork([] { pthread_mutex_lock(&guarding_queues); }, unlock,
                 [] {
                   // A forked child has none of the driver's threads: the queues of its parent would never
                   // finish.
                   for (KnownQueue& queue : known_queues) queue = {};
                   pthread_mutex_unlock(&guarding_queues);
                 });
}

}  // namespace

void hook_queues() {
  using Slots = cl_icd_dispatch;
  follow_forks_of_queues();
  put_before(&Slots::clCreateCommandQueue, create_known_queue, create_plain);
  put_before(&Slots::clCreateCommandQueueWithProperties, create_known_queue_with_properties,
             create_with_properties);
  hook(&Slots::clRetainCommandQueue, retain_known_queue);
  hook(&Slots::clReleaseCommandQueue, release_known_queue);
}

const char* synchronise() {
  if (layer.next().clFinish == nullptr) return "the OpenCL recorder has not started";
  if (has_unset_events()) return "a user event is not set yet, and a queue may wait for it";
  // The program may have released a known queue through that loader.
  if (has_unreached()) return "an OpenCL loader of this process is not recorded";
  for (int place = 0; place < kMaxQueues; ++place) {
    const cl_command_queue queue = retained_queue(place);
    if (queue == nullptr) continue;
    const bool is_finished = ask_driver<&cl_icd_dispatch::clFinish>(queue) == CL_SUCCESS;
    ask_driver<&cl_icd_dispatch::clReleaseCommandQueue>(queue);
    if (!is_finished) return "the driver cannot finish a queue";
  }
  const MutexLock lock(guarding_queues);
  return too_many_queues ? "the program has created more queues than the recorder can track" : nullptr;
}

}  // namespace peakmark::opencl_layer
