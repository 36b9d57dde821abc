#pragma once

#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "analyse/trend/reports.hpp"

namespace peakmark::cli {

/// Runs a shell command once for each finding that is new or closed since it was last sent, with the JSON of
/// the finding on its standard input, and stores this in the history. Two processes never send a finding at
/// the same time. Prints a warning for a command that fails or takes longer than a minute; the next call
/// sends the finding again.
void notify(history::History& history, const std::vector<trend::DeviceTrends>& trends,
            const std::string& command);

}  // namespace peakmark::cli
