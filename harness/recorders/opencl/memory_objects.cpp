#include <atomic>

#include "recorders/opencl/image_size.hpp"
#include "recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

/// The driver calls it when the last reference is gone and no command needs the object any more, just before
/// the memory goes back: not earlier, as counting references would have it.
void CL_CALLBACK on_destroyed(cl_mem memory, void* /*user_data*/) {
  layer.writer.release(address_of(memory));
}

void watch_destruction(cl_mem memory) {
  if (layer.next().clSetMemObjectDestructorCallback != nullptr &&
      layer.next().clSetMemObjectDestructorCallback(memory, on_destroyed, nullptr) == CL_SUCCESS) {
    return;
  }
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) {
    layer.writer.note("the driver takes no destructor callbacks: releases of memory objects are not seen");
  }
}

bool is_view(cl_mem memory) {
  cl_mem parent = nullptr;
  return layer.next().clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem), &parent,
                                         nullptr) == CL_SUCCESS &&
         parent != nullptr;
}

std::int64_t size_of(cl_mem memory, std::int64_t otherwise) {
  std::size_t size = 0;
  return layer.next().clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(size), &size, nullptr) == CL_SUCCESS
             ? static_cast<std::int64_t>(size)
             : otherwise;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host_pointer,
                                 cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateBuffer(context, flags, size, host_pointer, &result);
  return record_memory(memory, result, static_cast<std::int64_t>(size), kind_of(flags, MemoryKind::buffer),
                       errcode_ret);
}

cl_mem CL_API_CALL create_buffer_with_properties(cl_context context, const cl_mem_properties* properties,
                                                 cl_mem_flags flags, size_t size, void* host_pointer,
                                                 cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory =
      layer.next().clCreateBufferWithProperties(context, properties, flags, size, host_pointer, &result);
  return record_memory(memory, result, static_cast<std::int64_t>(size), kind_of(flags, MemoryKind::buffer),
                       errcode_ret);
}

cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* info, cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateSubBuffer(buffer, flags, type, info, &result);
  return record_memory(memory, result, 0, MemoryKind::view, errcode_ret);
}

/// Images may lie over a buffer or another image: then they are views, whatever their flags inherit.
cl_mem record_image(cl_mem memory, cl_int result, cl_mem_flags flags, const cl_image_format* format,
                    const cl_image_desc& shape, cl_int* errcode_ret) {
  const bool view = memory == nullptr ? shape.mem_object != nullptr : is_view(memory);
  return record_memory(memory, result, view ? 0 : image_bytes(format, shape),
                       view ? MemoryKind::view : kind_of(flags, MemoryKind::image), errcode_ret);
}

cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* shape, void* host_pointer, cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateImage(context, flags, format, shape, host_pointer, &result);
  return record_image(memory, result, flags, format, shape == nullptr ? cl_image_desc{} : *shape,
                      errcode_ret);
}

cl_mem CL_API_CALL create_image_with_properties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, const cl_image_format* format,
                                                const cl_image_desc* shape, void* host_pointer,
                                                cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateImageWithProperties(context, properties, flags, format, shape,
                                                                 host_pointer, &result);
  return record_image(memory, result, flags, format, shape == nullptr ? cl_image_desc{} : *shape,
                      errcode_ret);
}

cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t row_pitch, void* host_pointer,
                                   cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory =
      layer.next().clCreateImage2D(context, flags, format, width, height, row_pitch, host_pointer, &result);
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = width;
  shape.image_height = height;
  return record_image(memory, result, flags, format, shape, errcode_ret);
}

cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                                   size_t width, size_t height, size_t depth, size_t row_pitch,
                                   size_t slice_pitch, void* host_pointer, cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateImage3D(context, flags, format, width, height, depth, row_pitch,
                                                     slice_pitch, host_pointer, &result);
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE3D;
  shape.image_width = width;
  shape.image_height = height;
  shape.image_depth = depth;
  return record_image(memory, result, flags, format, shape, errcode_ret);
}

cl_mem CL_API_CALL create_pipe(cl_context context, cl_mem_flags flags, cl_uint packet_bytes, cl_uint packets,
                               const cl_pipe_properties* properties, cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreatePipe(context, flags, packet_bytes, packets, properties, &result);
  return record_memory(memory, result, std::int64_t{packet_bytes} * packets, MemoryKind::pipe, errcode_ret);
}

cl_mem record_shared(cl_mem memory, cl_int result, cl_int* errcode_ret) {
  return record_memory(memory, result, 0, MemoryKind::gl_shared, errcode_ret);
}

cl_mem CL_API_CALL create_from_gl_buffer(cl_context context, cl_mem_flags flags, cl_GLuint object,
                                         cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateFromGLBuffer(context, flags, object, &result);
  return record_shared(memory, result, errcode_ret);
}

cl_mem CL_API_CALL create_from_gl_renderbuffer(cl_context context, cl_mem_flags flags, cl_GLuint object,
                                               cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = layer.next().clCreateFromGLRenderbuffer(context, flags, object, &result);
  return record_shared(memory, result, errcode_ret);
}

/// clCreateFromGLTexture, …2D and …3D have one signature.
template <auto Slot>
cl_mem CL_API_CALL create_from_gl_texture(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                          cl_GLint level, cl_GLuint texture, cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory = (layer.next().*Slot)(context, flags, target, level, texture, &result);
  return record_shared(memory, result, errcode_ret);
}

cl_mem CL_API_CALL create_from_egl_image(cl_context context, CLeglDisplayKHR display, CLeglImageKHR image,
                                         cl_mem_flags flags, const cl_egl_image_properties_khr* properties,
                                         cl_int* errcode_ret) {
  cl_int result = CL_SUCCESS;
  const cl_mem memory =
      layer.next().clCreateFromEGLImageKHR(context, display, image, flags, properties, &result);
  return record_shared(memory, result, errcode_ret);
}

}  // namespace

MemoryKind kind_of(cl_mem_flags flags, MemoryKind plain) {
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) return MemoryKind::host_pointer;
  if ((flags & CL_MEM_ALLOC_HOST_PTR) != 0) return MemoryKind::alloc_host_ptr;
  return plain;
}

cl_mem record_memory(cl_mem memory, cl_int result, std::int64_t asked, MemoryKind kind, cl_int* errcode_ret) {
  if (errcode_ret != nullptr) *errcode_ret = result;
  if (memory == nullptr) {
    layer.writer.failed_allocation(asked, kind, result);
    return memory;
  }
  layer.writer.allocation(address_of(memory), kind == MemoryKind::view ? 0 : size_of(memory, asked), kind);
  watch_destruction(memory);
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

}  // namespace peakmark::opencl_layer
