#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/device/device.hpp"
#include "measure/supervise/worker_program.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

/// The user's selection of cases and device.
struct SelectionOptions {
  std::vector<std::filesystem::path> suites;
  std::vector<std::string> named_variants;  ///< ExpandOptions::variants
  std::vector<std::string> axes;            ///< ExpandOptions::axes
  std::optional<std::string> filter;        ///< a regular expression (ECMAScript); see filtered()
  std::optional<std::string> backend;       ///< replaces the suite's backend axis
  std::string device;                       ///< index or part of a name
  std::string device_class;                 ///< RunContext::device_class
  std::optional<std::string> require;       ///< `cuda` or `gpu`
  std::optional<std::string> shard;         ///< `I/N`
  /// An earlier run: the cases of each shard took about the same time in it; null: a shard has every N-th
  /// case.
  std::optional<std::filesystem::path> balance;
  std::optional<std::pair<std::string, std::string>> variants;  ///< only this pair
};

/// Returns the words of the command line that name the cases: suites, variants, axes.
std::vector<std::string> case_words(const SelectionOptions& options);

/// The selected cases and their device.
struct Selection {
  DeviceInfo device;         ///< `dry` if every case is
  std::string device_class;  ///< RunContext::device_class
  Suite suite;               ///< without its cases: the selected ones are `planned`
  /// After filter, then shard: empty if there are fewer cases than shards.
  std::vector<PlannedCase> planned;
  std::optional<std::string> filter;
  std::optional<std::string> asked_backend;  ///< the requested backend, which replaces that of the suites
  std::optional<Shard> shard;
};

/// Returns the cases whose name, or full name, matches the expression. Throws UsageError for an invalid
/// expression, and if no case is left.
std::vector<PlannedCase> filtered(std::vector<PlannedCase> cases, const std::string& expression);

/// Selects device and cases. Calls `check` with every case of the suites, before filter and shard, and before
/// a missing device is an error. Throws UsageError for errors of options and suites, and DeviceError, which
/// lists the devices, if the device or the requirement is missing.
Selection select(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                 const CaseCheck& check = nullptr);

/// The cases that `list` shows: those of select(), but without a device, the backend of cases that name none
/// is `auto`.
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

/// Returns true if the backend of a case is not the backend of the run's device. `dry` runs with any device.
bool is_of_another_backend(const PlannedCase& planned, const DeviceInfo& device);

}  // namespace peakmark
