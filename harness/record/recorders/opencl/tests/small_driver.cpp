// A driver for OpenCL loaders, with everything that a program needs to create a buffer. It is built twice: as
// a driver of OpenCL 1.0, which has no destructor callbacks, and as one that destroys the remaining objects
// when it is unloaded. SMALL_DRIVER_DEVICES_ERROR is the code that clGetDeviceIDs returns.
#include <CL/cl_icd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>

namespace {

using Callback = void(CL_CALLBACK*)(cl_mem, void*);

cl_icd_dispatch table{};  // what it lacks is null

struct Handle {
  const cl_icd_dispatch* driver = &table;
};
struct Memory : Handle {
  std::size_t bytes = 0;
  cl_uint references = 1;
  Callback destroyed = nullptr;
  void* user_data = nullptr;
};
Handle platform;
Handle device;
Handle context;
auto& all = *new std::set<Memory*>;  // never destroyed

Memory* memory_of(cl_mem memory) {
  return reinterpret_cast<Memory*>(memory);
}

void destroy(Memory* memory) {
  if (memory->destroyed != nullptr) memory->destroyed(reinterpret_cast<cl_mem>(memory), memory->user_data);
  all.erase(memory);
  delete memory;
}

template <typename Value>
cl_int answer(const Value& answer, std::size_t size, void* value, std::size_t* size_ret) {
  if (size_ret != nullptr) *size_ret = sizeof(answer);
  if (value == nullptr) return CL_SUCCESS;
  if (size < sizeof(answer)) return CL_INVALID_VALUE;
  std::memcpy(value, &answer, sizeof(answer));
  return CL_SUCCESS;
}

cl_int answer_text(const char* text, std::size_t size, void* value, std::size_t* size_ret) {
  const std::size_t bytes = std::strlen(text) + 1;
  if (size_ret != nullptr) *size_ret = bytes;
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, text, bytes);
  return CL_SUCCESS;
}

cl_int CL_API_CALL platform_info(cl_platform_id, cl_platform_info what, size_t size, void* value,
                                 size_t* size_ret) {
  if (what == CL_PLATFORM_EXTENSIONS) return answer_text("cl_khr_icd", size, value, size_ret);
  if (what == CL_PLATFORM_VERSION) return answer_text("OpenCL 1.0 small", size, value, size_ret);
  if (what == CL_PLATFORM_PROFILE) return answer_text("FULL_PROFILE", size, value, size_ret);
  return answer_text("small", size, value, size_ret);
}

cl_int CL_API_CALL platforms(cl_uint entries, cl_platform_id* found, cl_uint* count) {
  if (found != nullptr && entries > 0) *found = reinterpret_cast<cl_platform_id>(&platform);
  if (count != nullptr) *count = 1;
  return CL_SUCCESS;
}

struct Filled {
  Filled() {
    table.clGetPlatformIDs = platforms;
    table.clGetPlatformInfo = platform_info;
    table.clGetDeviceIDs = [](cl_platform_id, cl_device_type, cl_uint entries, cl_device_id* found,
                              cl_uint* count) -> cl_int {
      if (const char* const error = std::getenv("SMALL_DRIVER_DEVICES_ERROR")) return std::atoi(error);
      if (found != nullptr && entries > 0) *found = reinterpret_cast<cl_device_id>(&device);
      if (count != nullptr) *count = 1;
      return CL_SUCCESS;
    };
    table.clGetDeviceInfo = [](cl_device_id, cl_device_info, size_t, void*, size_t*) -> cl_int {
      return CL_INVALID_DEVICE;
    };
    table.clCreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*,
                               void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                               cl_int* error) {
      if (error != nullptr) *error = CL_SUCCESS;
      return reinterpret_cast<cl_context>(&context);
    };
    table.clReleaseContext = [](cl_context) -> cl_int { return CL_SUCCESS; };
    table.clCreateBuffer = [](cl_context, cl_mem_flags, size_t bytes, void*, cl_int* error) {
      if (error != nullptr) *error = CL_SUCCESS;
      auto* const memory = new Memory;
      memory->bytes = bytes;
      all.insert(memory);
      return reinterpret_cast<cl_mem>(memory);
    };
    table.clRetainMemObject = [](cl_mem memory) -> cl_int {
      ++memory_of(memory)->references;
      return CL_SUCCESS;
    };
    table.clReleaseMemObject = [](cl_mem memory) -> cl_int {
      if (--memory_of(memory)->references == 0) destroy(memory_of(memory));
      return CL_SUCCESS;
    };
    table.clGetMemObjectInfo = [](cl_mem memory, cl_mem_info what, size_t size, void* value,
                                  size_t* size_ret) -> cl_int {
      if (what == CL_MEM_SIZE) return answer(memory_of(memory)->bytes, size, value, size_ret);
      if (what == CL_MEM_REFERENCE_COUNT) return answer(memory_of(memory)->references, size, value, size_ret);
      return CL_INVALID_VALUE;
    };
#ifndef SMALL_DRIVER_OF_OPENCL_1_0
    table.clSetMemObjectDestructorCallback = [](cl_mem memory, Callback function, void* user_data) -> cl_int {
      memory_of(memory)->destroyed = function;
      memory_of(memory)->user_data = user_data;
      return CL_SUCCESS;
    };
#endif
  }
};
const Filled filled;

/// This runs after the destructors of the program's globals.
__attribute__((destructor)) void destroy_what_is_left() {
  while (!all.empty()) destroy(*all.begin());
}

}  // namespace

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id one, cl_platform_info what, size_t size,
                                              void* value, size_t* size_ret) {
  return platform_info(one, what, size, value, size_ret);
}

EXPORTED void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? reinterpret_cast<void*>(platforms) : nullptr;
}
}
