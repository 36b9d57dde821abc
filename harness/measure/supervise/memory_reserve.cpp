#include "measure/supervise/memory_reserve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/device/largest_allocation.hpp"
#include "measure/runfile/field_list.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/device_lock.hpp"

namespace peakmark {

template <EitherConst<MemoryReserve> T, typename Fields>
void for_each_field(T& reserve, Fields& fields) {
  fields("free_bytes", reserve.free_bytes);
  fields("context_bytes", reserve.context_bytes);
  fields("library_bytes", reserve.library_bytes);
  fields("allocatable_bytes", reserve.allocatable_bytes);
  fields("date", reserve.date);
}

template <EitherConst<FilledDevice> T, typename Fields>
void for_each_field(T& filled, Fields& fields) {
  fields("free_bytes", filled.free_bytes);
  fields("library_bytes", filled.library_bytes);
  fields("allocatable_bytes", filled.allocatable_bytes);
}

namespace {

using json_fields::Json;

// The child starts a driver and clears the whole memory of a device.
constexpr std::chrono::seconds kFillLimit{120};

/// Returns the facts that identify a device. The index is not among them, because it may change.
Json identity(const DeviceInfo& device) {
  return {{"device", device.name}, {"driver", device.driver}, {"pci", device.pci}};
}

std::filesystem::path reserve_file(const DeviceInfo& device) {
  return lock_folder() /
         fmt::format("reserve-{}-{}-{}.json", to_string(device.backend), device.index, lock_name(device));
}

/// Returns the stored result of an earlier measurement; null if there is none, or it is for another device or
/// driver.
std::optional<MemoryReserve> read_kept(const DeviceInfo& device) {
  try {
    const Json json = Json::parse(read_text_file(reserve_file(device)));
    if (json.at("of") != identity(device)) return std::nullopt;
    MemoryReserve reserve;
    json_fields::read(json, reserve);
    return reserve.bytes() ? std::optional(reserve) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

/// Fills the device in a child process, while this one has it open.
MemoryReserve fill_in_child(const DeviceInfo& device) {
  MemoryReserve reserve;
  reserve.date = utc_date().substr(0, 10);
  const auto opened = open_device(device);
  reserve.free_bytes = opened->memory().free_bytes;
  FilledDevice filled;
  try {
    const Answer answer = ask(probe_command(device, {"--fill-device"}), kFillLimit);
    if (answer.end.exit_code != 0) return reserve;
    json_fields::read(Json::parse(answer.output), filled);
  } catch (const NoAnswer&) {
    return reserve;
  } catch (const Json::exception&) {
    return reserve;
  }
  reserve.library_bytes = filled.library_bytes;
  reserve.allocatable_bytes = filled.allocatable_bytes;
  if (reserve.free_bytes && filled.free_bytes)
    reserve.context_bytes = std::max<Size>(*reserve.free_bytes - *filled.free_bytes, 0);
  return reserve;
}

}  // namespace

WorkerCommand probe_command(const DeviceInfo& device, std::vector<std::string> options) {
  options.insert(options.begin(), "doctor");
  options.insert(options.end(), {"--tried-backend", std::string(to_string(device.backend)), "--tried-device",
                                 std::to_string(device.index)});
  return {own_program(), std::move(options), {}, ""};
}

std::string filled_json(const DeviceInfo& device) {
  return json_fields::pretty(json_fields::to_json(fill_device(device)));
}

MemoryReserve measure_reserve(const DeviceInfo& device) {
  const DeviceLock lock(
      device, {.suite = "its free memory", .memory_only = true},
      [](const std::string& holder) { say("  waiting for the device: " + holder); }, [] {});
  MemoryReserve reserve = fill_in_child(device);
  if (!reserve.bytes()) return reserve;
  Json json = json_fields::to_json(reserve);
  json["of"] = identity(device);
  replace_text_file(reserve_file(device), json_fields::pretty(json));
  return reserve;
}

MemoryReserve known_reserve(const DeviceInfo& device) {
  if (const auto kept = read_kept(device)) return *kept;
  say(fmt::format("measuring how much of the free memory of {} can be allocated", device.name));
  return measure_reserve(device);
}

ResolvedBudget resolve_budget_on(const MemoryBudget& budget, const DeviceInfo& device,
                                 const DeviceMemory& memory) {
  const bool is_measured = budget.needs_measured_reserve() && memory.free_bytes.has_value();
  return resolve_budget(budget, device, memory, is_measured ? known_reserve(device) : MemoryReserve());
}

ResolvedBudget resolve_budget_on(const MemoryBudget& budget, const DeviceInfo& device) {
  return resolve_budget_on(budget, device,
                           budget.is_of_free_memory() ? open_device(device)->memory() : DeviceMemory());
}

}  // namespace peakmark
