#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trend/case_status.hpp"
#include "trend/trends.hpp"

namespace peakmark::trend {

/// What is to be told of one device.
struct DeviceTrends {
  const DeviceHistory* history = nullptr;
  Trends trends;
  std::vector<CaseStatus> standings;
};

/// Cases of which CaseStatus::needs_a_look() holds.
std::size_t cases_to_confirm(const std::vector<DeviceTrends>& devices);
/// How many cases there are of each kind, in the words of `check` (check/tally.hpp).
std::string tally(const std::vector<DeviceTrends>& devices);
/// One line to read first: `2 cases need a look`.
std::string headline(const std::vector<DeviceTrends>& devices);

/// docs/formats.md, "Trends".
std::string trends_json(const std::vector<DeviceTrends>& devices);
/// For the console: what is open, what is new of the last night, then what cannot be told yet.
std::string trends_table(const std::vector<DeviceTrends>& devices);
std::string trends_markdown(const std::vector<DeviceTrends>& devices);

}  // namespace peakmark::trend
