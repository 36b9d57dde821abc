#include "measure/device/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace peakmark {
namespace {

// The parts of nvml.h that are used here, because the header is often missing where the library is installed.
// The version suffixes fix these functions and layouts.
using Status = int;
using GpuHandle = struct GpuTag*;
constexpr Status kSuccess = 0;
constexpr Status kTooSmall = 7;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

// Reasons for the current clocks. The power cap alone is not throttling: large GPUs run at it permanently,
// and their clocks show its effect.
constexpr unsigned long long kSetByUser = 0x2 | 0x100;  // application clocks, display clocks
constexpr unsigned long long kHeatOrBrake = 0x8 | 0x20 | 0x40 | 0x80;

constexpr std::pair<unsigned long long, const char*> kSlowdowns[] = {
    {0x4, "the power cap"},    {0x8, "a hardware slowdown"},       {0x20, "heat (software)"},
    {0x40, "heat (hardware)"}, {0x80, "the power supply's brake"},
};

class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    is_initialised_ = call<Status()>("nvmlInit_v2") == kSuccess;
  }
  ~Library() {
    if (is_initialised_) call<Status()>("nvmlShutdown");
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] bool is_initialised() const { return is_initialised_; }

  /// Returns −1 if the library lacks the function.
  template <typename Function, typename... Arguments>
  Status call(const char* name, Arguments... arguments) const {
    if (handle_ == nullptr) return -1;
    const auto function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* handle_;
  bool is_initialised_ = false;
};

std::optional<int> other_processes(const Library& nvml, GpuHandle gpu) {
  std::vector<Process> processes(64);
  for (int attempt = 0; attempt < 4; ++attempt) {
    auto count = static_cast<unsigned>(processes.size());
    const Status status = nvml.call<Status(GpuHandle, unsigned*, Process*)>(
        "nvmlDeviceGetComputeRunningProcesses_v3", gpu, &count, processes.data());
    if (status == kTooSmall) {
      processes.resize(processes.size() * 4);
      continue;
    }
    if (status != kSuccess) return std::nullopt;
    processes.resize(count);
    const auto self = static_cast<unsigned>(getpid());
    return static_cast<int>(
        std::ranges::count_if(processes, [&](const Process& process) { return process.pid != self; }));
  }
  return std::nullopt;
}

std::string gpu_name(const Library& nvml, GpuHandle gpu) {
  std::array<char, 96> name{};
  const Status status = nvml.call<Status(GpuHandle, char*, unsigned)>("nvmlDeviceGetName", gpu, name.data(),
                                                                      unsigned{name.size()});
  return status == kSuccess ? name.data() : "";
}

std::string gpu_pci(const Library& nvml, GpuHandle gpu) {
  Pci pci{};
  const Status status = nvml.call<Status(GpuHandle, Pci*)>("nvmlDeviceGetPciInfo_v3", gpu, &pci);
  return status == kSuccess ? fmt::format("{:04x}:{:02x}:{:02x}", pci.domain, pci.bus, pci.device) : "";
}

std::optional<unsigned> clock_mhz(const Library& nvml, GpuHandle gpu, const char* function, unsigned which) {
  unsigned mhz = 0;
  if (nvml.call<Status(GpuHandle, unsigned, unsigned*)>(function, gpu, which, &mhz) != kSuccess)
    return std::nullopt;
  return mhz;
}

std::optional<unsigned long long> clock_reasons(const Library& nvml, GpuHandle gpu) {
  unsigned long long reasons = 0;
  const Status status = nvml.call<Status(GpuHandle, unsigned long long*)>(
      "nvmlDeviceGetCurrentClocksThrottleReasons", gpu, &reasons);
  return status == kSuccess ? std::optional(reasons) : std::nullopt;
}

std::vector<GpuHandle> gpu_handles(const Library& nvml) {
  std::vector<GpuHandle> handles;
  unsigned count = 0;
  if (nvml.call<Status(unsigned*)>("nvmlDeviceGetCount_v2", &count) != kSuccess) return handles;
  for (unsigned index = 0; index < count; ++index) {
    GpuHandle gpu = nullptr;
    if (nvml.call<Status(unsigned, GpuHandle*)>("nvmlDeviceGetHandleByIndex_v2", index, &gpu) == kSuccess) {
      handles.push_back(gpu);
    }
  }
  return handles;
}

/// Keeps NVML loaded, so that a sample takes only microseconds.
class NvmlClocks final : public ClockSource {
 public:
  /// Finds the GPU by its PCI address if both sides know it, else by a name that only one GPU has.
  bool find(const DeviceInfo& device) {
    std::vector<GpuHandle> same_name;
    for (const GpuHandle gpu : nvml_.is_initialised() ? gpu_handles(nvml_) : std::vector<GpuHandle>{}) {
      if (!device.pci.empty() && gpu_pci(nvml_, gpu) == device.pci) {
        gpu_ = gpu;
        return true;
      }
      if (device.pci.empty() && gpu_name(nvml_, gpu) == device.name) same_name.push_back(gpu);
    }
    if (same_name.size() == 1) gpu_ = same_name.front();
    return gpu_ != nullptr;
  }

  std::optional<ClockSample> sample() override {
    const auto now = clock_mhz(nvml_, gpu_, "nvmlDeviceGetClockInfo", kClockSm);
    const auto max = clock_mhz(nvml_, gpu_, "nvmlDeviceGetMaxClockInfo", kClockSm);
    if (!now || !max) return std::nullopt;
    const unsigned long long reasons = clock_reasons(nvml_, gpu_).value_or(0);
    return ClockSample{*now, *max, (reasons & kHeatOrBrake) != 0, (reasons & kSetByUser) != 0};
  }

 private:
  Library nvml_;
  GpuHandle gpu_ = nullptr;
};

GpuFacts gpu_facts(const Library& nvml, GpuHandle gpu) {
  GpuFacts facts;
  facts.name = gpu_name(nvml, gpu);
  facts.pci = gpu_pci(nvml, gpu);
  Memory memory{};
  if (nvml.call<Status(GpuHandle, Memory*)>("nvmlDeviceGetMemoryInfo", gpu, &memory) == kSuccess) {
    facts.used_bytes = static_cast<Size>(memory.used);
    facts.free_bytes = static_cast<Size>(memory.free);
  }
  facts.other_processes = other_processes(nvml, gpu);
  unsigned current = 0;
  unsigned pending = 0;
  if (nvml.call<Status(GpuHandle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", gpu, &current, &pending) ==
      kSuccess) {
    facts.mig = current != 0;
  }
  int persistence = 0;
  if (nvml.call<Status(GpuHandle, int*)>("nvmlDeviceGetPersistenceMode", gpu, &persistence) == kSuccess) {
    facts.persistence = persistence != 0;
  }
  const auto clock = [&](const char* function, unsigned which) {
    return clock_mhz(nvml, gpu, function, which);
  };
  facts.sm_clock_mhz = clock("nvmlDeviceGetClockInfo", kClockSm);
  facts.max_sm_clock_mhz = clock("nvmlDeviceGetMaxClockInfo", kClockSm);
  facts.memory_clock_mhz = clock("nvmlDeviceGetClockInfo", kClockMemory);
  facts.max_memory_clock_mhz = clock("nvmlDeviceGetMaxClockInfo", kClockMemory);
  unsigned bus_bits = 0;
  if (!facts.mig.value_or(false) &&
      nvml.call<Status(GpuHandle, unsigned*)>("nvmlDeviceGetMemoryBusWidth", gpu, &bus_bits) == kSuccess) {
    facts.memory_bus_bits = bus_bits;
  }
  const unsigned long long reasons = clock_reasons(nvml, gpu).value_or(0);
  for (const auto& [bit, text] : kSlowdowns) {
    if ((reasons & bit) != 0) facts.slowed_by.emplace_back(text);
  }
  return facts;
}

}  // namespace

std::optional<NvmlFacts> ask_nvml() {
  const Library nvml;
  if (!nvml.is_initialised()) return std::nullopt;
  NvmlFacts facts;
  std::array<char, 96> driver{};
  if (nvml.call<Status(char*, unsigned)>("nvmlSystemGetDriverVersion", driver.data(),
                                         unsigned{driver.size()}) == kSuccess) {
    facts.driver = driver.data();
  }
  for (const GpuHandle gpu : gpu_handles(nvml)) facts.gpus.push_back(gpu_facts(nvml, gpu));
  return facts;
}

std::unique_ptr<ClockSource> open_clock_source(const DeviceInfo& device) {
  if (device.is_cpu || device.backend == Backend::dry) return nullptr;
  auto clocks = std::make_unique<NvmlClocks>();
  if (!clocks->find(device)) return nullptr;
  return clocks;
}

}  // namespace peakmark
