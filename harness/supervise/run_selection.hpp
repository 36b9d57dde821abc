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

/// What a user asks to be measured, and on what.
struct SelectionOptions {
  std::vector<std::filesystem::path> suites;
  std::optional<std::string> filter;   ///< a regular expression (ECMAScript); see filtered()
  std::optional<std::string> backend;  ///< replaces the suite's backend axis
  std::string device;                  ///< index or part of a name
  std::optional<std::string> require;  ///< `cuda` or `gpu`
  std::optional<std::string> shard;    ///< `I/N`
  std::optional<std::pair<std::string, std::string>> variants;  ///< only these two
};

/// What is measured.
struct Selection {
  DeviceInfo device;  ///< `dry` where every case is
  Suite suite;        ///< without its cases: those that are left of them are `planned`
  /// After filter, then shard: empty where there are fewer cases than shards.
  std::vector<PlannedCase> planned;
  std::optional<std::string> filter;
  std::optional<std::string> asked_backend;  ///< which took the place of the suites' own
  std::optional<Shard> shard;
};

/// The cases in whose name, or full name, the expression is found. UsageError when it is none, or leaves no
/// case.
std::vector<PlannedCase> filtered(std::vector<PlannedCase> cases, const std::string& expression);

/// Chooses device and cases among what is here. `check` sees every case of the suites, before filter and
/// shard, and before a missing device is an error. Throws UsageError for mistakes, DeviceError when the
/// device, or what is required, is missing: it names what is, and why the rest is not.
Selection select(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                 const CaseCheck& check = nullptr);

/// What `list` shows: as `select`, but where there is no device the backend of cases that leave it open is
/// `auto`.
struct Listing {
  Suite suite;  ///< without its cases
  std::vector<PlannedCase> cases;
  bool all_dry = false;  ///< every case of all shards
};
Listing list_cases(const SelectionOptions& options, const Description& description, const DeviceList& devices,
                   const CaseCheck& check = nullptr);

/// A regular expression that finds exactly this text.
std::string exactly(const std::string& text);

/// A case whose backend is not that of the run's device. `dry` runs beside any device.
bool is_of_another_backend(const PlannedCase& planned, const DeviceInfo& device);

}  // namespace peakmark
