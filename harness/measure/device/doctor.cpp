#include "measure/device/doctor.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/cuda_folders.hpp"
#include "base/text.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {
namespace {

bool is_nvidia(const DeviceInfo& device) {
  return device.backend == Backend::cuda || device.vendor.find("NVIDIA") != std::string::npos;
}

class Diagnosis {
 public:
  Diagnosis(const MachineFacts& facts, const DeviceInfo* device) : facts_(facts) {
    for (const DeviceInfo& info : facts.devices.devices) {
      if (info.backend != Backend::dry && device == nullptr) devices_.push_back(&info);
    }
    if (device != nullptr && device->backend != Backend::dry) devices_.push_back(device);
    whole_machine_ = device == nullptr;
  }

  std::vector<Finding> findings() {
    if (whole_machine_) check_devices();
    check_recorders();
    check_environment();
    check_pocl();
    check_gpus();
    check_cpu();
    check_build();
    std::ranges::stable_sort(findings_, {}, &Finding::effect);
    return std::move(findings_);
  }

 private:
  void add(std::string id, Effect effect, std::string what, std::string fix) {
    findings_.push_back({std::move(id), effect, std::move(what), std::move(fix)});
  }

  template <typename Predicate>
  bool any(Predicate predicate) const {
    return std::ranges::any_of(devices_, [&](const DeviceInfo* device) { return predicate(*device); });
  }
  bool has(Backend backend) const {
    return any([&](const DeviceInfo& device) { return device.backend == backend; });
  }

  void check_devices() {
    if (devices_.empty()) {
      add("no-device", Effect::device, "no device to measure on",
          "install a GPU's driver, or a CPU driver for OpenCL: apt-get install ocl-icd-libopencl1 "
          "pocl-opencl-icd");
    }
    for (const std::string& reason : facts_.devices.reasons) {
      add("backend-without-device", Effect::device, reason,
          "nothing, if you do not need this backend; else install its loader and driver, and check that this "
          "user and container can access the device");
    }
  }

  void check_recorders() {
    const std::string fix =
        fmt::format("build and install it (searched in {}), or set PEAKMARK_LIBRARY_DIR to its folder",
                    facts_.recorder_folders.empty() ? "no folder" : facts_.recorder_folders);
    if (has(Backend::opencl) && !facts_.opencl_recorder) {
      add("no-opencl-recorder", Effect::recording, "libpeakmark-opencl.so not found", fix);
    }
    if (has(Backend::cuda) && !facts_.cuda_recorder) {
      add("no-cuda-recorder", Effect::recording, "libpeakmark-cupti.so not found", fix);
    }
    if (has(Backend::cuda) && !facts_.cupti) {
      add("no-cupti", Effect::recording, "neither libcupti.so.13 nor libcupti.so.12 found",
          "install NVIDIA's CUPTI (package cuda-cupti-13-0, or nvidia-cuda-cupti from PyPI), or set "
          "CUDA_HOME to the toolkit");
    }
  }

  void check_environment() {
    if (facts_.cuda_injection && facts_.cuda_injection != facts_.cuda_recorder && has(Backend::cuda)) {
      add("cuda-injection-set", Effect::recording,
          fmt::format("CUDA_INJECTION64_PATH is {}: CUDA loads only one such library, and CUPTI supports "
                      "only one tool",
                      *facts_.cuda_injection),
          "unset CUDA_INJECTION64_PATH, and measure outside nsys, ncu and cuda-gdb");
    }
    if (facts_.opencl_layers && facts_.opencl_layers != facts_.opencl_recorder && has(Backend::opencl)) {
      add("opencl-layers-set", Effect::exactness,
          fmt::format("OPENCL_LAYERS is {}: allocations of these layers are counted, and they take time",
                      *facts_.opencl_layers),
          "unset OPENCL_LAYERS");
    }
  }

  void check_pocl() {
    if (!any(is_pocl)) return;
    if (!facts_.pocl_memory_limit) {
      add("pocl-memory-limit", Effect::exactness,
          "PoCL derives its device memory and its maximum buffer size from the free memory of the moment",
          "set POCL_MEMORY_LIMIT to a number of GiB, the same in every run");
    }
    const auto affected = std::ranges::find_if(
        devices_, [](const DeviceInfo* device) { return rereads_after_barriers(*device); });
    if (affected != devices_.end() && facts_.pocl_work_group_method != "cbs") {
      const bool chosen = !facts_.pocl_work_group_method;
      add("pocl-wrong-results", Effect::exactness,
          fmt::format(
              "PoCL {} computes wrong results where a kernel uses after a barrier what it read before it, "
              "except with POCL_WORK_GROUP_METHOD=cbs{}",
              (*affected)->driver,
              chosen ? ", which peakmark sets for its own workers"
                     : fmt::format(": it is {}", *facts_.pocl_work_group_method)),
          "install PoCL 7.2 or later, or set POCL_WORK_GROUP_METHOD=cbs");
    }
  }

  void check_gpus() {
    for (const DeviceInfo* device : devices_) {
      const GpuFacts* gpu = find_gpu(facts_, *device);
      if (gpu == nullptr) continue;
      // Both backends may list the same GPU: report it once.
      if (std::ranges::find(seen_, gpu) != seen_.end()) continue;
      seen_.push_back(gpu);
      check_gpu(*gpu);
    }
  }

  void check_gpu(const GpuFacts& gpu) {
    if (gpu.other_processes.value_or(0) > 0) {
      add("gpu-shared", Effect::timing,
          fmt::format("{} on {}: used memory and times include their work",
                      quantity(*gpu.other_processes, "other process computes", "other processes compute"),
                      gpu.name),
          "end them (nvidia-smi lists them) or wait");
    }
    if (gpu.mig.value_or(false)) {
      add("mig", Effect::timing,
          fmt::format("{} is partitioned by MIG: memory and bandwidth are those of an instance", gpu.name),
          "compare only runs on the same kind of instance, or nvidia-smi -mig 0");
    }
    if (!gpu.slowed_by.empty()) {
      add("gpu-slowed", Effect::timing,
          fmt::format("clocks of {} are reduced by {}", gpu.name, fmt::join(gpu.slowed_by, ", ")),
          "cool it, or lock its clocks below the limit: nvidia-smi --lock-gpu-clocks");
    }
    if (gpu.persistence && !*gpu.persistence) {
      add("gpu-persistence", Effect::timing,
          fmt::format("the driver of {} unloads between programs: each starts slowly and with idle clocks",
                      gpu.name),
          "nvidia-smi -pm 1, or run nvidia-persistenced");
    }
  }

  void check_cpu() {
    if (devices_.empty()) return;
    if (any([](const DeviceInfo& device) { return device.is_cpu; })) {
      add("cpu-device", Effect::timing,
          "CPU device: bytes are as on a GPU, but times are those of the CPU, and noisy",
          "use a GPU for times");
    }
    if (facts_.governor && *facts_.governor != "performance") {
      add("cpu-governor", Effect::timing,
          fmt::format("CPU frequency governor is {}: clocks change during measurements", *facts_.governor),
          "cpupower frequency-set -g performance");
    }
    // The measurement itself is one busy process.
    const double quiet = std::max(1.0, facts_.cpus / 4.0);
    if (facts_.load_average.value_or(0) > quiet) {
      add("load", Effect::timing,
          fmt::format("the load average is {:.1f} on {} CPUs", *facts_.load_average, facts_.cpus),
          "wait until other work has ended");
    }
  }

  void check_build() {
    if (facts_.asserts) {
      add("debug-build", Effect::timing,
          fmt::format("this peakmark was built for {}",
                      facts_.build_type.empty() ? "debugging" : facts_.build_type),
          "configure with -DCMAKE_BUILD_TYPE=Release");
    }
    if (!facts_.sanitizers.empty()) {
      add("sanitizers", Effect::timing,
          fmt::format("this peakmark was built with -fsanitize={}", facts_.sanitizers),
          "configure without PEAKMARK_SANITIZE");
    }
  }

  const MachineFacts& facts_;
  std::vector<const DeviceInfo*> devices_;
  std::vector<const GpuFacts*> seen_;
  bool whole_machine_ = true;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view to_string(Effect effect) {
  static constexpr std::array<std::string_view, 4> kNames{"device", "recording", "exactness", "timing"};
  return kNames.at(static_cast<std::size_t>(effect));
}

bool is_pocl_platform(std::string_view name) {
  return name == "Portable Computing Language";
}

bool is_pocl(const DeviceInfo& device) {
  return device.backend == Backend::opencl && is_pocl_platform(device.platform);
}

bool rereads_after_barriers(const DeviceInfo& device) {
  if (!is_pocl(device)) return false;
  // Such as `7.1+debian`.
  for (const std::string_view release : {"7.0", "7.1"}) {
    if (!device.driver.starts_with(release)) continue;
    const std::string_view rest = std::string_view(device.driver).substr(release.size());
    if (rest.empty() || rest.front() < '0' || rest.front() > '9') return true;
  }
  return false;
}

const GpuFacts* find_gpu(const MachineFacts& facts, const DeviceInfo& device) {
  if (!facts.nvml || !is_nvidia(device)) return nullptr;
  if (!device.pci.empty()) {
    for (const GpuFacts& gpu : facts.nvml->gpus) {
      if (gpu.pci == device.pci) return &gpu;
    }
  }
  const GpuFacts* found = nullptr;
  for (const GpuFacts& gpu : facts.nvml->gpus) {
    if (gpu.name != device.name) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

std::vector<Finding> diagnose(const MachineFacts& facts, const DeviceInfo* device) {
  return Diagnosis(facts, device).findings();
}

namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  if (file >> word) return word;
  return std::nullopt;
}

std::optional<double> load_average() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

/// Returns the CUPTI that the recorder would find. Does not load it by path, because NVIDIA warns against
/// loading CUPTI twice.
std::optional<std::string> find_cupti(const std::optional<fs::path>& recorder) {
  static constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  for (const char* name : kNames) {
    // Not closed: unloading CUPTI leaks memory.
    if (dlopen(name, RTLD_LAZY | RTLD_LOCAL) != nullptr) return name;
  }
  std::vector<std::string> folders = cuda_library_folders();
  if (recorder) folders.insert(folders.begin(), recorder->parent_path().string());
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      const fs::path path = fs::path(folder) / name;
      std::error_code error;
      if (fs::exists(path, error)) return path.string();
    }
  }
  return std::nullopt;
}

}  // namespace

MachineFacts gather_machine_facts() {
  MachineFacts facts;
  facts.build_type = PEAKMARK_BUILD_TYPE;
#ifndef NDEBUG
  facts.asserts = true;
#endif
  facts.sanitizers = PEAKMARK_BUILD_SANITIZERS;
  facts.devices = list_devices();
  facts.nvml = ask_nvml();

  const RecorderLibraries libraries = find_recorder_libraries();
  if (libraries.opencl) facts.opencl_recorder = libraries.opencl->string();
  if (libraries.cuda) facts.cuda_recorder = libraries.cuda->string();
  std::vector<std::string> folders;
  for (const fs::path& folder : libraries.folders) folders.push_back(folder.string());
  facts.recorder_folders = fmt::format("{}", fmt::join(folders, ", "));
  if (std::ranges::any_of(facts.devices.devices,
                          [](const DeviceInfo& info) { return info.backend == Backend::cuda; })) {
    facts.cupti = find_cupti(libraries.cuda);
  }
  facts.opencl_layers = variable("OPENCL_LAYERS");
  facts.cuda_injection = variable("CUDA_INJECTION64_PATH");
  facts.pocl_memory_limit = variable("POCL_MEMORY_LIMIT");
  facts.pocl_cache_folder = variable("POCL_CACHE_DIR");
  facts.pocl_work_group_method = variable("POCL_WORK_GROUP_METHOD");

  facts.governor = first_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.load_average = load_average();
  facts.cpus = static_cast<int>(std::thread::hardware_concurrency());
  return facts;
}

}  // namespace peakmark
