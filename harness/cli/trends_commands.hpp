#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "analyse/trend/reports.hpp"

namespace peakmark::cli {

/// The trends of devices of a history.
struct HistoryTrends {
  std::vector<trend::DeviceHistory> histories;  ///< without series and outcomes, which reports do not need
  std::vector<trend::DeviceTrends> devices;     ///< refer to `histories`
};

/// Reads and judges one device after the other, so that only the values of one device are in memory.
/// `complete` is called for each device while its values are available. `branch`: as in History::read().
HistoryTrends find_history_trends(history::History& history,
                                  const std::vector<history::DeviceBackend>& devices,
                                  const std::string& branch, const trend::TrendOptions& options = {},
                                  const std::function<void(trend::DeviceTrends&)>& complete = {});

/// Adds `accept` to `trends`.
CLI::App* add_accept_command(CLI::App& trends);

}  // namespace peakmark::cli
