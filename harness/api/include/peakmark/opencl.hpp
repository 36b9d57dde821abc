/// Functions for workers with kernels in plain OpenCL. Needs OpenCL's headers and its loader, which
/// worker.hpp does not.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <string>
#include <type_traits>
#include <utility>

#include "peakmark/opencl_error.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
inline namespace api_1 {
namespace opencl {

/// Throws if `code` is not CL_SUCCESS, with its name. `call`: the name of the function that was called.
/// Throws OutOfMemory if is_opencl_out_of_memory(), std::runtime_error otherwise: the outcome is `crashed`.
inline void check(cl_int code, const std::string& call) {
  if (code == CL_SUCCESS) return;
  const std::string message = call + ": " + opencl_error_text(code);
  if (is_opencl_out_of_memory(code, call)) throw OutOfMemory(message);
  throw std::runtime_error(message);
}

/// A cl_kernel, released by the destructor. Converts to cl_kernel.
class Kernel {
 public:
  /// Holds no kernel: move one that `compile` returns into it.
  Kernel() = default;
  /// Takes ownership of the reference.
  explicit Kernel(cl_kernel kernel) : kernel_(kernel) {}
  Kernel(Kernel&& other) noexcept : kernel_(std::exchange(other.kernel_, nullptr)) {}
  Kernel& operator=(Kernel&& other) noexcept {
    std::swap(kernel_, other.kernel_);
    return *this;
  }
  ~Kernel() {
    if (kernel_ != nullptr) clReleaseKernel(kernel_);
  }
  /// Returns the kernel, which this object still owns.
  operator cl_kernel() const { return kernel_; }  // NOLINT(google-explicit-constructor)

 private:
  cl_kernel kernel_ = nullptr;
};

/// Compiles the kernel `name` of `source` for the device, with `options` of the compiler. Throws as `check`
/// does; the message has the compiler's output.
inline Kernel compile(const Device& device, const std::string& source, const char* name,
                      const std::string& options = "") {
  const char* text = source.c_str();
  cl_int code = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(device.opencl_context(), 1, &text, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  struct Release {
    cl_program program;
    ~Release() { clReleaseProgram(program); }
  } release{program};
  cl_device_id id = device.opencl_device();
  code = clBuildProgram(program, 1, &id, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    std::size_t length = 0;
    clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length);
    std::string log(length, '\0');
    clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, length, log.data(), nullptr);
    check(code, std::string("the kernel ") + name + " does not compile: " + log.c_str());
  }
  cl_kernel kernel = clCreateKernel(program, name, &code);
  check(code, std::string("clCreateKernel, ") + name);
  return Kernel(kernel);
}

namespace detail {
template <typename T>
void set_argument(cl_kernel kernel, cl_uint index, const T& argument) {
  // Made only for an error, because launches are timed.
  const auto call = [index] { return "clSetKernelArg, argument " + std::to_string(index); };
  if constexpr (std::is_base_of_v<DeviceArray, T>) {
    if (!argument) throw std::invalid_argument(call() + ": the array has not been created");
    set_argument(kernel, index, argument.opencl());
  } else {
    static_assert(
        std::is_trivially_copyable_v<T>,
        "an argument of a kernel is an array, a cl_mem, or a value of exactly the parameter's type");
    const cl_int code = clSetKernelArg(kernel, index, sizeof(argument), &argument);
    if (code != CL_SUCCESS) check(code, call());
  }
}
}  // namespace detail

/// Enqueues a kernel on the device's queue. `global`: work-items along each dimension, fastest first.
/// `arguments`: arrays (DeviceArray too), cl_mem, and numbers of exactly the parameters' types. Throws as
/// `check` does.
template <typename... Arguments>
void launch(const Device& device, cl_kernel kernel, const std::vector<std::size_t>& global,
            const Arguments&... arguments) {
  cl_uint index = 0;
  (detail::set_argument(kernel, index++, arguments), ...);
  check(clEnqueueNDRangeKernel(device.opencl_queue(), kernel, static_cast<cl_uint>(global.size()), nullptr,
                               global.data(), nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace opencl
}  // namespace api_1
}  // namespace peakmark
