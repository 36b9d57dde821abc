// Drivers of OpenCL 1.0 have no destructor callbacks, so the release of the program's last reference counts
// as the release of a memory object. The driver's own count may include references of commands.
#include <atomic>
#include <cstdint>
#include <map>

#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

pthread_mutex_t guarding_references = PTHREAD_MUTEX_INITIALIZER;
/// The program's references beyond the first. Never destroyed, because memory may be released until the
/// process has ended.
std::map<cl_mem, std::int64_t>& further_references() {
  static auto& all = *new std::map<cl_mem, std::int64_t>;
  return all;
}

void add_reference(cl_mem memory) {
  static std::atomic<bool> is_held{false};
  if (!is_held.exchange(true)) hold_over_forks<guarding_references>();
  try {
    const MutexLock lock(guarding_references);
    ++further_references()[memory];
  } catch (...) {  // too little host memory: its release is recorded too early
  }
}

/// Returns true if this was the last reference.
bool drop_reference(cl_mem memory) {
  const MutexLock lock(guarding_references);
  const auto found = further_references().find(memory);
  if (found == further_references().end()) return true;
  if (--found->second == 0) further_references().erase(found);
  return false;
}

cl_int CL_API_CALL retain_memory(cl_mem memory) {
  const cl_int result = layer.next().clRetainMemObject(memory);
  if (result == CL_SUCCESS && memory != nullptr && is_released_by_references(memory)) add_reference(memory);
  return result;
}

cl_int CL_API_CALL release_memory(cl_mem memory) {
  if (memory == nullptr || !is_released_by_references(memory) || !drop_reference(memory))
    return layer.next().clReleaseMemObject(memory);
  layer.writer.release(to_address(memory));
  const Charge charge = withdraw_charge(memory);
  const cl_int result = layer.next().clReleaseMemObject(memory);
  give_budget_back(charge);
  return result;
}

}  // namespace

bool is_released_by_references(cl_mem memory) {
  return driver_lacks<&cl_icd_dispatch::clSetMemObjectDestructorCallback>(memory);
}

void hook_references() {
  hook(&cl_icd_dispatch::clRetainMemObject, retain_memory);
  hook(&cl_icd_dispatch::clReleaseMemObject, release_memory);
}

}  // namespace peakmark::opencl_layer
