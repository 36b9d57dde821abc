#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/device/device.hpp"

namespace peakmark {

/// The facts of one GPU by NVIDIA's management library (NVML). Null: unknown.
struct GpuFacts {
  std::string name;
  std::string pci;                 ///< in the form of DeviceInfo
  std::optional<Size> used_bytes;  ///< by all processes
  std::optional<Size> free_bytes;
  std::optional<int> other_processes;  ///< that compute on the GPU, besides this one
  std::optional<bool> mig;             ///< whether the GPU is divided into instances
  std::optional<bool> persistence;     ///< the driver stays loaded between programs
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> max_sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<unsigned> max_memory_clock_mhz;
  std::optional<unsigned>
      memory_bus_bits;  ///< null if MIG divides the GPU: an instance has only a part of the bus
  std::vector<std::string> slowed_by;  ///< current reasons for reduced clocks
};

struct NvmlFacts {
  std::string driver;
  std::vector<GpuFacts> gpus;
};

/// Returns the facts of all GPUs. Null if libnvidia-ml.so.1 is missing or cannot be initialised: then there
/// is no driver.
std::optional<NvmlFacts> ask_nvml();

/// The clocks of a device at one moment.
struct ClockSample {
  unsigned sm_mhz = 0;
  unsigned max_sm_mhz = 0;
  bool is_slowed = false;  ///< by heat, a power brake or another hardware slowdown
  bool is_locked = false;  ///< a user set clocks below the maximum
};

/// Reads clocks: from NVML, or from a fake in tests.
class ClockSource {
 public:
  ClockSource() = default;
  ClockSource(const ClockSource&) = delete;
  ClockSource& operator=(const ClockSource&) = delete;
  virtual ~ClockSource() = default;

  /// Returns null if the clocks cannot be read.
  virtual std::optional<ClockSample> sample() = 0;
};

/// Returns NVML's clocks of this device. Null if NVML is missing or cannot identify the GPU.
std::unique_ptr<ClockSource> open_clock_source(const DeviceInfo& device);

}  // namespace peakmark
