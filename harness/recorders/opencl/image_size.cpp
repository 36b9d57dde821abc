#include "recorders/opencl/image_size.hpp"

#include <CL/cl_ext.h>

#include <initializer_list>

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

/// Bytes of a pixel.
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

}  // namespace peakmark::opencl_layer
