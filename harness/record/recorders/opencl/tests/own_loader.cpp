// An OpenCL loader without layers, linked into a library that has other tasks. It loads the drivers that
// OCL_ICD_FILENAMES names. The library exports the loader's functions, or hides them.
#include <CL/cl_icd.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace {

const cl_icd_dispatch& table_of(const void* handle) {
  return **static_cast<const cl_icd_dispatch* const*>(handle);
}

cl_platform_id only_platform = nullptr;

void load_drivers() {
  static bool is_loaded = false;
  if (is_loaded) return;
  is_loaded = true;
  const char* const value = std::getenv("OCL_ICD_FILENAMES");  // not files in /etc/OpenCL/vendors
  std::string rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::string path = rest.substr(0, rest.find(':'));
    rest.erase(0, path.size() + 1);
    void* const driver = dlopen(path.c_str(), RTLD_NOW);
    if (driver == nullptr) continue;
    const auto find =
        reinterpret_cast<void*(CL_API_CALL*)(const char*)>(dlsym(driver, "clGetExtensionFunctionAddress"));
    const auto platforms = reinterpret_cast<cl_int(CL_API_CALL*)(cl_uint, cl_platform_id*, cl_uint*)>(
        find("clIcdGetPlatformIDsKHR"));
    cl_uint count = 0;
    if (platforms(0, nullptr, &count) != CL_SUCCESS || count == 0) {
      dlclose(driver);
    } else if (only_platform == nullptr) {
      platforms(1, &only_platform, nullptr);
    }
  }
}

}  // namespace

extern "C" {

cl_int CL_API_CALL clGetPlatformIDs(cl_uint, cl_platform_id* platforms, cl_uint* count) {
  load_drivers();
  if (platforms != nullptr) *platforms = only_platform;
  if (count != nullptr) *count = only_platform == nullptr ? 0 : 1;
  return only_platform == nullptr ? CL_INVALID_VALUE : CL_SUCCESS;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  return table_of(platform).clGetDeviceIDs(platform, type, entries, devices, count);
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint count,
                                       const cl_device_id* devices,
                                       void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                       void* user_data, cl_int* error) {
  return table_of(*devices).clCreateContext(properties, count, devices, notify, user_data, error);
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host,
                                  cl_int* error) {
  return table_of(context).clCreateBuffer(context, flags, bytes, host, error);
}

cl_int CL_API_CALL clReleaseMemObject(cl_mem memory) {
  return table_of(memory).clReleaseMemObject(memory);
}
}
