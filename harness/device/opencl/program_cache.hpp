#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "device/device.hpp"
#include "device/opencl/api.hpp"

namespace peakmark {

/// What a kernel's parameter takes, as the compiler tells it.
enum class ParameterType : std::uint8_t { memory, i32, i64, u32, u64, f32, f64, unknown };

struct OpenClKernel {
  std::string name;
  KernelHandle kernel;
  std::vector<ParameterType> parameters;
  std::size_t max_work_group = 1;  ///< on this device
};

/// Programs by source and dtype, each compiled once, and their kernels.
class ProgramCache {
 public:
  ProgramCache(cl_context context, cl_device_id device, const DeviceInfo& info)
      : context_(context), device_(device), info_(info) {}

  /// The reference stays valid as long as the cache. Throws Unsupported for f64 on a device without it, Error
  /// with the compiler's log when the source does not compile or has no such kernel.
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
  // By the text itself, not by its address: sources may be made at run time.
  std::map<std::pair<std::string, DType>, Program> programs_;
};

}  // namespace peakmark
