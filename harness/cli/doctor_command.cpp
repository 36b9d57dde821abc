#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "device/doctor/doctor.hpp"
#include "runfile/json_fields.hpp"

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

void print_json(const MachineFacts& facts, const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"id", finding.id},
                    {"effect", to_string(finding.effect)},
                    {"what", finding.what},
                    {"mend", finding.mend}});
  }
  Json json = json_fields::begin(format::kFindings);
  json.update(Json{{"findings", list}, {"facts", json_of(facts)}});
  print_text(json_fields::pretty(json));
}

void print_lines(const MachineFacts& facts, const std::vector<Finding>& findings) {
  std::string text;
  for (const DeviceInfo& info : facts.devices.devices) {
    if (info.backend == Backend::dry) continue;
    text += fmt::format("{} {}: {}\n", to_string(info.backend), info.index, info.name);
  }
  if (findings.empty()) text += "no findings\n";
  for (const Finding& finding : findings) {
    text += fmt::format("\n[{}] {}\n    {}\n", to_string(finding.effect), finding.what, finding.mend);
  }
  print_text(text);
}

}  // namespace

void add_doctor_command(CLI::App& app, Result& result) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "doctor", "Find what prevents or disturbs measurements on this machine, and how to fix it");
  command->add_flag("--json", *json,
                    "Print findings and the facts behind them as JSON. Unknown values are null");
  set_help(*command,
           {.exit_codes = {{"0", "clean, with or without findings"}, {"4", "no device except `dry`"}}});
  command->callback([json, &result] {
    const MachineFacts facts = gather_machine_facts();
    const std::vector<Finding> findings = diagnose(facts);
    if (*json) {
      print_json(facts, findings);
    } else {
      print_lines(facts, findings);
    }
    const bool none = std::ranges::any_of(findings, [](const Finding& it) { return it.id == "no-device"; });
    result.code = none ? ExitCode::nothing : ExitCode::clean;
  });
}

}  // namespace peakmark::cli
