#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "history/history.hpp"

namespace peakmark::cli {

/// `--history FILE or URL`, of every command that reads or writes a history.
void add_history_option(CLI::App& command, std::string& history);

/// Opens what the option says, or $PEAKMARK_HISTORY; UsageError where both are empty. What was brought up to
/// date is told on standard error.
std::unique_ptr<history::History> open_history(const std::string& option, history::History::Purpose purpose);

}  // namespace peakmark::cli
