#pragma once

#include <CLI/App.hpp>
#include <array>

#include "supervise/run_selection.hpp"

namespace peakmark::cli {

/// --filter, --backend and --device, of every command that expands suites; in the order of the help.
std::array<CLI::Option*, 3> add_selection_options(CLI::App& command, SelectionOptions& selection);

/// --shard, of those whose cases may be shared out.
void add_shard_option(CLI::App& command, SelectionOptions& selection);

}  // namespace peakmark::cli
