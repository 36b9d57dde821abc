// For tests: a layer of the OpenCL loader that destroys memory objects as PoCL 7 does: some time after the
// program has given its last reference back, and after all commands have finished.
#include <CL/cl_icd.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "layer_entry.hpp"

namespace {

using peakmark::test_layer::next;

constexpr auto kDelay = std::chrono::milliseconds(5);

std::mutex mutex;
/// Each gives back the layer's own reference to an object. They end before the driver is unloaded.
std::vector<std::jthread> releases;

cl_int CL_API_CALL release_memory(cl_mem memory) {
  if (next.clRetainMemObject(memory) == CL_SUCCESS) {
    const std::lock_guard lock(mutex);
    releases.emplace_back([memory] {
      std::this_thread::sleep_for(kDelay);
      next.clReleaseMemObject(memory);
    });
  }
  return next.clReleaseMemObject(memory);
}

}  // namespace

void peakmark::test_layer::set_hooks(cl_icd_dispatch& hooks) {
  hooks.clReleaseMemObject = release_memory;
}
