#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// What NVIDIA's management library tells of one GPU. Null: it does not tell.
struct GpuFacts {
  std::string name;
  std::string pci;                 ///< as DeviceInfo's
  std::optional<Size> used_bytes;  ///< of all processes
  std::optional<Size> free_bytes;
  std::optional<int> other_processes;  ///< that compute on it, this one left out
  std::optional<bool> mig;             ///< divided into instances
  std::optional<bool> persistence;     ///< the driver stays loaded between programs
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> max_sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<unsigned> max_memory_clock_mhz;
  std::optional<unsigned> memory_bus_bits;  ///< null where the GPU is divided: an instance has a part of it
  std::vector<std::string> slowed_by;       ///< why its clocks are held down now
};

struct NvmlFacts {
  std::string driver;
  std::vector<GpuFacts> gpus;
};

/// Null where libnvidia-ml.so.1 is not there or does not come up: there is no NVIDIA driver then.
std::optional<NvmlFacts> ask_nvml();

}  // namespace peakmark
