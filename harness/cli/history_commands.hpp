#pragma once

#include <CLI/App.hpp>

#include "cli/run_origin.hpp"

// Subcommands of `peakmark history` that change it.
namespace peakmark::cli {

void add_add_command(CLI::App& app);
void add_create_command(CLI::App& app);
void add_set_command(CLI::App& app);

/// Adds --branch, --base-branch and --merge-base.
void add_origin_options(CLI::App& command, OriginOptions& options);

}  // namespace peakmark::cli
