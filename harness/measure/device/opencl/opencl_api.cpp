#include "measure/device/opencl/opencl_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"

namespace peakmark {
namespace {

struct Loaded {
  OpenClApi api;
  std::string absence;
};

Loaded load() {
  Loaded loaded;
  // RTLD_GLOBAL and RTLD_DEFAULT are used instead of the library's handle, so that a preloaded tool
  // (oclgrind, an interceptor) is called as in a program that links OpenCL.
  if (dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* why = dlerror();
    loaded.absence = fmt::format("no OpenCL loader found ({})", why != nullptr ? why : "dlopen failed");
    return loaded;
  }
#define PEAKMARK_OPENCL_LOOK_UP(name)                                                \
  loaded.api.name = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_DEFAULT, #name)); \
  if (loaded.api.name == nullptr) {                                                  \
    loaded.absence = "OpenCL loader older than OpenCL 1.2: it lacks " #name;         \
    return loaded;                                                                   \
  }
  PEAKMARK_OPENCL_FUNCTIONS(PEAKMARK_OPENCL_LOOK_UP)
#undef PEAKMARK_OPENCL_LOOK_UP
  return loaded;
}

const Loaded& loaded() {
  // Never destroyed or unloaded, because drivers keep threads, and handles may be released after main().
  static const Loaded* instance = new Loaded(load());
  return *instance;
}

using Entry = std::pair<cl_int, std::string_view>;
constexpr Entry kNames[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-9, "CL_IMAGE_FORMAT_MISMATCH"},
    {-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-16, "CL_LINKER_NOT_AVAILABLE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-18, "CL_DEVICE_PARTITION_FAILED"},
    {-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE"},
    {-30, "CL_INVALID_VALUE"},
    {-31, "CL_INVALID_DEVICE_TYPE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-35, "CL_INVALID_QUEUE_PROPERTIES"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-37, "CL_INVALID_HOST_PTR"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
    {-40, "CL_INVALID_IMAGE_SIZE"},
    {-41, "CL_INVALID_SAMPLER"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-47, "CL_INVALID_KERNEL_DEFINITION"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-60, "CL_INVALID_GL_OBJECT"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-62, "CL_INVALID_MIP_LEVEL"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-64, "CL_INVALID_PROPERTY"},
    {-65, "CL_INVALID_IMAGE_DESCRIPTOR"},
    {-66, "CL_INVALID_COMPILER_OPTIONS"},
    {-67, "CL_INVALID_LINKER_OPTIONS"},
    {-68, "CL_INVALID_DEVICE_PARTITION_COUNT"},
    {-69, "CL_INVALID_PIPE_SIZE"},
    {-70, "CL_INVALID_DEVICE_QUEUE"},
    {-71, "CL_INVALID_SPEC_ID"},
    {-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

const OpenClApi* find_opencl() {
  return loaded().absence.empty() ? &loaded().api : nullptr;
}

const std::string& opencl_absence() {
  return loaded().absence;
}

const OpenClApi& opencl() {
  if (!opencl_absence().empty()) throw DeviceError(opencl_absence());
  return loaded().api;
}

std::string_view opencl_error_name(cl_int code) {
  for (const auto& [known, name] : kNames) {
    if (known == code) return name;
  }
  return "unknown OpenCL error";
}

bool is_out_of_memory(cl_int code, std::string_view call) {
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE) return true;
  // NVIDIA's driver returns the first two from other calls, too, after a kernel has accessed memory out of
  // bounds.
  const bool allocates = call.starts_with("clCreate") || call.starts_with("clSVMAlloc");
  return allocates &&
         (code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE);
}

void check_opencl(cl_int code, std::string_view call, const std::string& detail) {
  if (code == CL_SUCCESS) return;
  const std::string message =
      fmt::format("{}{}{}: {} ({})", call, detail.empty() ? "" : ", ", detail, opencl_error_name(code), code);
  if (is_out_of_memory(code, call)) throw OutOfMemory(message);
  throw MeasurementError(message);
}

}  // namespace peakmark
