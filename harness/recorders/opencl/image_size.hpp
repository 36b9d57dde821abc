#pragma once

#include <CL/cl.h>

#include <cstdint>

namespace peakmark::opencl_layer {

/// The bytes that an image asks for, without padding: what is told of an image that was refused. 0 for a
/// format that it does not know, INT64_MAX where the product does not fit.
std::int64_t image_bytes(const cl_image_format* format, const cl_image_desc& shape);

}  // namespace peakmark::opencl_layer
