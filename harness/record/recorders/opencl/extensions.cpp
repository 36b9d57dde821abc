// Wraps functions that a program requests by name, because the driver returns these directly, bypassing every
// layer.
#include <CL/cl_ext.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

/// A wrapper cannot store the driver's function, and each platform has its own function. So there is one copy
/// of each wrapper per platform.
constexpr int kPlatforms = 8;

enum class Name { device_alloc, shared_alloc, host_alloc, free, blocking_free, create_buffer, count };

std::atomic<void*> originals[static_cast<int>(Name::count)][kPlatforms];

template <typename Function, Name name, int platform>
Function original() {
  return reinterpret_cast<Function>(originals[static_cast<int>(name)][platform].load());
}

template <Name name, MemoryKind kind, int platform>
void* CL_API_CALL alloc(cl_context context, cl_device_id device, const cl_mem_properties_intel* properties,
                        size_t size, cl_uint alignment, cl_int* errcode_ret) {
  const Request request{context, static_cast<std::int64_t>(size), kind, device};
  return allocate_pointer(request, errcode_ret, [&](cl_int* result) {
    return original<clDeviceMemAllocINTEL_fn, name, platform>()(context, device, properties, size, alignment,
                                                                result);
  });
}

/// Host allocations have no device argument.
template <int platform>
void* CL_API_CALL host_alloc(cl_context context, const cl_mem_properties_intel* properties, size_t size,
                             cl_uint alignment, cl_int* errcode_ret) {
  const Request request{context, static_cast<std::int64_t>(size), MemoryKind::usm_host};
  return allocate_pointer(request, errcode_ret, [&](cl_int* result) {
    return original<clHostMemAllocINTEL_fn, Name::host_alloc, platform>()(context, properties, size,
                                                                          alignment, result);
  });
}

template <Name name, int platform>
cl_int CL_API_CALL free_memory(cl_context context, void* memory) {
  if (memory != nullptr) layer.writer.release(to_address(memory));
  const Charge charge = withdraw_charge(memory);
  const cl_int result = original<clMemFreeINTEL_fn, name, platform>()(context, memory);
  give_budget_back(charge);
  return result;
}

template <int platform>
cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties_intel* properties,
                                 cl_mem_flags flags, size_t size, void* host_pointer, cl_int* errcode_ret) {
  return create_memory(
      {context, static_cast<std::int64_t>(size), memory_kind(flags, MemoryKind::buffer)}, errcode_ret,
      [&](cl_int* result) {
        return original<clCreateBufferWithPropertiesINTEL_fn, Name::create_buffer, platform>()(
            context, properties, flags, size, host_pointer, result);
      });
}

struct Wrapped {
  const char* name;
  void* wrappers[kPlatforms];
};

template <typename Function>
void* erase(Function* function) {
  return reinterpret_cast<void*>(function);
}

template <int... p>
const Wrapped* wrapped(std::integer_sequence<int, p...> /*platforms*/) {
  // In the order of the enumeration Name.
  static const Wrapped table[] = {
      {"clDeviceMemAllocINTEL", {erase(alloc<Name::device_alloc, MemoryKind::usm_device, p>)...}},
      {"clSharedMemAllocINTEL", {erase(alloc<Name::shared_alloc, MemoryKind::usm_shared, p>)...}},
      {"clHostMemAllocINTEL", {erase(host_alloc<p>)...}},
      {"clMemFreeINTEL", {erase(free_memory<Name::free, p>)...}},
      {"clMemBlockingFreeINTEL", {erase(free_memory<Name::blocking_free, p>)...}},
      {"clCreateBufferWithPropertiesINTEL", {erase(create_buffer<p>)...}},
  };
  static_assert(sizeof(table) / sizeof(*table) == static_cast<std::size_t>(Name::count));
  return table;
}

/// Functions that allocate or import memory and are not wrapped. A note says so.
constexpr const char* kNotCounted[] = {"clSVMAllocARM", "clImportMemoryARM", "clCreateFromD3D11BufferKHR",
                                       "clCreateFromVA_APIMediaSurfaceINTEL",
                                       "clCreateFromDX9MediaSurfaceKHR"};

void note_not_counted(const char* name) {
  char text[160];
  snprintf(text, sizeof(text), "the program uses %s, whose memory is not counted", name);
  layer.writer.note(text);
}

/// Returns the hook of a core function that is requested by name; null if there is none.
void* hooked_in_core(const char* name) {
  const cl_icd_dispatch& hooks = layer.hooks();
  const std::pair<const char*, void*> functions[] = {
      {"clCreateFromGLBuffer", erase(hooks.clCreateFromGLBuffer)},
      {"clCreateFromGLTexture", erase(hooks.clCreateFromGLTexture)},
      {"clCreateFromGLTexture2D", erase(hooks.clCreateFromGLTexture2D)},
      {"clCreateFromGLTexture3D", erase(hooks.clCreateFromGLTexture3D)},
      {"clCreateFromGLRenderbuffer", erase(hooks.clCreateFromGLRenderbuffer)},
      {"clCreateFromEGLImageKHR", erase(hooks.clCreateFromEGLImageKHR)},
      {"clCreateBuffer", erase(hooks.clCreateBuffer)},
      {"clCreateBufferWithProperties", erase(hooks.clCreateBufferWithProperties)},
      {"clCreateSubBuffer", erase(hooks.clCreateSubBuffer)},
      {"clCreateImage", erase(hooks.clCreateImage)},
      {"clCreateImageWithProperties", erase(hooks.clCreateImageWithProperties)},
      {"clCreateImage2D", erase(hooks.clCreateImage2D)},
      {"clCreateImage3D", erase(hooks.clCreateImage3D)},
      {"clCreatePipe", erase(hooks.clCreatePipe)},
      {"clSVMAlloc", erase(hooks.clSVMAlloc)},
      {"clSVMFree", erase(hooks.clSVMFree)},
      {"clEnqueueSVMFree", erase(hooks.clEnqueueSVMFree)},
      {"clGetDeviceInfo", erase(hooks.clGetDeviceInfo)},
  };
  for (const auto& [known, function] : functions) {
    if (std::strcmp(name, known) == 0) return function;
  }
  return nullptr;
}

void* wrap(const char* name, void* function) {
  if (name == nullptr || function == nullptr) return function;
  if (void* const hooked = hooked_in_core(name)) return hooked;
  const Wrapped* const table = wrapped(std::make_integer_sequence<int, kPlatforms>());
  for (int i = 0; i < static_cast<int>(Name::count); ++i) {
    if (std::strcmp(name, table[i].name) != 0) continue;
    for (int platform = 0; platform < kPlatforms; ++platform) {
      void* known = nullptr;
      if (originals[i][platform].compare_exchange_strong(known, function) || known == function) {
        return table[i].wrappers[platform];
      }
      // A second loader may return a wrapper.
      if (function == table[i].wrappers[platform]) return function;
    }
    note_not_counted(name);
    return function;
  }
  for (const char* const not_counted : kNotCounted) {
    if (std::strcmp(name, not_counted) == 0) note_not_counted(name);
  }
  return function;
}

void* CL_API_CALL get_function(const char* name) {
  return wrap(name, layer.next().clGetExtensionFunctionAddress(name));
}

void* CL_API_CALL get_function_for_platform(cl_platform_id platform, const char* name) {
  return wrap(name, layer.next().clGetExtensionFunctionAddressForPlatform(platform, name));
}

}  // namespace

void hook_extensions() {
  hook(&cl_icd_dispatch::clGetExtensionFunctionAddress, get_function);
  hook(&cl_icd_dispatch::clGetExtensionFunctionAddressForPlatform, get_function_for_platform);
}

}  // namespace peakmark::opencl_layer
