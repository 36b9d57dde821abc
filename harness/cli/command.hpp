#pragma once

#include <CLI/App.hpp>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace peakmark::cli {

/// The result of a subcommand for main(), unless it ended with an Error.
struct Result {
  ExitCode code = ExitCode::clean;
  int program_code = 0;            ///< of `record`: the exit code of the recorded program
  std::vector<std::string> words;  ///< the command line as typed, from the subcommand on
};

/// Adds a subcommand with its options and its help (set_help). Its callback does the work and sets `result`.
/// If it throws an Error, the program ends with the Error's exit code and message.
using AddCommand = void(CLI::App& app, Result& result);

// To add a subcommand: write NAME_command.cpp, and add it here and to CMakeLists.txt. Help, completion and
// manual pages follow from its options.
AddCommand add_bisect_command, add_check_command, add_compare_command, add_completion_command,
    add_devices_command, add_doctor_command, add_estimate_command, add_explain_command, add_fit_command,
    add_history_command, add_init_command, add_list_command, add_manual_command, add_merge_command,
    add_oom_command, add_plot_command, add_record_command, add_report_command, add_run_command,
    add_schema_command, add_show_command, add_slurm_command, add_trends_command;

/// The order of --help: the order of a user's work.
inline constexpr std::array kAddCommands{
    add_init_command,    add_devices_command,    add_doctor_command, add_list_command,
    add_run_command,     add_slurm_command,      add_merge_command,  add_estimate_command,
    add_explain_command, add_fit_command,        add_oom_command,    add_check_command,
    add_plot_command,    add_record_command,     add_show_command,   add_compare_command,
    add_bisect_command,  add_history_command,    add_trends_command, add_report_command,
    add_schema_command,  add_completion_command, add_manual_command};

/// Completes a command line if `words` come from a shell's completion script: `__complete WORD...`. Returns
/// false for any other command line.
bool complete_words(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace peakmark::cli
