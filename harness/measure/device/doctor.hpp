#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/device/device.hpp"
#include "measure/device/nvml.hpp"

namespace peakmark {

/// The facts of this machine that affect measurements. Null: unknown or missing.
struct MachineFacts {
  std::string build_type;  ///< of CMake
  bool asserts = false;    ///< compiled without NDEBUG
  std::string sanitizers;  ///< as given to -fsanitize; empty: none

  DeviceList devices;
  std::optional<NvmlFacts> nvml;

  std::optional<std::string> opencl_recorder;  ///< path of the library
  std::optional<std::string> cuda_recorder;
  std::string recorder_folders;  ///< searched for the recorders
  /// Path, or the name that the loader finds; searched only if CUDA has a device.
  std::optional<std::string> cupti;
  std::optional<std::string>
      opencl_layers;  ///< the next five are environment variables; null if unset or empty
  std::optional<std::string> cuda_injection;
  std::optional<std::string> pocl_memory_limit;
  std::optional<std::string> pocl_cache_folder;
  std::optional<std::string> pocl_work_group_method;

  std::optional<std::string> governor;  ///< of CPU frequencies
  std::optional<double> load_average;   ///< of the last minute
  int cpus = 0;
};

/// What a finding affects, the most severe first.
enum class Effect : std::uint8_t {
  device,     ///< a device or backend cannot be used
  recording,  ///< allocations on it cannot be recorded
  exactness,  ///< bytes may differ from run to run, or from what the kernels need
  timing,     ///< times are noisy or biased
};
std::string_view to_string(Effect effect);

/// A problem of this machine that affects measurements.
struct Finding {
  std::string id;  ///< for scripts: `no-device`, `pocl-memory-limit`, …
  Effect effect{};
  std::string what;
  std::string fix;  ///< what to do
};

/// Returns the problems, the most severe first; with a device, only those that affect it. A run writes these
/// into its file. Unknown facts give no finding. Pure.
std::vector<Finding> diagnose(const MachineFacts& facts, const DeviceInfo* device = nullptr);

/// Inspects this machine. Opens no device and allocates no device memory.
MachineFacts gather_machine_facts();

/// Returns true for devices of PoCL, the OpenCL driver for CPUs.
bool is_pocl(const DeviceInfo& device);
bool is_pocl_platform(std::string_view name);
/// Returns true for PoCL 7.0 and 7.1, whose default work-group method computes wrong results: a value that a
/// kernel reads before a barrier is read again after it (https://github.com/pocl/pocl/pull/2269). The method
/// `cbs` is correct.
bool rereads_after_barriers(const DeviceInfo& device);
/// Returns the NVML facts of this device, found by PCI address if both sides know it, else by name. Null if
/// NVML lists no such device, or several with this name.
const GpuFacts* find_gpu(const MachineFacts& facts, const DeviceInfo& device);

}  // namespace peakmark
