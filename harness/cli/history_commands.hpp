#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "cli/run_origin.hpp"
#include "measure/runfile/run_file.hpp"

// Subcommands of `peakmark history`.
namespace peakmark::cli {

void add_add_command(CLI::App& app);
void add_create_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_import_command(CLI::App& app);
void add_remove_command(CLI::App& app);
void add_set_command(CLI::App& app);

/// The history to which runs are added, and how.
struct AddTarget {
  std::string history;
  OriginOptions origin;
  history::Placement placement = history::Placement::arrival;
  /// How long to retry while the database does not answer.
  std::optional<std::chrono::milliseconds> retry = std::chrono::seconds(30);
  bool json = false;
};

/// A run and its file.
struct FileRun {
  std::filesystem::path file;
  Run run;
};

/// Adds --history, --retry, --by-date, --json and the options of add_origin_options().
void add_target_options(CLI::App& command, AddTarget& target);
/// Adds runs in the order of their dates, and prints what was added. Throws UsageError if a run is refused;
/// the runs before it stay added. If the database does not answer for longer than `target.retry`, prints how
/// to add the rest: `command` (`history add`) with its files and `more_words`.
void add_runs(const AddTarget& target, std::vector<FileRun> runs, const std::string& command,
              const std::vector<std::string>& more_words = {});

/// Adds --branch, --base-branch and --merge-base.
void add_origin_options(CLI::App& command, OriginOptions& options);

}  // namespace peakmark::cli
