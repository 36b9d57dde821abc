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
#include "cli/options.hpp"
#include "measure/device/doctor.hpp"
#include "measure/device/largest_allocation.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/supervise/memory_reserve.hpp"
#include "record/subprocess/worker_process.hpp"

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
          {"POCL_WORK_GROUP_METHOD", or_null(facts.pocl_work_group_method)},
          {"cpu_governor", or_null(facts.governor)},
          {"load_average", or_null(facts.load_average)},
          {"cpus", facts.cpus}};
}

struct DoctorOptions {
  bool json = false;
  bool probe = false;
  // Options of a child process.
  Size tried_bytes = 0;
  bool fills = false;
  DeviceChoice tried;
};

/// Results of trials in child processes.
struct ProbedDevice {
  DeviceInfo device;
  std::optional<Size>
      largest_bytes;  ///< maximum size of one allocation; null if the driver reports no memory size
  MemoryReserve reserve;
};

// Limit for a process that tries one allocation: its driver starts, and the device may clear or move other
// memory.
constexpr std::chrono::seconds kTryLimit{120};
constexpr int kTaken = 0;
constexpr int kRefused = 1;

/// Tries an allocation in a child process. If the process crashes or hangs, it counts as refused.
bool is_taken(const DeviceInfo& device, Size bytes) {
  try {
    return ask(probe_command(device, {"--try-allocation", std::to_string(bytes)}), kTryLimit).end.exit_code ==
           kTaken;
  } catch (const NoAnswer&) {
    return false;
  }
}

std::vector<ProbedDevice> probe(const DeviceList& list) {
  std::vector<ProbedDevice> probed;
  probed.reserve(list.devices.size());
  for (const DeviceInfo& device : list.devices) {
    if (device.backend == Backend::dry) continue;
    // First, because afterwards this process has a context on the device.
    const auto largest = largest_allocation(device, [&](Size bytes) { return is_taken(device, bytes); });
    probed.push_back({device, largest, measure_reserve(device)});
  }
  return probed;
}

/// Runs in the child process, which the system ends first if memory runs short.
ExitCode try_in_this_process(const DoctorOptions& options) {
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const DeviceInfo device = choose_device(options.tried, list_devices());
  if (options.fills) {
    print_text(filled_json(device));
    return ExitCode::clean;
  }
  return static_cast<ExitCode>(try_allocation(device, options.tried_bytes) ? kTaken : kRefused);
}

Json json_of(const MemoryReserve& reserve) {
  return {{"bytes", or_null(reserve.bytes())},
          {"context_bytes", or_null(reserve.context_bytes)},
          {"library_bytes", or_null(reserve.library_bytes)},
          {"fragmentation_bytes", or_null(reserve.fragmentation_bytes())}};
}

Json json_of(const std::vector<ProbedDevice>& probed) {
  Json devices = Json::array();
  for (const auto& [device, largest_bytes, reserve] : probed) {
    devices.push_back({{"backend", to_string(device.backend)},
                       {"index", device.index},
                       {"largest_allocation_bytes", or_null(largest_bytes)},
                       {"max_allocation_bytes", or_null(device.max_allocation_bytes)},
                       {"memory_bytes", or_null(device.memory_bytes)},
                       {"free_bytes", or_null(reserve.free_bytes)},
                       {"allocatable_bytes", or_null(reserve.allocatable_bytes)},
                       {"reserve", json_of(reserve)}});
  }
  return devices;
}

std::string text_of(const std::vector<ProbedDevice>& probed) {
  const auto size = [](const std::optional<Size>& bytes) { return bytes ? format_size(*bytes) : "unknown"; };
  std::string text;
  for (const auto& [device, largest_bytes, reserve] : probed) {
    text += fmt::format("{} {}: largest allocation {}, by trial; the driver reports {} of {}\n",
                        to_string(device.backend), device.index, size(largest_bytes),
                        size(device.max_allocation_bytes), size(device.memory_bytes));
    text += fmt::format("    all allocations {}; free {}; ", size(reserve.allocatable_bytes),
                        size(reserve.free_bytes));
    text += reserve.bytes() ? "`--budget free` leaves " + reserve_text(reserve) + "\n"
                            : "so `--budget free` is unknown\n";
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
                    {"fix", finding.fix}});
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
  command->add_flag(
      "--probe", options->probe,
      "Find the largest single allocation that each device takes, and how much of its free memory "
      "can be allocated, by trial in child processes. Other programs find the device full "
      "meanwhile");
  command->add_option("--try-allocation", options->tried_bytes)->group("");
  command->add_flag("--fill-device", options->fills)->group("");
  add_parsed_option(
      *command, "--tried-backend",
      [options](const std::string& text) { options->tried.backend = parse_backend(text); }, "")
      ->group("");
  command->add_option("--tried-device", options->tried.device)->group("");
  set_help(*command,
           {.exit_codes = {{"0", "clean, with or without findings"}, {"4", "no device except `dry`"}}});
  command->callback([options, &result] {
    if (options->tried_bytes > 0 || options->fills) {
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
