#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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
#include "cli/file_name.hpp"
#include "cli/standard_output.hpp"
#include "cli/usage_message.hpp"
#include "cli/value_name.hpp"
#include "compare/repeated_peaks.hpp"
#include "launch/record_program.hpp"
#include "profile/profile.hpp"
#include "profile/profile_files.hpp"
#include "profile/profile_files.hpp"
#include "show/process_tree.hpp"

namespace peakmark::cli {
namespace {

struct RecordOptions {
  std::string program;
  std::filesystem::path profile = "peakmark.profile";
  bool sync = false;
  bool stacks = false;
  int repeat = 0;  ///< 0: once, and nothing is compared
  std::optional<std::string> max_size;
  bool compact = false;
  bool json = false;
};

bool is_option(const std::string& word) {
  return word != "--" && word.size() >= 2 && word.front() == '-';
}

std::string name_of_option(const std::string& word) {
  return word.substr(0, word.starts_with("--") ? word.find('=') : 2);  // -oFILE
}

/// The place in `words` of the program or of the `--` before it; options and their values stand before.
/// Or the place of an option that `record` does not have.
std::size_t end_of_own_words(const CLI::App& command, const std::vector<std::string>& words) {
  bool is_value = false;
  std::size_t i = 1;
  for (; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (std::exchange(is_value, false)) continue;
    if (!is_option(word)) break;
    const std::string name = name_of_option(word);
    const CLI::Option* const option = command.get_option_no_throw(name);
    if (option == nullptr) break;
    is_value = option->get_items_expected() > 0 && word == name;
  }
  return i;
}

/// What CLI11 does not know it would leave to the program: before the program it is a mistake.
void refuse_unknown_options(const CLI::App& command, const std::vector<std::string>& words) {
  const std::size_t end = end_of_own_words(command, words);
  if (end < words.size() && is_option(words[end])) {
    throw UsageError("record: " + no_such_option(command, name_of_option(words[end])));
  }
}

std::filesystem::path profile_of_run(const std::filesystem::path& name, int run) {
  return name.string() + ".run" + std::to_string(run);
}

/// Those of an earlier recording that was repeated more often.
void remove_further_runs(const std::filesystem::path& name, int run) {
  for (;; ++run) {
    const std::filesystem::path further = profile_of_run(name, run);
    std::error_code error;
    if (!std::filesystem::is_regular_file(further, error) && profiles_beside(further).empty()) return;
    remove_earlier_recording(further);
  }
}

/// What ended the program before its time. A shell that runs it, and `env`, tell by their code of the signal
/// that ended it; nobody interrupts a program that is at its end.
std::string what_cut_off(const Recording& recording) {
  constexpr int kSignals = 64;
  const int code = recording.program_code;
  const int signal = recording.signal != 0                  ? recording.signal
                     : code > 128 && code <= 128 + kSignals ? code - 128
                                                            : 0;
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return recording.interrupted ? "it was interrupted" : "";
}

RepeatedRun repeated_run(const Recording& recording) {
  RepeatedRun run{"", recording.program_code, recording.error, what_cut_off(recording), std::nullopt};
  if (recording.profile) {
    run.profile = recording.profile->string();
    run.summary = summarise_together(read_tree(*recording.profile));
  }
  return run;
}

/// Tells of one run; the first code that is not 0 stays.
void tell(const Recording& recording, Result& result) {
  if (result.program_code == 0) result.program_code = recording.program_code;
  // As a shell says it. Whoever interrupts a program knows.
  if (recording.signal != 0 && recording.signal != SIGINT && recording.profile) {
    std::fprintf(stderr,
                 "peakmark: the program was ended by signal %d (%s); its profile is whole to its last event: "
                 "peakmark show %s\n",
                 recording.signal, strsignal(recording.signal), recording.profile->c_str());
  }
  if (recording.error.empty()) return;
  std::fprintf(stderr, "peakmark: %s\n", one_line(recording.error).c_str());
  result.code = ExitCode::recorder;
}

/// Of one run. With --compact the profiles are kept small meanwhile.
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

void record_once(const RecordOptions& options, const RecordRequest& request, Result& result) {
  const Recording recording = record_run(options, request);
  tell(recording, result);
  if (options.json) {
    print_text(repeated_peaks_json(repeated_peaks({repeated_run(recording)}), request.command));
  } else if (recording.error.empty() && isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "peakmark: recorded; see it with: peakmark show %s\n", options.profile.c_str());
  }
}

void record_repeatedly(const RecordOptions& options, RecordRequest request, Result& result) {
  const RecordingName taken(options.profile);  // that of each run is taken by the run
  remove_further_runs(options.profile, options.repeat + 1);
  std::vector<RepeatedRun> runs;
  for (int run = 1; run <= options.repeat; ++run) {
    request.profile = profile_of_run(options.profile, run);
    const Recording recording = record_run(options, request);
    tell(recording, result);
    runs.push_back(repeated_run(recording));
    // Whoever stops one run wants no other; a program that did not start will not.
    if (recording.interrupted || recording.program_code >= 126) break;
  }
  const RepeatedPeaks peaks = repeated_peaks(std::move(runs));
  if (options.json) print_text(repeated_peaks_json(peaks, request.command));
  std::fprintf(stderr, "peakmark: %s", repeated_peaks_text(peaks, options.sync).c_str());
}

/// CUDA loads one library, so that the user's tool does not run: never silently.
void name_replaced_injection() {
  const std::string replaced = replaced_injection(current_environment(), find_recorder_libraries());
  if (replaced.empty()) return;
  std::fprintf(stderr,
               "peakmark: CUDA_INJECTION64_PATH=%s is replaced by peakmark's recorder for this program: CUDA "
               "loads one library only; unset it to be rid of this line\n",
               one_line(replaced).c_str());
}

/// Of each profile; 0 where no limit was given.
std::uint64_t max_bytes(const RecordOptions& options) {
  constexpr Size kLeast = Size{1} << 20;  // a profile grows by as much
  if (!options.max_size) return 0;
  const Size bytes = parse_size(*options.max_size);
  if (bytes < kLeast) throw UsageError("record: --max-size: at least 1 MiB");
  return static_cast<std::uint64_t>(bytes);
}

void record(const RecordOptions& options, std::vector<std::string> arguments, Result& result) {
  // The mark that ends our own options; a second one is the program's.
  if (!arguments.empty() && arguments.front() == "--") arguments.erase(arguments.begin());
  RecordRequest request{.command = {options.program},
                        .profile = options.profile,
                        .sync = options.sync,
                        .stacks = options.stacks,
                        .max_bytes = max_bytes(options),
                        .output_to_stderr = options.json};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  name_replaced_injection();
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
      ->add_option("-o,--output", options->profile, "The profile to write; further processes: PROFILE.<pid>")
      ->type_name(value_name::kProfile)
      ->capture_default_str()
      ->check(kFileName);
  command->add_flag(
      "--sync", options->sync,
      "Finish the queue after each enqueue, so that the peak of an asynchronous program repeats");
  command->add_flag("--stacks", options->stacks,
                    "Record the call stack of each allocation, native and Python: see show --by site");
  command
      ->add_option(
          "--repeat", options->repeat,
          "Run it N times, into PROFILE.run1 and so on, and say whether the peaks agree and what moved")
      ->check(CLI::Range(1, 10'000));
  command
      ->add_option("--max-size", options->max_size,
                   "Stop recording when a profile has this size (10 GB, 500 MiB): 128 bytes an allocation "
                   "with its release")
      ->type_name(value_name::kSize);
  command->add_flag("--compact", options->compact,
                    "Keep long recordings small: peaks, what was live at them, leaks and totals stay exact, "
                    "other allocations are only counted, and the timeline is thinned");
  command->add_flag(
      "--json", options->json,
      "The peak of each run as JSON on standard output; the program's own goes to standard error");
  // The arguments are what is left over: as values of an option, CLI11 would take `[a,b]` apart.
  command
      ->add_option("PROGRAM", options->program,
                   "The program; all that follows is its own: record -o my.profile -- ./solve --steps 100")
      ->required();
  command->prefix_command();
  command->footer(
      "Exit code: the program's own when it is not 0 (128 + signal, 127 not found); 5 when no recorder came "
      "up,\n"
      "with a line that says why; else 0. Of several runs the first code that is not 0.");
  command->callback([command, options, &result] {
    refuse_unknown_options(*command, result.words);
    record(*options, command->remaining(), result);
  });
}

std::vector<std::string> with_program_apart(const CLI::App& app, std::vector<std::string> words) {
  if (words.empty() || words.front() != "record") return words;
  const std::size_t end = end_of_own_words(*app.get_subcommand("record"), words);
  if (end < words.size() && words[end] != "--" && !is_option(words[end]))
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(end), "--");
  return words;
}

}  // namespace peakmark::cli
