#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/program.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/check/junit_tests.hpp"
#include "measure/compare/repeated_peaks.hpp"
#include "measure/runfile/json_fields.hpp"
#include "record/launch/record_program.hpp"
#include "record/profile/profile.hpp"
#include "record/profile/profile_files.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/repetition_reports.hpp"

namespace peakmark::cli {
namespace {

struct RecordOptions {
  std::string program;
  std::filesystem::path profile = "peakmark.profile";
  bool sync = false;
  bool stacks = false;
  int repeat = 0;       ///< 0: record once, without a comparison
  int repeat_call = 0;  ///< 0: repeated phases are not judged
  std::optional<Size> max_size;
  std::optional<MemoryBudget> budget;
  std::optional<Size> max_allocation;
  bool refuses_at_use = false;
  bool compact = false;
  bool allow_incomplete = false;
  std::string junit;
  bool json = false;
};

std::filesystem::path run_profile(const std::filesystem::path& name, int run) {
  return name.string() + ".run" + std::to_string(run);
}

/// Removes profiles from `run` on, left by an earlier recording with more runs.
void remove_further_runs(const std::filesystem::path& name, int run) {
  for (;; ++run) {
    const std::filesystem::path further = run_profile(name, run);
    std::error_code error;
    if (!std::filesystem::is_regular_file(further, error) && profiles_beside(further).empty()) return;
    remove_earlier_recording(further);
  }
}

/// Returns what ended the program early; empty if nothing did. A shell or `env` that runs the program reports
/// its signal as exit code 128 + signal.
std::string early_end(const Recording& recording) {
  constexpr int kSignals = 64;
  const int code = recording.program_code;
  const int signal = recording.signal != 0                  ? recording.signal
                     : code > 128 && code <= 128 + kSignals ? code - 128
                                                            : 0;
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return recording.interrupted ? "it was interrupted" : "";
}

RepeatedRun repeated_run(const Recording& recording) {
  RepeatedRun run{"", recording.program_code, recording.error, early_end(recording), std::nullopt};
  if (recording.profile) {
    run.profile = recording.profile->string();
    run.summary = summarise_together(read_tree(*recording.profile));
  }
  return run;
}

/// Returns true if the user accepts an incomplete profile, and there is one.
bool is_allowed(const RecordOptions& options, const Recording& recording) {
  return options.allow_incomplete && recording.profile.has_value();
}

/// Prints messages about a run, and keeps the first exit code that is not 0.
void report_run(const RecordOptions& options, const Recording& recording, Result& result) {
  if (result.program_code == 0) result.program_code = recording.program_code;
  // Reports the signal as a shell does, except SIGINT, because the user pressed Ctrl-C.
  if (recording.signal != 0 && recording.signal != SIGINT && recording.profile) {
    std::fprintf(
        stderr,
        "peakmark: the program was ended by signal %d (%s); its profile is complete to the last event: "
        "peakmark show %s\n",
        recording.signal, strsignal(recording.signal), recording.profile->c_str());
  }
  if (recording.error.empty()) return;
  std::fprintf(stderr, "peakmark: %s\n", one_line(recording.error).c_str());
  if (!is_allowed(options, recording)) result.code = ExitCode::recorder;
}

/// Records one run.
Recording record_run(const RecordOptions& options, RecordRequest request) {
  request.compact = options.compact;
  request.warn = [](const std::string& line) {
    std::fprintf(stderr, "peakmark: %s\n", one_line(line).c_str());
  };
  Recording recording = record_program(request, find_recorder_libraries());
  if (!recording.compact_error.empty())
    std::fprintf(stderr, "peakmark: --compact: %s\n", one_line(recording.compact_error).c_str());
  return recording;
}

std::string no_repetitions() {
  return fmt::format(
      "no phase occurred {} times or more; call peakmark.repeat_call(function) in the program, or mark its "
      "loop with peakmark.phase(\"call\")",
      kMinRepetitions);
}

/// A process with repeated phases.
struct RepeatingProcess {
  std::int32_t pid = 0;
  std::vector<RepeatedPhase> phases;
};

std::vector<RepeatingProcess> find_repeating_processes(const Recording& recording) {
  std::vector<RepeatingProcess> found;
  if (!recording.profile) return found;
  for (const RecordedProcess& process : read_tree(*recording.profile).processes) {
    std::vector<RepeatedPhase> phases = find_repetitions(process).value_or(std::vector<RepeatedPhase>{});
    if (!phases.empty()) found.push_back({process.header.pid, std::move(phases)});
  }
  return found;
}

/// Returns a JUnit file with a test for each repeated phase. Without such a phase, or if the recording is
/// incomplete without permission, it has a failing test, because leaks could not be searched for.
std::string repetitions_junit(const std::vector<RepeatingProcess>& processes, const RecordOptions& options,
                              const Recording& recording, const RecordRequest& request) {
  using enum JunitTest::Result;
  std::vector<JunitTest> tests;
  const auto add = [&](const std::string& name, const std::string& type, const std::string& message,
                       const std::string& details) {
    tests.push_back({name, "record", type.empty() ? passed : failed, type, message, details});
  };
  for (const RepeatingProcess& process : processes) {
    const std::string suffix = processes.size() > 1 ? fmt::format(" (process {})", process.pid) : "";
    for (const RepeatedPhase& phase : process.phases) {
      const char* const type = phase.has_leak() ? "leak" : phase.fails() ? "drift" : "";
      add(phase.phase + suffix, type, verdict_text(phase), phase.fails() ? growth_text({phase}) : "");
    }
  }
  if (!recording.error.empty() && !is_allowed(options, recording)) {
    add("recording", "recorder", recording.error, "");
  } else if (const std::string end = early_end(recording); !end.empty() || recording.program_code != 0) {
    add("program", "program",
        end.empty() ? fmt::format("the program ended with exit code {}", recording.program_code)
                    : fmt::format("the program was ended early: {}", end),
        "");
  } else if (processes.empty()) {
    add("repetitions", "nothing", no_repetitions(), "");
  }
  return junit_text({fmt::format("{}", fmt::join(request.command, " ")), std::move(tests)});
}

/// Prints the memory that repetitions left allocated, and sets the exit code. An incomplete recording has its
/// own exit code.
void report_repetitions(const std::vector<RepeatingProcess>& processes, Result& result) {
  bool fails = false;
  for (const RepeatingProcess& process : processes) {
    for (const RepeatedPhase& phase : process.phases) {
      fails = fails || phase.fails();
      std::fprintf(stderr, "peakmark: %s, %zu times%s: %s\n", one_line(phase.phase).c_str(),
                   phase.repetitions.size(),
                   processes.size() > 1 ? fmt::format(" in process {}", process.pid).c_str() : "",
                   verdict_text(phase).c_str());
    }
    const std::string text = growth_text(process.phases);
    if (!text.empty()) std::fprintf(stderr, "%s", text.c_str());
  }
  if (processes.empty())
    std::fprintf(stderr, "peakmark: record --repeat-call: %s\n", no_repetitions().c_str());
  if (result.code != ExitCode::clean) return;
  result.code = processes.empty() ? ExitCode::nothing : fails ? ExitCode::verdict : ExitCode::clean;
}

void record_once(const RecordOptions& options, const RecordRequest& request, Result& result) {
  const Recording recording = record_run(options, request);
  report_run(options, recording, result);
  std::vector<RepeatingProcess> repeating;
  if (options.repeat_call != 0) {
    repeating = find_repeating_processes(recording);
    report_repetitions(repeating, result);
    if (!options.junit.empty())
      write_output_file(options.junit, repetitions_junit(repeating, options, recording, request));
  }
  if (options.json) {
    using Json = json_fields::Json;
    Json json = repeated_peaks_json(repeated_peaks({repeated_run(recording)}), request.command);
    if (options.repeat_call != 0) {
      Json all = Json::array();
      for (const RepeatingProcess& process : repeating) {
        for (const Json& phase : repetitions_json(process.phases)) {
          Json one = {{"pid", process.pid}};
          for (const auto& [key, value] : phase.items()) one[key] = value;
          all.push_back(std::move(one));
        }
      }
      json["repetitions"] = std::move(all);
    }
    print_text(json_fields::pretty(json));
  } else if (recording.error.empty() && isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "peakmark: recorded; to see it: peakmark show %s\n", options.profile.c_str());
  }
}

void record_repeatedly(const RecordOptions& options, RecordRequest request, Result& result) {
  const RecordingName locked(options.profile);  // each run locks its own name
  remove_further_runs(options.profile, options.repeat + 1);
  std::vector<RepeatedRun> runs;
  for (int run = 1; run <= options.repeat; ++run) {
    request.profile = run_profile(options.profile, run);
    const Recording recording = record_run(options, request);
    report_run(options, recording, result);
    runs.push_back(repeated_run(recording));
    // After Ctrl-C, or if the program did not start, further runs are useless.
    if (recording.interrupted || recording.program_code >= 126) break;
  }
  const RepeatedPeaks peaks = repeated_peaks(std::move(runs));
  if (options.json) print_text(json_fields::pretty(repeated_peaks_json(peaks, request.command)));
  std::fprintf(stderr, "peakmark: %s", repeated_peaks_text(peaks, options.sync).c_str());
}

/// Warns if peakmark's recorder replaces another tool, because CUDA loads only one injection library.
void warn_of_replaced_injection() {
  const std::string replaced = replaced_injection(current_environment(), find_recorder_libraries());
  if (replaced.empty()) return;
  std::fprintf(stderr,
               "peakmark: CUDA_INJECTION64_PATH=%s is replaced by peakmark's recorder for this program: CUDA "
               "loads one library only; unset it to avoid this warning\n",
               one_line(replaced).c_str());
}

/// Returns the size limit of a profile; 0 without a limit.
std::uint64_t max_bytes(const RecordOptions& options) {
  constexpr Size kMinSize = Size{1} << 20;  // profiles grow in steps of this size
  if (!options.max_size) return 0;
  if (*options.max_size < kMinSize) throw UsageError("record: --max-size: too small; write at least 1 MiB");
  return static_cast<std::uint64_t>(*options.max_size);
}

void record(const RecordOptions& options, std::vector<std::string> arguments, Result& result) {
  if (!options.junit.empty()) remove_earlier_outputs({options.junit});
  // This `--` ends the options of `record`; a second one belongs to the program.
  if (!arguments.empty() && arguments.front() == "--") arguments.erase(arguments.begin());
  // A leak can be judged only after all releases, and its call stack shows its place.
  const bool judges = options.repeat_call != 0;
  RecordRequest request{.command = {options.program},
                        .profile = options.profile,
                        .sync = options.sync || judges,
                        .stacks = options.stacks || judges,
                        .repeat_call = options.repeat_call,
                        .max_bytes = max_bytes(options),
                        .limits = {budget_bytes(options.budget, {}), options.max_allocation},
                        .refuses_at_use = options.refuses_at_use,
                        .output_to_stderr = options.json};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  warn_of_replaced_injection();
  if (options.repeat == 0) {
    record_once(options, request, result);
  } else {
    record_repeatedly(options, std::move(request), result);
  }
}

}  // namespace

void add_record_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* command =
      app.add_subcommand("record", "Run any program, unchanged, and record its device memory");
  command
      ->add_option("-o,--output", options->profile,
                   "Write this profile; further processes write PROFILE.<pid>")
      ->type_name(value_name::kProfile)
      ->capture_default_str()
      ->check(kFileName);
  command->add_flag(
      "--sync", options->sync,
      "Finish the queue after each enqueue, so that the peak of an asynchronous program repeats");
  command->add_flag("--stacks", options->stacks,
                    "Record the call stack of each allocation, native and Python, for show --by site");
  CLI::Option* const budget = add_budget_option(
      *command, options->budget,
      "Let the program use only this much memory of each device, such as 16 GiB: what exceeds it is "
      "refused, and `show` lists it");
  add_max_allocation_option(*command, options->max_allocation);
  command
      ->add_flag("--refuse-at-use", options->refuses_at_use,
                 "Refuse the first command that uses a memory object, not its creation (OpenCL)")
      ->needs(budget);
  auto* repeat =
      command
          ->add_option("--repeat", options->repeat,
                       "Run the program N times, into PROFILE.run1, PROFILE.run2, …, and compare the peaks")
          ->type_name("N")
          ->check(CLI::Range(1, 10'000));
  auto* repeat_call =
      command
          ->add_option(
              "--repeat-call", options->repeat_call,
              "Judge phases that occur several times: leaks and a drifting peak are exit code 1. The "
              "program repeats what it calls by peakmark.repeat_call N times. Implies --sync and --stacks")
          ->type_name("N")
          ->check(CLI::Range(static_cast<int>(kMinRepetitions), 1'000'000))
          ->excludes(repeat);
  add_size_option(*command, "--max-size", options->max_size,
                  "Stop recording when a profile has this size, such as 10 GB. An allocation and its release "
                  "need 128 bytes. Default: no limit");
  command
      ->add_flag(
          "--compact", options->compact,
          "Keep profiles of long recordings small: peaks, what was live at them, leaks and totals stay "
          "exact; other allocations are only counted, and the timeline is thinned")
      ->excludes(repeat_call);
  command->add_flag("--allow-incomplete", options->allow_incomplete,
                    "Do not exit with 5 because a profile lacks a part; a message still names the part");
  add_file_option(*command, "--junit", options->junit,
                  "Write a JUnit file with a test for each repeated phase")
      ->needs(repeat_call);
  command->add_flag("--json", options->json,
                    "Print the peak of each run as JSON. The program's output goes to standard error");
  // The arguments of the program are CLI11's remaining words, because as values of an option it would split
  // `[a,b]`.
  command
      ->add_option("PROGRAM", options->program,
                   "The program, then its arguments: record -o my.profile -- ./solve --steps 100")
      ->required();
  command->prefix_command();
  set_help(
      *command,
      {.exit_codes = {{"0", "the program and the recorder succeeded"},
                      {"1", "--repeat-call: a phase leaks, or its peak drifts"},
                      {"4", "--repeat-call: no phase occurred 4 times or more"},
                      {"5", "no recorder started, or the profile is incomplete; a message says why"},
                      {"other",
                       "the program's own exit code: 128 + signal, 127 if not found; of several runs, the "
                       "first that is not 0"}}});
  command->callback([command, options, &result] { record(*options, command->remaining(), result); });
}

}  // namespace peakmark::cli
