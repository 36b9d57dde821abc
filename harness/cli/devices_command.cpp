#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/size.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "runfile/json_fields.hpp"
#include "supervise/memory_reserve.hpp"

namespace peakmark::cli {
namespace {

using json_fields::Json;
using json_fields::or_null;

/// Opens the device for a moment to read its memory; unknown if the device cannot be opened.
DeviceMemory memory_of(const DeviceInfo& info) {
  try {
    return open_device(info)->memory();
  } catch (const Error& error) {
    std::cerr << fmt::format("peakmark: {} {}: {}\n", to_string(info.backend), info.index, error.what());
    return {};
  }
}

/// Returns what a budget is on this device; null where the device does not report what it is a part of.
std::optional<Size> budget_on(const MemoryBudget& budget, const DeviceInfo& info,
                              const DeviceMemory& memory) {
  try {
    return resolve_budget_on(budget, info, memory).bytes;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

Json json_of(const DeviceInfo& info, const std::optional<MemoryBudget>& budget) {
  const DeviceMemory memory = memory_of(info);
  Json json{{"backend", to_string(info.backend)},
            {"index", info.index},
            {"name", info.name},
            {"vendor", json_fields::null_if_empty(info.vendor)},
            {"platform", info.platform},
            {"driver", json_fields::null_if_empty(info.driver)},
            {"version", json_fields::null_if_empty(info.version)},
            {"pci", json_fields::null_if_empty(info.pci)},
            {"is_cpu", info.is_cpu},
            {"has_f64", info.has_f64},
            {"compute_units", info.compute_units > 0 ? Json(info.compute_units) : Json(nullptr)},
            {"memory_bytes", or_null(info.memory_bytes)},
            {"max_allocation_bytes", or_null(info.max_allocation_bytes)},
            {"used_bytes", or_null(memory.used_bytes)},
            {"free_bytes", or_null(memory.free_bytes)}};
  if (budget) json["budget_bytes"] = or_null(budget_on(*budget, info, memory));
  return json;
}

std::string size_text(const std::optional<Size>& bytes) {
  return bytes ? format_size(*bytes) : "-";
}

void print_table(const DeviceList& list, const std::optional<MemoryBudget>& budget) {
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns{{"backend"},
                                         {"index", Align::right},
                                         {"name"},
                                         {"kind"},
                                         {"driver"},
                                         {"memory", Align::right},
                                         {"largest allocation", Align::right},
                                         {"used", Align::right},
                                         {"free", Align::right}};
  if (budget) columns.push_back({"budget", Align::right});
  TextTable table(columns);
  for (const DeviceInfo& info : list.devices) {
    std::vector<std::string> cells{"dry", "0", info.name, "allocation log", "-", "-", "-", "-", "-"};
    DeviceMemory memory;
    if (info.backend != Backend::dry) {
      memory = memory_of(info);
      cells = {std::string(to_string(info.backend)),
               std::to_string(info.index),
               info.name,
               info.is_cpu ? "CPU" : "GPU",
               info.driver.empty() ? "-" : info.driver,
               size_text(info.memory_bytes),
               size_text(info.max_allocation_bytes),
               size_text(memory.used_bytes),
               size_text(memory.free_bytes)};
    }
    if (budget) cells.push_back(size_text(budget_on(*budget, info, memory)));
    table.add(cells);
  }
  print_text(table.text());
  for (const std::string& reason : list.reasons) std::cerr << "no device found for " << reason << '\n';
}

void print_json(const DeviceList& list, const std::optional<MemoryBudget>& budget) {
  Json devices = Json::array();
  for (const DeviceInfo& info : list.devices) devices.push_back(json_of(info, budget));
  Json json = json_fields::begin(format::kDevices);
  json.update(Json{{"devices", devices}, {"reasons", list.reasons}});
  print_text(json_fields::pretty(json));
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
    if (*json) {
      print_json(list, *budget);
    } else {
      print_table(list, *budget);
    }
    const bool any = std::ranges::any_of(list.devices,
                                         [](const DeviceInfo& info) { return info.backend != Backend::dry; });
    result.code = any ? ExitCode::clean : ExitCode::nothing;
  });
}

}  // namespace peakmark::cli
