// For tests: a layer of the OpenCL loader that destroys memory objects as PoCL 7 does: some time after the
// program has given its last reference back, and after all commands have finished.
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr auto kDelay = std::chrono::milliseconds(5);

cl_icd_dispatch next{};
cl_icd_dispatch hooks{};
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

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value, size_t* size_ret) {
  if (name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (value != nullptr && size >= sizeof(version)) std::memcpy(value, &version, sizeof(version));
  if (size_ret != nullptr) *size_ret = sizeof(version);
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                                      const cl_icd_dispatch** layer_ret) {
  std::memcpy(&next, target, std::min<std::size_t>(entries * sizeof(void*), sizeof(next)));
  hooks.clReleaseMemObject = release_memory;
  *entries_ret = std::min<cl_uint>(entries, sizeof(hooks) / sizeof(void*));
  *layer_ret = &hooks;
  return CL_SUCCESS;
}
