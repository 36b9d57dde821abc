#pragma once

// An OpenCL driver without a device, for features that PoCL lacks (pipes, OpenGL objects, Intel's shared
// memory) and for calls that PoCL never refuses.
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace peakmark::opencl_layer {

/// The result of the next call.
struct FakeAnswers {
  cl_int result = CL_SUCCESS;  ///< of creations and allocations; an error refuses them
  std::size_t size = 0;        ///< CL_MEM_SIZE of new objects
  bool has_parent = false;     ///< CL_MEM_ASSOCIATED_MEMOBJECT is not null
  bool callbacks = true;       ///< destructor callbacks are supported
  bool any_name = false;       ///< every name returns a function
  std::vector<std::string> calls;
};
inline FakeAnswers fake;

/// Notes a call. May be called by any thread; a test reads `fake.calls` after the threads have ended.
inline void called(const char* call) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  fake.calls.emplace_back(call);
}

/// The driver's count of bytes in memory objects and SVM. With a capacity, an allocation waits until enough
/// bytes are free, as on a full device.
class FakeAccount {
 public:
  void set_capacity(std::int64_t bytes) { capacity_ = bytes; }
  void add(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return bytes <= 0 || live_ + bytes <= capacity_; });
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    if (bytes < 0) freed_.notify_all();
  }
  [[nodiscard]] std::int64_t live() const { return live_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::int64_t capacity_ = INT64_MAX;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
};
inline FakeAccount fake_account;

/// The driver's own table, with which each of its handles begins. A test can remove functions.
inline cl_icd_dispatch fake_driver_table;

struct FakeObject {
  const cl_icd_dispatch* driver = &fake_driver_table;
  std::size_t size = 0;
  bool has_parent = false;
  void(CL_CALLBACK* destroyed)(cl_mem, void*) = nullptr;
  void* user_data = nullptr;
};

inline FakeObject& object_of(cl_mem memory) {
  return *reinterpret_cast<FakeObject*>(memory);
}

/// Destroys an object as a driver does.
inline void destroy(cl_mem memory) {
  FakeObject* const object = &object_of(memory);
  if (object->destroyed != nullptr) object->destroyed(memory, object->user_data);
  fake_account.add(-static_cast<std::int64_t>(object->size));
  delete object;
}

/// Creates an object of fake.size bytes, or of the requested size if that is 0.
inline cl_mem made(const char* call, cl_int* errcode_ret, std::size_t asked = 0) {
  called(call);
  if (errcode_ret != nullptr) *errcode_ret = fake.result;
  if (fake.result != CL_SUCCESS) return nullptr;
  const std::size_t size = fake.size != 0 ? fake.size : asked;
  fake_account.add(static_cast<std::int64_t>(size));
  return reinterpret_cast<cl_mem>(new FakeObject{.size = size, .has_parent = fake.has_parent});
}

struct FakeQueue {
  const cl_icd_dispatch* driver = &fake_driver_table;
  int references = 1;
};

/// Creates a queue. It is never deleted, so that a use after the last release changes a count and does not
/// crash.
inline cl_command_queue made_queue(cl_int* errcode_ret) {
  if (errcode_ret != nullptr) *errcode_ret = fake.result;
  if (fake.result != CL_SUCCESS) return nullptr;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  static std::deque<FakeQueue> queues;
  return reinterpret_cast<cl_command_queue>(&queues.emplace_back());
}

inline char fake_heap[1024];

inline void* CL_API_CALL fake_device_alloc(cl_context, cl_device_id, const cl_mem_properties_intel*, size_t,
                                           cl_uint, cl_int* errcode_ret) {
  called("usm alloc");
  if (errcode_ret != nullptr) *errcode_ret = fake.result;
  return fake.result == CL_SUCCESS ? fake_heap : nullptr;
}

inline void* CL_API_CALL fake_host_alloc(cl_context, const cl_mem_properties_intel*, size_t, cl_uint,
                                         cl_int* errcode_ret) {
  called("usm host alloc");
  if (errcode_ret != nullptr) *errcode_ret = fake.result;
  return fake.result == CL_SUCCESS ? fake_heap + 512 : nullptr;
}

inline cl_int CL_API_CALL fake_usm_free(cl_context, void*) {
  called("usm free");
  return CL_SUCCESS;
}

inline cl_mem CL_API_CALL fake_create_buffer_intel(cl_context, const cl_mem_properties_intel*, cl_mem_flags,
                                                   size_t, void*, cl_int* errcode_ret) {
  return made("buffer intel", errcode_ret);
}

inline void CL_API_CALL fake_unknown() {}

inline void* CL_API_CALL fake_get_function(const char* name) {
  const std::string wanted = name;
  if (wanted == "clDeviceMemAllocINTEL" || wanted == "clSharedMemAllocINTEL") {
    return reinterpret_cast<void*>(fake_device_alloc);
  }
  if (wanted == "clHostMemAllocINTEL") return reinterpret_cast<void*>(fake_host_alloc);
  if (wanted == "clMemFreeINTEL" || wanted == "clMemBlockingFreeINTEL") {
    return reinterpret_cast<void*>(fake_usm_free);
  }
  if (wanted == "clCreateBufferWithPropertiesINTEL") {
    return reinterpret_cast<void*>(fake_create_buffer_intel);
  }
  if (wanted == "clCreateFromGLBuffer" || wanted == "clImportMemoryARM" || wanted == "clSomethingElse") {
    return reinterpret_cast<void*>(fake_unknown);
  }
  return fake.any_name ? reinterpret_cast<void*>(fake_unknown) : nullptr;
}

/// The table that a loader passes to a layer.
inline cl_icd_dispatch fake_table() {
  // Handles have a table without null; functions are called through the table that the layer gets.
  std::array<void*, sizeof(cl_icd_dispatch) / sizeof(void*)> whole;
  whole.fill(reinterpret_cast<void*>(fake_unknown));
  std::memcpy(&fake_driver_table, whole.data(), sizeof(fake_driver_table));
  cl_icd_dispatch table{};
  table.clGetMemObjectInfo = [](cl_mem memory, cl_mem_info what, size_t, void* value, size_t*) -> cl_int {
    const cl_mem parent = object_of(memory).has_parent ? memory : nullptr;
    if (what == CL_MEM_SIZE) std::memcpy(value, &object_of(memory).size, sizeof(std::size_t));
    if (what == CL_MEM_ASSOCIATED_MEMOBJECT) std::memcpy(value, &parent, sizeof(parent));
    return CL_SUCCESS;
  };
  table.clSetMemObjectDestructorCallback = [](cl_mem memory, void(CL_CALLBACK * function)(cl_mem, void*),
                                              void* user_data) -> cl_int {
    if (!fake.callbacks) return CL_INVALID_OPERATION;
    object_of(memory).destroyed = function;
    object_of(memory).user_data = user_data;
    return CL_SUCCESS;
  };
  table.clCreateBuffer = [](cl_context, cl_mem_flags, size_t size, void*, cl_int* e) {
    return made("buffer", e, size);
  };
  table.clCreateImage = [](cl_context, cl_mem_flags, const cl_image_format*, const cl_image_desc*, void*,
                           cl_int* e) { return made("image", e); };
  table.clCreateImage2D = [](cl_context, cl_mem_flags, const cl_image_format*, size_t, size_t, size_t, void*,
                             cl_int* e) { return made("image 2d", e); };
  table.clCreateImage3D = [](cl_context, cl_mem_flags, const cl_image_format*, size_t, size_t, size_t, size_t,
                             size_t, void*, cl_int* e) { return made("image 3d", e); };
  table.clCreateBufferWithProperties = [](cl_context, const cl_mem_properties*, cl_mem_flags, size_t, void*,
                                          cl_int* e) { return made("buffer with properties", e); };
  table.clCreateImageWithProperties = [](cl_context, const cl_mem_properties*, cl_mem_flags,
                                         const cl_image_format*, const cl_image_desc*, void*,
                                         cl_int* e) { return made("image with properties", e); };
  table.clCreateSubBuffer = [](cl_mem, cl_mem_flags, cl_buffer_create_type, const void*, cl_int* e) {
    return made("sub-buffer", e);
  };
  table.clCreatePipe = [](cl_context, cl_mem_flags, cl_uint, cl_uint, const cl_pipe_properties*, cl_int* e) {
    return made("pipe", e);
  };
  table.clCreateFromGLBuffer = [](cl_context, cl_mem_flags, cl_GLuint, cl_int* e) {
    return made("gl buffer", e);
  };
  table.clCreateFromGLRenderbuffer = [](cl_context, cl_mem_flags, cl_GLuint, cl_int* e) {
    return made("gl renderbuffer", e);
  };
  const auto texture = [](cl_context, cl_mem_flags, cl_GLenum, cl_GLint, cl_GLuint, cl_int* e) {
    return made("gl texture", e);
  };
  table.clCreateFromGLTexture = texture;
  table.clCreateFromGLTexture2D = texture;
  table.clCreateFromGLTexture3D = texture;
  table.clCreateFromEGLImageKHR = [](cl_context, CLeglDisplayKHR, CLeglImageKHR, cl_mem_flags,
                                     const cl_egl_image_properties_khr*,
                                     cl_int* e) { return made("egl image", e); };
  table.clSVMAlloc = [](cl_context, cl_svm_mem_flags, size_t, cl_uint) -> void* {
    called("svm alloc");
    return fake.result == CL_SUCCESS ? fake_heap + 256 : nullptr;
  };
  table.clSVMFree = [](cl_context, void*) { called("svm free"); };
  table.clGetExtensionFunctionAddress = fake_get_function;
  table.clGetExtensionFunctionAddressForPlatform = [](cl_platform_id, const char* name) {
    return fake_get_function(name);
  };
  table.clFinish = [](cl_command_queue) -> cl_int {
    called("finish");
    return CL_SUCCESS;
  };
  table.clCreateCommandQueue = [](cl_context, cl_device_id, cl_command_queue_properties, cl_int* e) {
    return made_queue(e);
  };
  table.clCreateCommandQueueWithProperties = [](cl_context, cl_device_id, const cl_queue_properties*,
                                                cl_int* e) { return made_queue(e); };
  table.clRetainCommandQueue = [](cl_command_queue queue) -> cl_int {
    ++std::atomic_ref(reinterpret_cast<FakeQueue*>(queue)->references);
    return CL_SUCCESS;
  };
  table.clReleaseCommandQueue = [](cl_command_queue queue) -> cl_int {
    if (--std::atomic_ref(reinterpret_cast<FakeQueue*>(queue)->references) == 0) called("queue destroyed");
    return CL_SUCCESS;
  };
  table.clEnqueueCopyBuffer = [](cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                                 const cl_event*, cl_event*) -> cl_int {
    called("copy");
    return fake.result;
  };
  table.clCreateUserEvent = [](cl_context, cl_int* e) {
    if (e != nullptr) *e = CL_SUCCESS;
    return reinterpret_cast<cl_event>(fake_heap);
  };
  table.clSetUserEventStatus = [](cl_event, cl_int) -> cl_int { return CL_SUCCESS; };
  return table;
}

/// A device and a context, for tables with devices. Their handles are their addresses.
struct FakeDevice {
  const cl_icd_dispatch* driver = &fake_driver_table;
  cl_ulong memory = 64'000;
  cl_ulong largest = 32'000;
  FakeDevice* parent = nullptr;  ///< of a sub-device
  std::string name = "fake";
};
struct FakeContext {
  FakeContext(std::vector<FakeDevice*> of = {}) : devices(std::move(of)) {}
  const cl_icd_dispatch* driver = &fake_driver_table;
  std::vector<FakeDevice*> devices;
};

inline cl_device_id handle(FakeDevice& device) {
  return reinterpret_cast<cl_device_id>(&device);
}
inline cl_context handle(FakeContext& context) {
  return reinterpret_cast<cl_context>(&context);
}

template <typename Value>
cl_int answer(const Value* values, std::size_t bytes, std::size_t size, void* value, std::size_t* size_ret) {
  if (size_ret != nullptr) *size_ret = bytes;
  if (value == nullptr) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  std::memcpy(value, values, bytes);
  return CL_SUCCESS;
}

inline FakeContext* next_context = nullptr;  ///< result of clCreateContext

/// Returns such a table with functions for devices and contexts.
inline cl_icd_dispatch table_with_devices() {
  cl_icd_dispatch table = fake_table();
  table.clGetContextInfo = [](cl_context context, cl_context_info what, size_t size, void* value,
                              size_t* size_ret) -> cl_int {
    if (context == nullptr || what != CL_CONTEXT_DEVICES) return CL_INVALID_CONTEXT;
    const auto& devices = reinterpret_cast<FakeContext*>(context)->devices;
    return answer(devices.data(), devices.size() * sizeof(cl_device_id), size, value, size_ret);
  };
  table.clGetDeviceInfo = [](cl_device_id device, cl_device_info what, size_t size, void* value,
                             size_t* size_ret) -> cl_int {
    const FakeDevice& one = *reinterpret_cast<FakeDevice*>(device);
    switch (what) {
      case CL_DEVICE_PARENT_DEVICE:
        return answer(&one.parent, sizeof(cl_device_id), size, value, size_ret);
      case CL_DEVICE_NAME:
        return answer(one.name.c_str(), one.name.size() + 1, size, value, size_ret);
      case CL_DEVICE_GLOBAL_MEM_SIZE:
        return answer(&one.memory, sizeof(one.memory), size, value, size_ret);
      case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return answer(&one.largest, sizeof(one.largest), size, value, size_ret);
      case CL_DEVICE_GLOBAL_FREE_MEMORY_AMD: {
        const std::array<std::size_t, 2> free{60, 5};
        return answer(free.data(), std::min(sizeof(free), size), size, value, size_ret);
      }
      default:
        return CL_INVALID_VALUE;
    }
  };
  table.clCreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*,
                             void(CL_CALLBACK*)(const char*, const void*, size_t, void*), void*,
                             cl_int*) -> cl_context { return reinterpret_cast<cl_context>(next_context); };
  table.clReleaseMemObject = [](cl_mem memory) -> cl_int {
    called("release");
    destroy(memory);
    return CL_SUCCESS;
  };
  return table;
}

}  // namespace peakmark::opencl_layer
