#include "measure/device/opencl/program_cache.hpp"

#include <fmt/format.h>

#include <array>

#include "base/error.hpp"
#include "measure/device/backend.hpp"
#include "measure/device/doctor.hpp"
#include "measure/device/opencl/opencl_api.hpp"
#include "measure/device/opencl/opencl_devices.hpp"

namespace peakmark {
namespace {

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t bytes = 0;
  opencl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  opencl().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

ParameterType element_type(DType dtype) {
  switch (dtype) {
    case DType::u32:
      return ParameterType::u32;
    case DType::i32:
      return ParameterType::i32;
    case DType::u64:
      return ParameterType::u64;
    case DType::i64:
      return ParameterType::i64;
    case DType::f32:
      return ParameterType::f32;
    case DType::f64:
      return ParameterType::f64;
    default:
      return ParameterType::unknown;
  }
}

ParameterType parse_type(std::string_view name, DType dtype) {
  static constexpr std::pair<std::string_view, ParameterType> kTypes[] = {
      {"pm_long", ParameterType::i64}, {"long", ParameterType::i64},   {"pm_ulong", ParameterType::u64},
      {"ulong", ParameterType::u64},   {"pm_int", ParameterType::i32}, {"int", ParameterType::i32},
      {"pm_uint", ParameterType::u32}, {"uint", ParameterType::u32},   {"float", ParameterType::f32},
      {"double", ParameterType::f64},
  };
  if (name == "pm_element") return element_type(dtype);
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return ParameterType::unknown;
}

/// Returns `unknown` if the driver keeps no argument information, although the build option requests it.
ParameterType parameter_type(cl_kernel kernel, cl_uint index, DType dtype) {
  cl_kernel_arg_address_qualifier qualifier = 0;
  if (opencl().clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(qualifier),
                                  &qualifier, nullptr) != CL_SUCCESS) {
    return ParameterType::unknown;
  }
  if (qualifier == CL_KERNEL_ARG_ADDRESS_GLOBAL || qualifier == CL_KERNEL_ARG_ADDRESS_CONSTANT) {
    return ParameterType::memory;
  }
  std::array<char, 64> name{};
  if (opencl().clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, name.size(), name.data(),
                                  nullptr) != CL_SUCCESS) {
    return ParameterType::unknown;
  }
  return parse_type(name.data(), dtype);
}

}  // namespace

ProgramHandle ProgramCache::build(const KernelSource& source, DType dtype) {
  if (dtype == DType::c64 || dtype == DType::c128) {
    throw UsageError(fmt::format(
        "unsupported element type of kernels: {}; use a real type of twice the length", to_string(dtype)));
  }
  if (dtype == DType::f64 && !info_.has_f64) {
    throw UnsupportedError(fmt::format("{} has no 64-bit floating point", info_.name));
  }
  // With #line, the compiler's log has the name and lines of the source.
  const std::string text =
      fmt::format("{}\n#line 1 \"{}\"\n{}", kernel_language_text(), source.name, source.text);
  const char* pointer = text.data();
  const std::size_t length = text.size();
  cl_int code = CL_SUCCESS;
  ProgramHandle program(opencl().clCreateProgramWithSource(context_, 1, &pointer, &length, &code));
  check_opencl(code, "clCreateProgramWithSource", std::string(source.name));
  const std::string options =
      fmt::format("-cl-std=CL1.2 -cl-kernel-arg-info -DPM_DTYPE_{}", to_string(dtype));
  code = opencl().clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE) {
    const std::string pocl_error = is_pocl(info_) ? pocl_cache_error() : "";
    throw MeasurementError(fmt::format("{} for {} does not compile on {}:\n{}{}{}", source.name,
                                       to_string(dtype), info_.name, build_log(program.get(), device_),
                                       pocl_error.empty() ? "" : "\n", pocl_error));
  }
  check_opencl(code, "clBuildProgram", fmt::format("{} for {}", source.name, to_string(dtype)));
  return program;
}

ProgramCache::Program& ProgramCache::program(const KernelSource& source, DType dtype) {
  std::pair<std::string, DType> key(source.text, dtype);
  auto found = programs_.find(key);
  if (found == programs_.end()) {
    found = programs_.emplace(std::move(key), Program{build(source, dtype), {}}).first;
  }
  return found->second;
}

OpenClKernel& ProgramCache::kernel(const KernelSource& source, std::string_view name, DType dtype) {
  Program& owner = program(source, dtype);
  if (const auto found = owner.kernels.find(name); found != owner.kernels.end()) return found->second;

  OpenClKernel created;
  created.name = name;
  cl_int code = CL_SUCCESS;
  created.kernel.reset(opencl().clCreateKernel(owner.program.get(), created.name.c_str(), &code));
  check_opencl(code, "clCreateKernel", fmt::format("{} of {} for {}", name, source.name, to_string(dtype)));
  cl_uint count = 0;
  check_opencl(
      opencl().clGetKernelInfo(created.kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr),
      "clGetKernelInfo", created.name);
  for (cl_uint i = 0; i < count; ++i) {
    created.parameters.push_back(parameter_type(created.kernel.get(), i, dtype));
  }
  check_opencl(
      opencl().clGetKernelWorkGroupInfo(created.kernel.get(), device_, CL_KERNEL_WORK_GROUP_SIZE,
                                        sizeof(created.max_work_group), &created.max_work_group, nullptr),
      "clGetKernelWorkGroupInfo", created.name);
  return owner.kernels.emplace(created.name, std::move(created)).first->second;
}

}  // namespace peakmark
