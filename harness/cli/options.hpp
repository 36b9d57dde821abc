#pragma once

#include <CLI/App.hpp>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"
#include "base/error.hpp"
#include "base/size.hpp"
#include "measure/device/memory_budget.hpp"
#include "measure/supervise/run_selection.hpp"
#include "measure/supervise/sweep_run.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark::cli {

/// Placeholders of option values in --help. Completion offers values by placeholder, so an option with such a
/// value must have it as its type_name; a positional must have it as its name.
namespace value_name {
inline constexpr const char* kFile = "FILE";
inline constexpr const char* kFolder = "FOLDER";
inline constexpr const char* kProgram = "PROGRAM";
inline constexpr const char* kLabelledProgram = "[LABEL=]PROGRAM";
inline constexpr const char* kBuild = "BUILD";  ///< a build tree, an install prefix or a worker
inline constexpr const char* kProfile = "PROFILE";
inline constexpr const char* kRun = "RUN";          ///< a run file, *.json
inline constexpr const char* kSuite = "SUITE";      ///< a suite, *.toml
inline constexpr const char* kHistory = "HISTORY";  ///< a file or a URL
inline constexpr const char* kVariant = "VARIANT";  ///< of the worker that the command would start
inline constexpr const char* kCommand = "COMMAND";  ///< a command of peakmark, then its subcommand
// Completion offers no values for these.
inline constexpr const char* kRegex = "REGEX";
inline constexpr const char* kDevice = "DEVICE";
inline constexpr const char* kShard = "I/N";
inline constexpr const char* kBranch = "BRANCH";
inline constexpr const char* kSeconds = "SECONDS";
inline constexpr const char* kWindow = "WINDOW";
inline constexpr const char* kSize = "SIZE";
inline constexpr const char* kGrowth = "GROWTH";  ///< a size or a percentage
/// CLI11 does not check it: the command suggests the nearest backend.
inline constexpr const char* kBackend = "{auto,opencl,cuda,dry}";
inline constexpr const char* kMetric =
    "{requested_peak_bytes,setup_bytes,leaked_bytes,gpu_time_ns,estimate_ratio}";
}  // namespace value_name

// The option table of a command, for help, completion and manual pages

/// Returns the options or the positionals of a command, without hidden ones.
std::vector<const CLI::Option*> shown_options(const CLI::App& command);
std::vector<const CLI::Option*> positionals(const CLI::App& command);
std::vector<const CLI::App*> subcommands(const CLI::App& command);
/// Returns null if there is no such subcommand.
const CLI::App* find_subcommand(const CLI::App& command, const std::string& name);

/// Returns `-o` and `--output`; empty for a positional.
std::vector<std::string> option_names(const CLI::Option& option);
/// Returns the closed set of values: `csv` and `jsonl` for the type `{csv,jsonl}`; empty for any other type.
std::vector<std::string> choices(const CLI::Option& option);
/// Returns the placeholder of the value in the help, such as `FILE`; empty for a flag.
std::string placeholder(const CLI::Option& option);
/// Returns the maximum number of values that may follow: 0 for a flag, kAnyNumber without a limit.
int max_values(const CLI::Option& option);
inline constexpr int kAnyNumber = CLI::detail::expected_max_vector_size;
/// Returns whether the option may occur more than once.
bool is_repeatable(const CLI::Option& option);

/// Declares when an option has an effect; in any other command line it is refused with exit code 2, not
/// ignored. The help says "Only with ci." for `when`, behind the description or as the name of the option's
/// group. The condition may read the values of options that are declared before, and the counts of all
/// options. If the condition is a single other option, use needs() or excludes() of CLI11.
/// option_effects_test.cpp tries all of them.
CLI::Option* only_when(CLI::Option* option, const std::string& when, const std::function<bool()>& has_effect);

// Options that several commands share. A value is parsed with the command line: a wrong one ends the command
// with a usage message before anything is read, measured or removed.

/// Rejects an empty file name: `-o "$UNSET"` is an error.
extern const CLI::Validator kFileName;
/// Rejects an empty text.
extern const CLI::Validator kNotEmpty;

/// Adds an option for a file to write or to read.
template <typename Value>
CLI::Option* add_file_option(CLI::App& command, const std::string& names, Value& file,
                             const std::string& description) {
  return command.add_option(names, file, description)->type_name(value_name::kFile)->check(kFileName);
}

/// Adds an option whose text `parse` converts to a value. An Error of `parse` becomes `--OPTION: …`, the
/// message of a wrong command line.
template <typename Parse>
CLI::Option* add_parsed_option(CLI::App& command, const std::string& names, Parse parse,
                               const std::string& description) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return command.add_option_function<std::string>(
      names,
      [name, parse](const std::string& text) {
        try {
          parse(text);
        } catch (const Error& error) {
          throw CLI::ValidationError(name, error.what());
        }
      },
      description);
}

/// Adds an option for bytes: `4096`, `24 MB`, `16GiB`.
CLI::Option* add_size_option(CLI::App& command, const std::string& names, std::optional<Size>& bytes,
                             const std::string& description);

/// Adds --budget, the memory of a device, or $PEAKMARK_BUDGET.
CLI::Option* add_budget_option(CLI::App& command, std::optional<MemoryBudget>& budget,
                               const std::string& description);
/// Adds --max-allocation, the maximum bytes of one allocation, or $PEAKMARK_MAX_ALLOCATION.
CLI::Option* add_max_allocation_option(CLI::App& command, std::optional<Size>& bytes);
/// Returns the budget on the chosen device, in bytes. Prints how it was computed if it is a part of the
/// device's memory. Throws UsageError if the device does not report that.
std::optional<Size> budget_bytes(const std::optional<MemoryBudget>& budget, const DeviceChoice& choice);

/// Adds an option for seconds, from 0.001 to ten years.
CLI::Option* add_seconds_option(CLI::App& command, const std::string& names,
                                std::optional<std::chrono::milliseconds>& time,
                                const std::string& description);

/// Adds --timeout. Without it, the limit of a case grows with its bytes.
CLI::Option* add_timeout_option(CLI::App& command, CaseLimit& limit);

/// Adds --allow-growth, for commands that judge growth of bytes.
CLI::Option* add_allow_growth_option(CLI::App& command, GrowthAllowance& allowance);

/// Lets an option of a list be repeated, with one value each time.
CLI::Option* repeatable(CLI::Option* option);

/// Adds a word AXIS=VALUES to the axes. Returns false, and adds nothing, if it is another word.
bool take_axis(const std::string& word, SelectionOptions& selection);
/// Adds the positional argument: suites, variants and axes. One suite or variant is required.
void add_cases_argument(CLI::App& command, SelectionOptions& selection);
/// Adds --axis.
CLI::Option* add_axis_option(CLI::App& command, SelectionOptions& selection);
/// Adds --backend and --device. Returns them in this order.
std::array<CLI::Option*, 2> add_device_options(CLI::App& command, SelectionOptions& selection);
/// Adds --axis, --filter, --backend and --device, for commands that expand suites. Returns them in this
/// order.
std::array<CLI::Option*, 4> add_selection_options(CLI::App& command, SelectionOptions& selection);
/// Declares that an option about times has no effect on `dry`. --backend must be declared before.
CLI::Option* only_with_times(CLI::Option* option, const SelectionOptions& selection);
/// Adds --require, which requires a GPU.
CLI::Option* add_require_option(CLI::App& command, SelectionOptions& selection);
/// Adds --shard and --balance, for commands whose cases may be distributed. Returns --shard.
CLI::Option* add_shard_option(CLI::App& command, SelectionOptions& selection);
/// Adds --worker. `description`: how it is used, without the default.
CLI::Option* add_worker_option(CLI::App& command, std::optional<std::string>& worker,
                               const std::string& description = "Use the variants of this worker");
/// Adds --worker for several programs, each with a label.
void add_workers_option(CLI::App& command, std::vector<std::string>& workers, const std::string& description);

/// Adds --seconds, the maximum time for an answer of an estimator.
CLI::Option* add_answer_limit_option(CLI::App& command, std::optional<double>& seconds);

/// Adds --form: how an estimator in Python is called.
CLI::Option* add_form_option(CLI::App& command, ExternalEstimator& estimator);

/// Adds --python: the interpreter for an estimator python:…. `call` returns the given estimator.
CLI::Option* add_python_option(CLI::App& command, ExternalEstimator& estimator,
                               const std::function<std::string()>& call);

/// Adds --other-dimensions, formulas of axes such as `nx,nx`, for commands that ask about recorded runs.
CLI::Option* add_dimensions_option(CLI::App& command, ExternalEstimator& estimator);

/// Adds --frames, for commands that name call sites; 0: not given (name_sites()).
CLI::Option* add_frames_option(CLI::App& command, std::size_t& frames);

/// Adds --history, for commands that read or write a history.
CLI::Option* add_history_option(CLI::App& command, std::string& history);
/// Returns the history that the option names, or $PEAKMARK_HISTORY; empty if both are.
std::string history_place(const std::string& option);
/// Opens the history that the option names, or $PEAKMARK_HISTORY. Throws UsageError if both are empty.
std::unique_ptr<history::History> open_history(const std::string& option, history::History::Purpose purpose);
/// Returns `'NAME' (BACKEND), …`.
std::string device_names(const std::vector<history::DeviceBackend>& devices);
/// Returns the devices with runs of a branch (as in History::devices()) that have this name, which may be an
/// earlier one; empty: all. Throws UsageError that lists the others if there is none.
std::vector<history::DeviceBackend> devices_named(history::History& history, const std::string& branch,
                                                  const std::string& name);
/// Returns the device of a run in the history; null if the history has no run of it.
std::optional<history::DeviceBackend> find_device(history::History& history, const RunContext& context);

/// Returns a day, or a day and a time, in the form of files (utc_date()). Throws UsageError.
std::string parse_date_text(const std::string& text);

}  // namespace peakmark::cli
