#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>

#include "base/program.hpp"
#include "base/size.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "device/doctor.hpp"
#include "device/largest_allocation.hpp"
#include "runfile/json_fields.hpp"
#include "subprocess/worker_process.hpp"

namespace peakmark::cli {
namespace {

using json_fields::Json;
using json_fields::or_null;

Json json_of(const GpuFacts& gpu) {
  return {{"name", gpu.name},
          {"pci", gpu.pci},
          {"used_bytes", or_null(gpu.used_bytes)},
          {"free_bytes", or_null(gpu.free_bytes)},
          {"other_processes", or_null(gpu.other_processes)},
          {"mig", or_null(gpu.mig)},
          {"persistence", or_null(gpu.persistence)},
          {"sm_clock_mhz", or_null(gpu.sm_clock_mhz)},
          {"max_sm_clock_mhz", or_null(gpu.max_sm_clock_mhz)},
          {"memory_clock_mhz", or_null(gpu.memory_clock_mhz)},
          {"max_memory_clock_mhz", or_null(gpu.max_memory_clock_mhz)},
          {"slowed_by", gpu.slowed_by}};
}

Json json_of(const MachineFacts& facts) {
  Json devices = Json::array();
  for (const DeviceInfo& info : facts.devices.devices) {
    devices.push_back({{"backend", to_string(info.backend)}, {"index", info.index}, {"name", info.name}});
  }
  Json gpus = nullptr;
  if (facts.nvml) {
    gpus = Json::array();
    for (const GpuFacts& gpu : facts.nvml->gpus) gpus.push_back(json_of(gpu));
  }
  return {{"build_type", facts.build_type},
          {"asserts", facts.asserts},
          {"sanitizers", facts.sanitizers},
          {"devices", devices},
          {"nvidia_driver", facts.nvml ? Json(facts.nvml->driver) : Json(nullptr)},
          {"nvidia_gpus", gpus},
          {"opencl_recorder", or_null(facts.opencl_recorder)},
          {"cuda_recorder", or_null(facts.cuda_recorder)},
          {"cupti", or_null(facts.cupti)},
          {"OPENCL_LAYERS", or_null(facts.opencl_layers)},
          {"CUDA_INJECTION64_PATH", or_null(facts.cuda_injection)},
          {"POCL_MEMORY_LIMIT", or_null(facts.pocl_memory_limit)},
          {"POCL_CACHE_DIR", or_null(facts.pocl_cache_folder)},
          {"cpu_governor", or_null(facts.governor)},
          {"load_average", or_null(facts.load_average)},
          {"cpus", facts.cpus}};
}

struct DoctorOptions {
  bool json = false;
  bool probe = false;
  Size tried_bytes = 0;  ///< of a child process
  int device = 0;        ///< the index of the tried device in the list
};

/// The largest allocation of a device; null if its driver reports no memory size.
struct ProbedDevice {
  DeviceInfo device;
  std::optional<Size> largest_bytes;
};

// A process that tries one allocation: its driver starts, and the device clears or moves what is in its way.
constexpr std::chrono::seconds kTryLimit{120};
constexpr int kTaken = 0;
constexpr int kRefused = 1;

/// Tries an allocation in a child process. One that crashes or hangs counts as refused.
bool is_taken(std::size_t device, Size bytes) {
  const WorkerCommand command{
      own_program(),
      {"doctor", "--try-allocation", std::to_string(bytes), "--tried-device", std::to_string(device)},
      {},
      ""};
  try {
    return ask(command, kTryLimit).end.exit_code == kTaken;
  } catch (const NoAnswer&) {
    return false;
  }
}

std::vector<ProbedDevice> probe(const DeviceList& list) {
  std::vector<ProbedDevice> probed;
  probed.reserve(list.devices.size());
  for (std::size_t i = 0; i < list.devices.size(); ++i) {
    const DeviceInfo& device = list.devices[i];
    if (device.backend == Backend::dry) continue;
    probed.push_back({device, largest_allocation(device, [&](Size bytes) { return is_taken(i, bytes); })});
  }
  return probed;
}

/// The child process: the first that the system ends if memory runs short.
ExitCode try_in_this_process(const DoctorOptions& options) {
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const DeviceInfo device = list_devices().devices.at(static_cast<std::size_t>(options.device));
  return static_cast<ExitCode>(try_allocation(device, options.tried_bytes) ? kTaken : kRefused);
}

Json json_of(const std::vector<ProbedDevice>& probed) {
  Json devices = Json::array();
  for (const auto& [device, largest_bytes] : probed) {
    devices.push_back({{"backend", to_string(device.backend)},
                       {"index", device.index},
                       {"largest_allocation_bytes", or_null(largest_bytes)},
                       {"max_allocation_bytes", or_null(device.max_allocation_bytes)},
                       {"memory_bytes", or_null(device.memory_bytes)}});
  }
  return devices;
}

std::string text_of(const std::vector<ProbedDevice>& probed) {
  const auto size = [](const std::optional<Size>& bytes) { return bytes ? format_size(*bytes) : "unknown"; };
  std::string text;
  for (const auto& [device, largest_bytes] : probed) {
    text += fmt::format("{} {}: largest allocation {}, by trial; the driver reports {} of {}\n",
                        to_string(device.backend), device.index, size(largest_bytes),
                        size(device.max_allocation_bytes), size(device.memory_bytes));
  }
  return text;
}

void print_json(const MachineFacts& facts, const std::vector<Finding>& findings,
                const std::optional<std::vector<ProbedDevice>>& probed) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"id", finding.id},
                    {"effect", to_string(finding.effect)},
                    {"what", finding.what},
                    {"mend", finding.fix}});
  }
  Json json = json_fields::begin(format::kFindings);
  json.update(Json{{"findings", list}, {"facts", json_of(facts)}});
  if (probed) json["probed"] = json_of(*probed);
  print_text(json_fields::pretty(json));
}

void print_lines(const MachineFacts& facts, const std::vector<Finding>& findings,
                 const std::optional<std::vector<ProbedDevice>>& probed) {
  std::string text;
  for (const DeviceInfo& info : facts.devices.devices) {
    if (info.backend == Backend::dry) continue;
    text += fmt::format("{} {}: {}\n", to_string(info.backend), info.index, info.name);
  }
  if (probed) text += text_of(*probed);
  if (findings.empty()) text += "no findings\n";
  for (const Finding& finding : findings) {
    text += fmt::format("\n[{}] {}\n    {}\n", to_string(finding.effect), finding.what, finding.fix);
  }
  print_text(text);
}

}  // namespace

void add_doctor_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Find what prevents or disturbs measurements on this machine, and how to fix it");
  command->add_flag("--json", options->json,
                    "Print findings and the facts behind them as JSON. Unknown values are null");
  command->add_flag("--probe", options->probe,
                    "Find the largest single allocation that each device takes, by trial in child processes. "
                    "Other programs find the device full meanwhile");
  command->add_option("--try-allocation", options->tried_bytes)->group("");
  command->add_option("--tried-device", options->device)->group("");
  set_help(*command,
           {.exit_codes = {{"0", "clean, with or without findings"}, {"4", "no device except `dry`"}}});
  command->callback([options, &result] {
    if (options->tried_bytes > 0) {
      result.code = try_in_this_process(*options);
      return;
    }
    const MachineFacts facts = gather_machine_facts();
    const std::vector<Finding> findings = diagnose(facts);
    std::optional<std::vector<ProbedDevice>> probed;
    if (options->probe) probed = probe(facts.devices);
    if (options->json) {
      print_json(facts, findings, probed);
    } else {
      print_lines(facts, findings, probed);
    }
    const bool none = std::ranges::any_of(findings, [](const Finding& it) { return it.id == "no-device"; });
    result.code = none ? ExitCode::nothing : ExitCode::clean;
  });
}

}  // namespace peakmark::cli
