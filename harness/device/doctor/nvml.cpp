#include "device/doctor/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace peakmark {
namespace {

// The part of nvml.h that is used here; the header is often absent where the library is present. These
// functions and layouts are frozen by their version suffixes.
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

constexpr std::pair<unsigned long long, const char*> kSlowdowns[] = {
    {0x4, "the power cap"},    {0x8, "a hardware slowdown"},       {0x20, "heat (software)"},
    {0x40, "heat (hardware)"}, {0x80, "the power supply's brake"},
};

class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    up_ = call<Status()>("nvmlInit_v2") == kSuccess;
  }
  ~Library() {
    if (up_) call<Status()>("nvmlShutdown");
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] bool up() const { return up_; }

  /// −1 where the library has no such function.
  template <typename Function, typename... Arguments>
  Status call(const char* name, Arguments... arguments) const {
    if (handle_ == nullptr) return -1;
    const auto function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

 private:
  void* handle_;
  bool up_ = false;
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

GpuFacts ask_gpu(const Library& nvml, GpuHandle gpu) {
  GpuFacts facts;
  std::array<char, 96> name{};
  if (nvml.call<Status(GpuHandle, char*, unsigned)>("nvmlDeviceGetName", gpu, name.data(),
                                                    unsigned{name.size()}) == kSuccess) {
    facts.name = name.data();
  }
  Pci pci{};
  if (nvml.call<Status(GpuHandle, Pci*)>("nvmlDeviceGetPciInfo_v3", gpu, &pci) == kSuccess) {
    facts.pci = fmt::format("{:04x}:{:02x}:{:02x}", pci.domain, pci.bus, pci.device);
  }
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
  const auto clock = [&](const char* question, unsigned which) -> std::optional<unsigned> {
    unsigned mhz = 0;
    if (nvml.call<Status(GpuHandle, unsigned, unsigned*)>(question, gpu, which, &mhz) != kSuccess)
      return std::nullopt;
    return mhz;
  };
  facts.sm_clock_mhz = clock("nvmlDeviceGetClockInfo", kClockSm);
  facts.max_sm_clock_mhz = clock("nvmlDeviceGetMaxClockInfo", kClockSm);
  facts.memory_clock_mhz = clock("nvmlDeviceGetClockInfo", kClockMemory);
  facts.max_memory_clock_mhz = clock("nvmlDeviceGetMaxClockInfo", kClockMemory);
  unsigned long long reasons = 0;
  if (nvml.call<Status(GpuHandle, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", gpu,
                                                        &reasons) == kSuccess) {
    for (const auto& [bit, text] : kSlowdowns) {
      if ((reasons & bit) != 0) facts.slowed_by.emplace_back(text);
    }
  }
  return facts;
}

}  // namespace

std::optional<NvmlFacts> ask_nvml() {
  const Library nvml;
  if (!nvml.up()) return std::nullopt;
  NvmlFacts facts;
  std::array<char, 96> driver{};
  if (nvml.call<Status(char*, unsigned)>("nvmlSystemGetDriverVersion", driver.data(),
                                         unsigned{driver.size()}) == kSuccess) {
    facts.driver = driver.data();
  }
  unsigned count = 0;
  if (nvml.call<Status(unsigned*)>("nvmlDeviceGetCount_v2", &count) != kSuccess) return facts;
  for (unsigned index = 0; index < count; ++index) {
    GpuHandle gpu = nullptr;
    if (nvml.call<Status(unsigned, GpuHandle*)>("nvmlDeviceGetHandleByIndex_v2", index, &gpu) == kSuccess) {
      facts.gpus.push_back(ask_gpu(nvml, gpu));
    }
  }
  return facts;
}

}  // namespace peakmark
