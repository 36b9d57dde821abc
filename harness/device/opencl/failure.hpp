#pragma once

#include <string>
#include <string_view>

#include "device/opencl/api.hpp"

namespace peakmark {

/// `CL_OUT_OF_RESOURCES`, … or `unknown OpenCL error`.
std::string_view opencl_error_name(cl_int code);

/// Whether `code` of the function `call` says that the device has no room: −4 always; −5, −6 and −61 (the
/// size of one request) only where `call` allocates (`clCreate…`, `clSVMAlloc`).
bool is_out_of_memory(cl_int code, std::string_view call);

/// Throws where `code` is no success: OutOfMemory where is_out_of_memory() says so, Error otherwise. The
/// message names the function, the error and, where given, what was asked of it.
void check_opencl(cl_int code, std::string_view call, const std::string& asked = {});

}  // namespace peakmark
