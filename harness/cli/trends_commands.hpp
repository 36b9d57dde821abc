#pragma once

#include <CLI/App.hpp>
#include <vector>

#include "history/history.hpp"
#include "trend/reports.hpp"

namespace peakmark::cli {

/// Returns the trends of devices of a history, without states of cases.
std::vector<trend::DeviceTrends> find_history_trends(history::History& history,
                                                     const std::vector<trend::DeviceHistory>& devices,
                                                     const trend::TrendOptions& options = {});

/// Adds `accept` to `trends`.
void add_accept_command(CLI::App& trends);

}  // namespace peakmark::cli
