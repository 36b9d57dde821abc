#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "supervise/worker_program.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// What the user selects to be measured, and on which device.
struct SelectionOptions {
  std::vector<std::filesystem::path> suites;
  std::optional<std::string> filter;   ///< a regular expression (ECMAScript); see filtered()
  std::optional<std::string> backend;  ///< replaces the suite's backend axis
  std::string device;                  ///< index or part of a name
  std::string device_class;            ///< RunContext::device_class
  std::optional<std::string> require;  ///< `cuda` or `gpu`
  std::optional<std::string> shard;    ///< `I/N`
  /// An earlier run: shards have cases that took about the same time in it; null: every N-th case.
  std::optional<std::filesystem::path> balance;
  std::optional<std::pair<std::string, std::string>> variants;  ///< only these two
};

/// What is measured.
struct Selection {
  DeviceInfo device;         ///< `dry` if every case is
  std::string device_class;  ///< RunContext::device_class
  Suite suite;               ///< without its cases: the selected ones are `planned`
  /// After filter, then shard: empty where there are fewer cases than shards.
  std::vector<PlannedCase> planned;
  std::optional<std::string> filter;
  std::optional<std::string> asked_backend;  ///< that replaces the suites' own
  std::optional<Shard> shard;
};

/// Returns the cases in whose name, or full name, the expression is found. Throws UsageError for an invalid
/// expression, and if no case is left.
std::vector<PlannedCase> filtered(std::vector<PlannedCase> cases, const std::string& expression);

/// Selects device and cases. `check` gets every case of the suites, before filter and shard, and before a
/// missing device is an error. Throws UsageError for errors of options and suites, and DeviceError, which
/// lists the devices, if the device or the requirement is missing.
Selection select(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                 const CaseCheck& check = nullptr);

/// The cases that `list` shows: as select(), but without a device the backend of cases that leave it open is
/// `auto`.
struct Listing {
  Suite suite;  ///< without its cases
  std::vector<PlannedCase> cases;
  bool all_dry = false;  ///< every case of all shards
  std::optional<Shard> shard;
};
Listing list_cases(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                   const CaseCheck& check = nullptr);

/// Returns the seconds of the cases of a run. Throws UsageError if none has them.
CaseSeconds recorded_seconds(const std::filesystem::path& run_file);

/// Returns a regular expression that matches exactly this text.
std::string exactly(const std::string& text);

/// Returns true if the backend of a case is not that of the run's device. `dry` runs with any device.
bool is_of_another_backend(const PlannedCase& planned, const DeviceInfo& device);

}  // namespace peakmark
