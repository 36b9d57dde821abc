#include "measure/device/opencl/opencl_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"
#include "peakmark/opencl_error.hpp"

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
    loaded.absence = fmt::format("no OpenCL loader found ({}); install one, such as ocl-icd-libopencl1",
                                 why != nullptr ? why : "dlopen failed");
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

void check_opencl(cl_int code, std::string_view call, const std::string& detail) {
  if (code == CL_SUCCESS) return;
  const std::string message =
      fmt::format("{}{}{}: {}", call, detail.empty() ? "" : ", ", detail, opencl_error_text(code));
  if (is_opencl_out_of_memory(code, call)) throw OutOfMemoryError(message);
  throw MeasurementError(message);
}

}  // namespace peakmark
