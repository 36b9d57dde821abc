#include <CL/cl_ext.h>

#include <array>
#include <atomic>
#include <initializer_list>
#include <optional>

#include "record/recorders/exports.hpp"
#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

std::int64_t channels(cl_channel_order order) {
  switch (order) {
    case CL_R:
    case CL_A:
    case CL_INTENSITY:
    case CL_LUMINANCE:
    case CL_Rx:
    case CL_DEPTH:
      return 1;
    case CL_RG:
    case CL_RA:
    case CL_RGx:
      return 2;
    case CL_RGB:
    case CL_RGBx:
    case CL_sRGB:
      return 3;
    case CL_RGBA:
    case CL_BGRA:
    case CL_ARGB:
    case CL_ABGR:
    case CL_sRGBx:
    case CL_sRGBA:
    case CL_sBGRA:
      return 4;
    default:
      return 0;
  }
}

/// Returns the bytes of a pixel; 0 if the format is unknown.
std::int64_t pixel_bytes(const cl_image_format& format) {
  switch (format.image_channel_data_type) {
    case CL_UNORM_SHORT_565:
    case CL_UNORM_SHORT_555:
      return 2;
    case CL_UNORM_INT_101010:
    case CL_UNORM_INT_101010_2:
      return 4;
    case CL_SNORM_INT8:
    case CL_UNORM_INT8:
    case CL_SIGNED_INT8:
    case CL_UNSIGNED_INT8:
      return channels(format.image_channel_order);
    case CL_SNORM_INT16:
    case CL_UNORM_INT16:
    case CL_SIGNED_INT16:
    case CL_UNSIGNED_INT16:
    case CL_HALF_FLOAT:
      return 2 * channels(format.image_channel_order);
    case CL_SIGNED_INT32:
    case CL_UNSIGNED_INT32:
    case CL_FLOAT:
      return 4 * channels(format.image_channel_order);
    default:
      return 0;
  }
}

}  // namespace

std::int64_t image_bytes(const cl_image_format* format, const cl_image_desc& shape) {
  if (format == nullptr) return 0;
  const bool layers =
      shape.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY || shape.image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
  const bool flat = shape.image_type == CL_MEM_OBJECT_IMAGE1D ||
                    shape.image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER ||
                    shape.image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const bool deep = shape.image_type == CL_MEM_OBJECT_IMAGE3D;
  std::int64_t bytes = pixel_bytes(*format);
  for (const std::size_t extent :
       {shape.image_width, flat ? std::size_t{1} : shape.image_height,
        deep ? shape.image_depth : std::size_t{1}, layers ? shape.image_array_size : std::size_t{1}}) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return INT64_MAX;
  }
  return bytes;
}

namespace {

/// The driver calls this when there are no references and no command needs the object, just before it frees
/// the memory. Counting references would record the release too early.
void CL_CALLBACK on_destroyed(cl_mem memory, void* charge) {
  if (is_driver_unloading()) return;
  layer.writer.release(to_address(memory));
  give_budget_back(Charge(reinterpret_cast<std::uint64_t>(charge)));
}

void watch_destruction(cl_mem memory, Charge charge) {
  static std::atomic<bool> noted_references{false};
  static std::atomic<bool> noted_no_releases{false};
  if (ask_driver<&cl_icd_dispatch::clSetMemObjectDestructorCallback>(
          memory, on_destroyed, reinterpret_cast<void*>(charge.packed())) == CL_SUCCESS) {
    watch_unloading();
  } else if (is_released_by_references(memory)) {
    store_charge(memory, charge);
    note_once(
        noted_references,
        "the driver has no destructor callbacks: memory ends with the program's last reference, although "
        "queued commands may keep it longer");
  } else {
    give_budget_back(charge);  // its release will not be noticed
    note_once(
        noted_no_releases,
        "the driver does not support destructor callbacks: releases of memory objects are not recorded, "
        "and no budget limits them");
  }
}

std::int64_t object_bytes(cl_mem memory, std::int64_t otherwise) {
  std::size_t size = 0;
  return ask_driver<&cl_icd_dispatch::clGetMemObjectInfo>(memory, CL_MEM_SIZE, sizeof(size), &size,
                                                          nullptr) == CL_SUCCESS
             ? static_cast<std::int64_t>(size)
             : otherwise;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host_pointer,
                                 cl_int* errcode_ret) {
  return create_memory(
      {context, without_guards(static_cast<std::int64_t>(size)), memory_kind(flags, MemoryKind::buffer)},
      errcode_ret, [&](cl_int* result) {
        return layer.next().clCreateBuffer(context, flags, size, host_pointer, result);
      });
}

cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t size, void* host_pointer,
                                                 cl_int* errcode_ret) {
  return create_memory({context, static_cast<std::int64_t>(size), memory_kind(flags, MemoryKind::buffer)},
                       errcode_ret, [&](cl_int* result) {
                         return layer.next().clCreateBufferWithProperties(context, properties, flags, size,
                                                                          host_pointer, result);
                       });
}

/// The bytes of both guards of the last array with guards; 0: there was none.
std::atomic<std::int64_t> bytes_of_guards{0};

template <typename Value>
Value object_value(cl_mem memory, cl_mem_info name) {
  std::array<Value, 1> value{};
  ask_driver<&cl_icd_dispatch::clGetMemObjectInfo>(memory, name, sizeof(value), value.data(), nullptr);
  return value.front();
}

/// A part of the memory of an array and its guards.
struct GuardedPart {
  cl_mem whole;
  cl_buffer_region region;
};

/// An array with guards is itself a sub-buffer, of which OpenCL allows no sub-buffer. Returns the part of the
/// whole memory that a sub-buffer of the array is; null if the buffer is no such array, or the region is not
/// inside it.
std::optional<GuardedPart> guarded_part(cl_mem buffer, cl_buffer_create_type type, const void* info) {
  const std::int64_t guards = bytes_of_guards;
  if (guards == 0 || buffer == nullptr || info == nullptr || type != CL_BUFFER_CREATE_TYPE_REGION)
    return std::nullopt;
  const auto whole = object_value<cl_mem>(buffer, CL_MEM_ASSOCIATED_MEMOBJECT);
  const auto offset = object_value<std::size_t>(buffer, CL_MEM_OFFSET);
  const auto bytes = object_value<std::size_t>(buffer, CL_MEM_SIZE);
  const auto both = static_cast<std::size_t>(guards);
  if (whole == nullptr || 2 * offset != both || object_value<std::size_t>(whole, CL_MEM_SIZE) != bytes + both)
    return std::nullopt;
  const auto& region = *static_cast<const cl_buffer_region*>(info);
  if (region.origin > bytes || region.size > bytes - region.origin) return std::nullopt;
  return GuardedPart{whole, {region.origin + offset, region.size}};
}

cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* info, cl_int* errcode_ret) {
  if (guard_bytes != 0) {
    bytes_of_guards = guard_bytes;
    return layer.next().clCreateSubBuffer(buffer, flags, type, info, errcode_ret);
  }
  const std::optional<GuardedPart> part = guarded_part(buffer, type, info);
  return create_memory({nullptr, 0, MemoryKind::view}, errcode_ret, [&](cl_int* result) {
    return part ? layer.next().clCreateSubBuffer(part->whole, flags, type, &part->region, result)
                : layer.next().clCreateSubBuffer(buffer, flags, type, info, result);
  });
}

/// Images over a buffer or another image are views, whatever their flags. `buffer` is the older name of
/// `mem_object`, which in standard C++ the headers of 2025 do not have.
Request image_request(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                      const cl_image_desc* shape) {
  if (shape != nullptr && shape->buffer != nullptr) return {context, 0, MemoryKind::view};
  return {context, shape == nullptr ? 0 : image_bytes(format, *shape), memory_kind(flags, MemoryKind::image)};
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* shape, void* host_pointer, cl_int* errcode_ret) {
  return create_memory(image_request(context, flags, format, shape), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateImage(context, flags, format, shape, host_pointer, result);
  });
}

cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, const cl_image_format* format,
                                                const cl_image_desc* shape, void* host_pointer,
                                                cl_int* errcode_ret) {
  return create_memory(image_request(context, flags, format, shape), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateImageWithProperties(context, properties, flags, format, shape, host_pointer,
                                                    result);
  });
}

cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t row_pitch, void* host_pointer,
                                   cl_int* errcode_ret) {
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = width;
  shape.image_height = height;
  return create_memory(image_request(context, flags, format, &shape), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateImage2D(context, flags, format, width, height, row_pitch, host_pointer,
                                        result);
  });
}

cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t depth, size_t row_pitch,
                                   size_t slice_pitch, void* host_pointer, cl_int* errcode_ret) {
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE3D;
  shape.image_width = width;
  shape.image_height = height;
  shape.image_depth = depth;
  return create_memory(image_request(context, flags, format, &shape), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateImage3D(context, flags, format, width, height, depth, row_pitch, slice_pitch,
                                        host_pointer, result);
  });
}

cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet_bytes, cl_uint packets,
                               const cl_pipe_properties* properties, cl_int* errcode_ret) {
  return create_memory(
      {context, std::int64_t{packet_bytes} * packets, MemoryKind::pipe}, errcode_ret, [&](cl_int* result) {
        return layer.next().clCreatePipe(context, flags, packet_bytes, packets, properties, result);
      });
}

/// The size of a shared object is known only after its creation.
Request shared_request(cl_context context) {
  return {context, 0, MemoryKind::gl_shared};
}

cl_mem CL_API_CALL create_from_gl_buffer(cl_context context, cl_mem_flags flags, cl_GLuint object,
                                         cl_int* errcode_ret) {
  return create_memory(shared_request(context), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateFromGLBuffer(context, flags, object, result);
  });
}

cl_mem CL_API_CALL create_from_gl_renderbuffer(cl_context context, cl_mem_flags flags, cl_GLuint object,
                                               cl_int* errcode_ret) {
  return create_memory(shared_request(context), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateFromGLRenderbuffer(context, flags, object, result);
  });
}

/// clCreateFromGLTexture, …2D and …3D have one signature.
template <auto Slot>
cl_mem CL_API_CALL create_from_gl_texture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                          cl_GLint level, cl_GLuint texture, cl_int* errcode_ret) {
  return create_memory(shared_request(context), errcode_ret, [&](cl_int* result) {
    return (layer.next().*Slot)(context, flags, target, level, texture, result);
  });
}

cl_mem CL_API_CALL create_from_egl_image(cl_context context, CLeglDisplayKHR display, CLeglImageKHR image,
                                         cl_mem_flags flags, const cl_egl_image_properties_khr* properties,
                                         cl_int* errcode_ret) {
  return create_memory(shared_request(context), errcode_ret, [&](cl_int* result) {
    return layer.next().clCreateFromEGLImageKHR(context, display, image, flags, properties, result);
  });
}

}  // namespace

MemoryKind memory_kind(cl_mem_flags flags, MemoryKind plain) {
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) return MemoryKind::host_pointer;
  if ((flags & CL_MEM_ALLOC_HOST_PTR) != 0) return MemoryKind::alloc_host_ptr;
  return plain;
}

namespace {

/// Returns a driver's error for an allocation that exceeds the device's limit: only buffers and USM have a
/// specific error for it.
cl_int size_error(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::buffer:
    case MemoryKind::alloc_host_ptr:
    case MemoryKind::usm_device:
    case MemoryKind::usm_shared:
      return CL_INVALID_BUFFER_SIZE;
    default:
      return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
}

}  // namespace

cl_int refuse(const Request& request) {
  const bool is_size = is_too_large(request.bytes, request.kind);
  cl_int error = is_size ? size_error(request.kind) : CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (request.kind == MemoryKind::gl_shared) error = CL_OUT_OF_RESOURCES;
  const RefusedBy limit = is_size ? RefusedBy::max_allocation : RefusedBy::budget;
  layer.writer.failed_allocation(request.bytes, request.kind, error,
                                 {.auxiliary = static_cast<std::int64_t>(limit),
                                  .device = note_devices(request.context, request.device)});
  return error;
}

void record_pointer(void* memory, cl_int result, const Request& request, Charge charge) {
  const std::uint32_t device = note_devices(request.context, request.device);
  if (memory == nullptr) {
    give_budget_back(charge);
    return layer.writer.failed_allocation(request.bytes, request.kind, result, {.device = device});
  }
  store_charge(memory, charge);
  layer.writer.allocation(to_address(memory), request.bytes, request.kind, {.device = device});
}

cl_mem record_memory(cl_mem memory, cl_int result, const Request& request, Charge charge,
                     cl_int* errcode_ret) {
  if (errcode_ret != nullptr) *errcode_ret = result;
  const std::uint32_t device = note_devices(request.context, request.device);
  if (memory == nullptr) {
    give_budget_back(charge);
    layer.writer.failed_allocation(request.bytes, request.kind, result, {.device = device});
    return memory;
  }
  const std::int64_t bytes = request.kind == MemoryKind::view
                                 ? 0
                                 : without_guards(object_bytes(memory, request.bytes + guard_bytes));
  if (is_too_large(bytes, request.kind) || !change_budget(charge, bytes)) {
    give_budget_back(charge);
    ask_driver<&cl_icd_dispatch::clReleaseMemObject>(memory);
    const cl_int error = refuse({request.context, bytes, request.kind});
    if (errcode_ret != nullptr) *errcode_ret = error;
    return nullptr;
  }
  layer.writer.allocation(to_address(memory), bytes, request.kind, {.device = device});
  watch_destruction(memory, charge);
  return memory;
}

void hook_memory_objects() {
  using Slots = cl_icd_dispatch;
  hook(&Slots::clCreateBuffer, create_buffer);
  hook(&Slots::clCreateBufferWithProperties, create_buffer_with_properties);
  hook(&Slots::clCreateSubBuffer, create_sub_buffer);
  hook(&Slots::clCreateImage, create_image);
  hook(&Slots::clCreateImageWithProperties, create_image_with_properties);
  hook(&Slots::clCreateImage2D, create_image_2d);
  hook(&Slots::clCreateImage3D, create_image_3d);
  hook(&Slots::clCreatePipe, create_pipe);
  hook(&Slots::clCreateFromGLBuffer, create_from_gl_buffer);
  hook(&Slots::clCreateFromGLRenderbuffer, create_from_gl_renderbuffer);
  hook(&Slots::clCreateFromGLTexture, create_from_gl_texture<&Slots::clCreateFromGLTexture>);
  hook(&Slots::clCreateFromGLTexture2D, create_from_gl_texture<&Slots::clCreateFromGLTexture2D>);
  hook(&Slots::clCreateFromGLTexture3D, create_from_gl_texture<&Slots::clCreateFromGLTexture3D>);
  hook(&Slots::clCreateFromEGLImageKHR, create_from_egl_image);
}

namespace {

void* CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  const Request request{context, static_cast<std::int64_t>(size), MemoryKind::svm};
  return allocate_pointer(request, nullptr, [&](cl_int* result) {
    void* const memory = layer.next().clSVMAlloc(context, flags, size, alignment);
    // The call returns no error code.
    *result = memory == nullptr ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
    return memory;
  });
}

void CL_API_CALL svm_free(cl_context context, void* memory) {
  if (memory != nullptr) layer.writer.release(to_address(memory));
  const Charge charge = withdraw_charge(memory);
  layer.next().clSVMFree(context, memory);
  give_budget_back(charge);
}

/// Does the driver's work if the program gives no function.
void CL_CALLBACK free_all(cl_command_queue /*queue*/, cl_uint count, void* memory[], void* context) {
  for (cl_uint i = 0; i < count; ++i) svm_free(static_cast<cl_context>(context), memory[i]);
}

using FreeFunction = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void*[], void*);

/// The memory is freed when the command runs, which may be much later. So the release is recorded by the
/// function that frees it. If the program gives a function, that calls clSVMFree, which is hooked.
cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void* memory[],
                                    FreeFunction function, void* user_data, cl_uint waits,
                                    const cl_event* wait_list, cl_event* event) {
  cl_context context = nullptr;
  if (function == nullptr &&
      ask_driver<&cl_icd_dispatch::clGetCommandQueueInfo>(queue, CL_QUEUE_CONTEXT, sizeof(cl_context),
                                                          &context, nullptr) == CL_SUCCESS &&
      !driver_lacks<&cl_icd_dispatch::clSVMFree>(context)) {
    function = free_all;
    user_data = context;
  }
  return layer.next().clEnqueueSVMFree(queue, count, memory, function, user_data, waits, wait_list, event);
}

}  // namespace

void hook_svm() {
  using Slots = cl_icd_dispatch;
  hook(&Slots::clSVMAlloc, svm_alloc);
  hook(&Slots::clSVMFree, svm_free);
  hook(&Slots::clEnqueueSVMFree, enqueue_svm_free);
}

}  // namespace peakmark::opencl_layer
