#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/doctor/nvml.hpp"

namespace peakmark {

/// What is here, as far as it bears on measurements. Null: unknown, or not there where the name says so.
struct MachineFacts {
  std::string build_type;  ///< CMake's
  bool asserts = false;    ///< compiled without NDEBUG
  std::string sanitizers;  ///< as given to -fsanitize; empty: none

  DeviceList devices;
  std::optional<NvmlFacts> nvml;

  std::optional<std::string> opencl_recorder;  ///< path of the library, where it is
  std::optional<std::string> cuda_recorder;
  std::string recorder_folders;  ///< where they were looked for
  std::optional<std::string>
      cupti;  ///< path or name under which it loads; looked for only where CUDA has a device
  std::optional<std::string> opencl_layers;  ///< these four: environment variables, where set and not empty
  std::optional<std::string> cuda_injection;
  std::optional<std::string> pocl_memory_limit;
  std::optional<std::string> pocl_cache_folder;

  std::optional<std::string> governor;  ///< of CPU frequencies
  std::optional<double> load_average;   ///< of the last minute
  int cpus = 0;
};

/// What a finding spoils, the worst first.
enum class Effect : std::uint8_t {
  device,     ///< a device or backend cannot be used
  recording,  ///< allocations on it cannot be recorded
  exactness,  ///< bytes may differ from run to run, or from what the kernels need
  timing,     ///< times are not quiet
};
std::string_view to_string(Effect effect);

/// One thing that keeps a measurement from being what it could be.
struct Finding {
  std::string id;  ///< for scripts: `no-device`, `pocl-memory-limit`, …
  Effect effect{};
  std::string what;
  std::string mend;  ///< how to put it right
};

/// Pure: what the facts mean for measurements, the worst first. With a device, only what bears on that one: a
/// run writes these into its file. Nothing is said of what is unknown.
std::vector<Finding> diagnose(const MachineFacts& facts, const DeviceInfo* device = nullptr);

/// Looks. Opens no device and takes no device memory.
MachineFacts gather_machine_facts();

/// True for the devices of the CPU driver PoCL, which has limits of its own.
bool is_pocl(const DeviceInfo& device);
/// What NVML knows of this device: by its place on the bus where both tell it, else by its name. Null when
/// there is none, or when several have the name (then which is meant would be a guess).
const GpuFacts* find_gpu(const MachineFacts& facts, const DeviceInfo& device);

}  // namespace peakmark
