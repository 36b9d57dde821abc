#include "device/opencl/api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

struct Loaded {
  OpenClApi api;
  std::string absence;
};

Loaded load() {
  Loaded loaded;
  // RTLD_GLOBAL and RTLD_DEFAULT instead of the library's own handle: a tool that is preloaded in front of
  // the loader (oclgrind, an interceptor) is then called as it would be in a program linked to OpenCL.
  if (dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* why = dlerror();
    loaded.absence = fmt::format("no OpenCL loader ({})", why != nullptr ? why : "dlopen failed");
    return loaded;
  }
#define PEAKMARK_OPENCL_LOOK_UP(name)                                                \
  loaded.api.name = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_DEFAULT, #name)); \
  if (loaded.api.name == nullptr) {                                                  \
    loaded.absence = "the OpenCL loader is older than OpenCL 1.2: it lacks " #name;  \
    return loaded;                                                                   \
  }
  PEAKMARK_OPENCL_FUNCTIONS(PEAKMARK_OPENCL_LOOK_UP)
#undef PEAKMARK_OPENCL_LOOK_UP
  return loaded;
}

const Loaded& loaded() {
  // Never destroyed and never unloaded: drivers keep threads, and handles may die after main().
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
  const Loaded& it = loaded();
  if (!it.absence.empty()) throw DeviceError(it.absence);
  return it.api;
}

}  // namespace peakmark
