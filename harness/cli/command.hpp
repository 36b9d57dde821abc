#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace peakmark::cli {

/// What a subcommand leaves for main(): its exit code, where it did not end with an Error.
struct Result {
  ExitCode code = ExitCode::clean;
  /// Of `record`: the exit code of the program recorded, where that is not 0.
  int program_code = 0;
  /// The command line as it was typed, from the subcommand on.
  std::vector<std::string> words;
};

// One function a subcommand, each in a file of its own name: adds the subcommand with its options to `app`;
// its callback does the work and sets `result`. An Error thrown out of it ends the command with its code and
// message.

void add_list_command(CLI::App& app, Result& result);
void add_run_command(CLI::App& app, Result& result);
void add_merge_command(CLI::App& app, Result& result);
void add_estimate_command(CLI::App& app, Result& result);
void add_check_command(CLI::App& app, Result& result);
void add_plot_command(CLI::App& app, Result& result);
void add_record_command(CLI::App& app, Result& result);
/// The command line `words` with a `--` before the program of `record`, whose words are all its own: options
/// of ours among them (-o) are not ours there.
std::vector<std::string> with_program_apart(const CLI::App& app, std::vector<std::string> words);
void add_devices_command(CLI::App& app, Result& result);
void add_doctor_command(CLI::App& app, Result& result);
void add_show_command(CLI::App& app, Result& result);
void add_compare_command(CLI::App& app, Result& result);
void add_history_command(CLI::App& app, Result& result);
void add_trends_command(CLI::App& app, Result& result);
void add_report_command(CLI::App& app, Result& result);
void add_redact_command(CLI::App& app, Result& result);
void add_init_command(CLI::App& app, Result& result);
void add_schema_command(CLI::App& app, Result& result);
void add_completion_command(CLI::App& app, Result& result);
void add_manual_command(CLI::App& app, Result& result);

}  // namespace peakmark::cli
