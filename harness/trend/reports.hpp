#pragma once

#include <string>
#include <vector>

#include "trend/trends.hpp"

namespace peakmark::trend {

/// What is to be told of one device.
struct DeviceTrends {
  const DeviceHistory* history = nullptr;
  Trends trends;
};

/// One line to read first.
std::string headline(const std::vector<DeviceTrends>& devices);

/// docs/formats.md, "Trends".
std::string trends_json(const std::vector<DeviceTrends>& devices);
/// For the console: what is open, what is new of the last night, then what cannot be told yet.
std::string trends_table(const std::vector<DeviceTrends>& devices);
std::string trends_markdown(const std::vector<DeviceTrends>& devices);

}  // namespace peakmark::trend
