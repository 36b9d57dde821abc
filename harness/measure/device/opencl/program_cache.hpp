#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "measure/device/device.hpp"
#include "measure/device/opencl/opencl_api.hpp"

namespace peakmark {

/// The type of a kernel parameter, as reported by the compiler.
enum class ParameterType : std::uint8_t { memory, i32, i64, u32, u64, f32, f64, unknown };

struct OpenClKernel {
  std::string name;
  KernelHandle kernel;
  std::vector<ParameterType> parameters;
  std::size_t max_work_group = 1;  ///< on this device
};

/// Compiles each source once for each dtype, and keeps the programs and their kernels.
class ProgramCache {
 public:
  ProgramCache(cl_context context, cl_device_id device, const DeviceInfo& info)
      : context_(context), device_(device), info_(info) {}

  /// The reference is valid as long as the cache. Throws UnsupportedError for f64 on a device without it,
  /// MeasurementError with the compiler's log if the source does not compile or has no such kernel.
  OpenClKernel& kernel(const KernelSource& source, std::string_view name, DType dtype);

 private:
  struct Program {
    ProgramHandle program;
    std::map<std::string, OpenClKernel, std::less<>> kernels;
  };
  Program& program(const KernelSource& source, DType dtype);
  ProgramHandle build(const KernelSource& source, DType dtype);

  cl_context context_;
  cl_device_id device_;
  const DeviceInfo& info_;
  // The key is the text, not its address: sources may be generated at run time.
  std::map<std::pair<std::string, DType>, Program> programs_;
};

}  // namespace peakmark
