#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include "base/report.hpp"
#include "base/size.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/supervise/memory_reserve.hpp"

namespace peakmark::cli {
namespace {

using json_fields::Json;

struct ShownDevice {
  DeviceInfo info;
  DeviceMemory memory;
};

/// Opens the device briefly to read its memory; unknown if the device cannot be opened.
DeviceMemory memory_of(const DeviceInfo& info) {
  try {
    return open_device(info)->memory();
  } catch (const Error& error) {
    std::cerr << fmt::format("peakmark: {} {}: {}\n", to_string(info.backend), info.index, error.what());
    return {};
  }
}

/// Returns the budget on this device; null if the device does not report the memory that the budget refers
/// to.
std::optional<Size> budget_on(const MemoryBudget& budget, const DeviceInfo& info,
                              const DeviceMemory& memory) {
  try {
    return resolve_budget_on(budget, info, memory).bytes;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

const char* kind_of(const ShownDevice& one) {
  if (one.info.backend == Backend::dry) return "allocation log";
  return one.info.is_cpu ? "CPU" : "GPU";
}

Fields<ShownDevice> device_fields(const std::optional<MemoryBudget>& budget) {
  const auto text = [](std::string DeviceInfo::*member) {
    return unless_empty([member](const ShownDevice& one) { return one.info.*member; });
  };
  const auto info = [](auto member) { return [member](const ShownDevice& one) { return one.info.*member; }; };
  const auto memory = [](auto member) {
    return [member](const ShownDevice& one) { return one.memory.*member; };
  };
  Fields<ShownDevice> fields{
      {"backend", As::text, info(&DeviceInfo::backend), "backend"},
      {"index", As::number, info(&DeviceInfo::index), "index"},
      {"name", As::text, info(&DeviceInfo::name), "name"},
      {"kind", As::text, kind_of},
      {"", As::hidden, text(&DeviceInfo::vendor), "vendor"},
      {"", As::hidden, info(&DeviceInfo::platform), "platform"},
      {"driver", As::text, text(&DeviceInfo::driver), "driver"},
      {"", As::hidden, text(&DeviceInfo::version), "version"},
      {"", As::hidden, text(&DeviceInfo::pci), "pci"},
      {"", As::hidden, info(&DeviceInfo::is_cpu), "is_cpu"},
      {"", As::hidden, info(&DeviceInfo::has_f64), "has_f64"},
      {"", As::hidden,
       [](const ShownDevice& one) {
         return one.info.compute_units > 0 ? std::optional(one.info.compute_units) : std::nullopt;
       },
       "compute_units"},
      {"memory", As::size, info(&DeviceInfo::memory_bytes), "memory_bytes"},
      {"largest allocation", As::size, info(&DeviceInfo::max_allocation_bytes), "max_allocation_bytes"},
      {"used", As::size, memory(&DeviceMemory::used_bytes), "used_bytes"},
      {"free", As::size, memory(&DeviceMemory::free_bytes), "free_bytes"}};
  if (budget) {
    const auto bytes = [budget](const ShownDevice& one) { return budget_on(*budget, one.info, one.memory); };
    fields.emplace_back("budget", As::size, bytes, "budget_bytes");
  }
  return fields;
}

void print_devices(const DeviceList& list, const std::optional<MemoryBudget>& budget, bool as_json) {
  std::vector<ShownDevice> devices;
  for (const DeviceInfo& info : list.devices) devices.push_back({info, memory_of(info)});
  const Fields<ShownDevice> fields = device_fields(budget);
  if (as_json) {
    Json json = json_fields::begin(format::kDevices);
    json.update(Json{{"devices", rows_json(fields, devices)}, {"reasons", list.reasons}});
    return print_text(json_fields::pretty(json));
  }
  print_text(rows_text(fields, devices));
  for (const std::string& reason : list.reasons) std::cerr << "no device found for " << reason << '\n';
}

}  // namespace

void add_devices_command(CLI::App& app, Result& result) {
  const auto json = std::make_shared<bool>(false);
  const auto budget = std::make_shared<std::optional<MemoryBudget>>();
  CLI::App* command = app.add_subcommand("devices", "List devices and their memory");
  command->add_flag("--json", *json, "Print all properties as JSON. Unknown values are null");
  add_parsed_option(
      *command, "--budget", [budget](const std::string& text) { *budget = parse_budget(text); },
      "Print what this budget is on each device, such as 90% or free")
      ->type_name(value_name::kSize);
  set_help(*command, {.exit_codes = {{"0", "clean"}, {"4", "no device except `dry`"}}});
  command->callback([json, budget, &result] {
    const DeviceList list = list_devices();
    print_devices(list, *budget, *json);
    const bool any = std::ranges::any_of(list.devices,
                                         [](const DeviceInfo& info) { return info.backend != Backend::dry; });
    result.code = any ? ExitCode::clean : ExitCode::nothing;
  });
}

}  // namespace peakmark::cli
