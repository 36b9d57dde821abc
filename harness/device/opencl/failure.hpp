#pragma once

#include <string>
#include <string_view>

#include "device/opencl/api.hpp"

namespace peakmark {

/// `CL_OUT_OF_RESOURCES`, … or `unknown OpenCL error`.
std::string_view opencl_error_name(cl_int code);

/// Throws where `code` is no success: OutOfMemory for −4, −5, −6 and −61 (the size of one request), Error
/// otherwise. The message names the call, the error and, where given, what was asked of it.
void check_opencl(cl_int code, std::string_view call, const std::string& asked = {});

}  // namespace peakmark
