// For tests: a layer of the OpenCL loader that presents the driver's devices as one small GPU. All processes
// with the same file $SMALL_DEVICE share it. It reports its free memory like AMD's drivers. The first context
// of a process takes memory until the process ends, and the last part of the memory cannot be allocated.
#include "small_device_layer.hpp"

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "layer_entry.hpp"

namespace {

using namespace peakmark::small_device;
using peakmark::test_layer::next;

struct Process {
  std::atomic<pid_t> id;
  std::atomic<std::int64_t> bytes;
};
struct Device {
  std::array<Process, 64> processes;
};

std::mutex mutex;
struct Buffer {
  std::int64_t bytes = 0;
  /// Those of the program. The driver's count also has those of its commands, which it may give back after
  /// clFinish.
  int references = 1;
};
std::map<cl_mem, Buffer> live;

/// Returns the shared state of all processes; zero in a new file.
Device& device() {
  static Device* const shared = [] {
    const int file = open(std::getenv("SMALL_DEVICE"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(Device)) != 0) std::abort();
    void* const mapped = mmap(nullptr, sizeof(Device), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) std::abort();
    return static_cast<Device*>(mapped);
  }();
  return *shared;
}

/// Returns the entry of this process. Entries of ended processes are reused.
Process& own() {
  for (Process& one : device().processes) {
    if (one.id == getpid()) return one;
  }
  for (Process& one : device().processes) {
    pid_t ended = one.id;
    if (ended != 0 && (kill(ended, 0) == 0 || errno != ESRCH)) continue;
    if (!one.id.compare_exchange_strong(ended, getpid())) continue;
    one.bytes = 0;
    return one;
  }
  std::abort();
}

std::int64_t free_bytes() {
  std::int64_t used = 0;
  for (const Process& one : device().processes) {
    if (one.id != 0 && kill(one.id, 0) == 0) used += one.bytes;
  }
  return kMemoryBytes - used;
}

cl_int CL_API_CALL get_device_info(cl_device_id id, cl_device_info what, size_t size, void* value,
                                   size_t* size_ret) {
  const auto answer = [&](const void* bytes, size_t length) {
    if (size_ret != nullptr) *size_ret = length;
    if (value != nullptr && size < length) return CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, bytes, length);
    return CL_SUCCESS;
  };
  if (what == CL_DEVICE_GLOBAL_MEM_SIZE || what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) {
    const cl_ulong bytes = what == CL_DEVICE_GLOBAL_MEM_SIZE ? kMemoryBytes : kMaxAllocationBytes;
    return answer(&bytes, sizeof(bytes));
  }
  if (what == CL_DEVICE_GLOBAL_FREE_MEMORY_AMD) {
    const std::array<size_t, 2> kibibytes{static_cast<size_t>(free_bytes() / 1024), 0};
    return answer(kibibytes.data(), sizeof(kibibytes));
  }
  if (what == CL_DEVICE_EXTENSIONS) {
    size_t length = 0;
    next.clGetDeviceInfo(id, what, 0, nullptr, &length);
    std::string text(length, '\0');
    next.clGetDeviceInfo(id, what, length, text.data(), nullptr);
    text = "cl_amd_device_attribute_query " + std::string(text.c_str());
    return answer(text.c_str(), text.size() + 1);
  }
  return next.clGetDeviceInfo(id, what, size, value, size_ret);
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                      void* user_data, cl_int* result) {
  static const bool is_charged = [] {
    own().bytes += kContextBytes;
    return true;
  }();
  static_cast<void>(is_charged);
  return next.clCreateContext(properties, count, devices, notify, user_data, result);
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                 cl_int* result) {
  const std::lock_guard lock(mutex);
  const auto bytes = static_cast<std::int64_t>(size);
  if (bytes > kMaxAllocationBytes || bytes > free_bytes() - kFragmentationBytes) {
    if (result != nullptr) *result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  }
  cl_mem const memory = next.clCreateBuffer(context, flags, size, host, result);
  if (memory == nullptr) return nullptr;
  own().bytes += bytes;
  live[memory] = {.bytes = bytes};
  return memory;
}

cl_int CL_API_CALL retain_memory(cl_mem memory) {
  const std::lock_guard lock(mutex);
  const auto found = live.find(memory);
  if (found != live.end()) ++found->second.references;
  return next.clRetainMemObject(memory);
}

cl_int CL_API_CALL release_memory(cl_mem memory) {
  const std::lock_guard lock(mutex);
  const auto found = live.find(memory);
  if (found != live.end() && --found->second.references == 0) {
    own().bytes -= found->second.bytes;
    live.erase(found);
  }
  return next.clReleaseMemObject(memory);
}

}  // namespace

void peakmark::test_layer::set_hooks(cl_icd_dispatch& hooks) {
  hooks.clGetDeviceInfo = get_device_info;
  hooks.clCreateContext = create_context;
  hooks.clCreateBuffer = create_buffer;
  hooks.clRetainMemObject = retain_memory;
  hooks.clReleaseMemObject = release_memory;
}
