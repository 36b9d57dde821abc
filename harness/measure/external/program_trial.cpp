#include "measure/external/program_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/external/note_on_marks.hpp"
#include "measure/external/program_metrics.hpp"
#include "measure/external/program_record.hpp"
#include "measure/external/program_run.hpp"
#include "record/launch/exit_watcher.hpp"
#include "record/launch/missing_recorder.hpp"
#include "record/launch/program_watch.hpp"
#include "record/profile/profile_files.hpp"
#include "record/recorders/error_file.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/recorded_sequence.hpp"
#include "record/show/repetition_reports.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// A folder that is empty at first. The destructor removes it.
class FreshFolder {
 public:
  explicit FreshFolder(fs::path path) : path_(std::move(path)) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;
  ~FreshFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string why_nothing(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                        const RecorderLibraries& libraries) {
  const auto file = find_program(environment, command.front());
  MissingRecorder evidence{libraries, std::nullopt, {}, {}};
  if (file && is_static_program(*file)) evidence.static_program = file;
  return why_no_recorder(evidence);
}

/// Returns the first `count` events without the final releases by the system at the end of the last process:
/// memory that the program itself did not release is live at the end.
std::span<const Event> own_events(std::span<const Event> events, std::size_t count,
                                  const RecordedTree& tree) {
  std::optional<std::int64_t> end;
  for (const RecordedProcess& process : tree.processes) end = std::max(end, end_of(process, tree));
  while (end && count > 0 && events[count - 1].type == EventType::release &&
         events[count - 1].time_ns >= *end)
    --count;
  return events.first(count);
}

std::string with_last_words(const std::string& what, const ProgramEnd& end) {
  return end.last_lines.empty() ? what : what + "; its last message: " + end.last_words();
}

}  // namespace

struct ProgramTrial::Pass {
  ProgramEnd end;
  std::optional<ProgramRecord> record;  ///< null if nothing was recorded
  MemoryPass memory;                    ///< of the record
  std::vector<RepeatedPhase> repeated;  ///< of all processes; only if calls are repeated
  std::string failure;                  ///< why the recording is incomplete; else empty
  std::string note_on_marks;            ///< note on the phases that it marked
  std::string note_on_devices;          ///< if it used several devices: their peaks
  Observation reported;                 ///< with the metrics of the program
  std::string wrong_metric;             ///< why its metrics are not valid; else empty
  std::string no_device_time;           ///< why the recorded work is incomplete; empty if it is complete
};

ProgramTrial::ProgramTrial(const ProgramDescription& program, const RecorderLibraries& libraries,
                           fs::path folder, ProgramTrialOptions options)
    : program_(program), libraries_(libraries), folder_(std::move(folder)), options_(std::move(options)) {}

std::vector<std::string> ProgramTrial::environment_for(const Parameters& parameters,
                                                       const ProgramPlaces& places) const {
  std::vector<std::string> environment = current_environment();
  // For programs that would use any device; programs of suites may also use placeholders.
  set_variable(environment, "PEAKMARK_BACKEND", places.backend);
  set_variable(environment, "PEAKMARK_DEVICE", places.device);
  for (const auto& [name, value] : program_.environment) {
    set_variable(environment, name, fill_placeholders(value, parameters, places));
  }
  // After the program's own variables, because its PYTHONPATH would hide the module of marks.
  add_python(environment, find_python(program_.python, program_.suite_folder, program_.python_made_by));
  return environment;
}

ProgramTrial::Pass ProgramTrial::run(const Parameters& parameters, PassKind kind, const std::string& label) {
  const FreshFolder scratch(folder_ / (label + "-scratch"));
  const FreshFolder profiles(folder_ / label);
  const fs::path profile = profiles.path() / "program.profile";
  ProgramPlaces places;
  places.suite_folder = program_.suite_folder.string();
  places.python =
      find_python(program_.python, program_.suite_folder, program_.python_made_by).interpreter.string();
  places.backend = options_.backend;
  places.device = options_.device;
  places.scratch_folder = scratch.path().string();
  std::vector<std::string> environment = environment_for(parameters, places);
  const bool is_sequence = kind == PassKind::sequence;
  const bool is_repeated = kind == PassKind::repeated_calls;
  const bool has_stacks = is_sequence || is_repeated;
  add_recorders(environment, libraries_, profile, kind == PassKind::synced_peak || has_stacks, has_stacks);
  if (is_repeated) set_variable(environment, "PEAKMARK_REPEAT_CALL", std::to_string(options_.repeat_calls));
  set_variable(environment, "PEAKMARK_WORK", kind == PassKind::device_time ? "1" : "0");
  add_ranges(environment, libraries_);
  set_variable(environment, "PEAKMARK_RANGES", "words");

  const FreshFolder metrics(folder_ / (label + "-metrics"));
  const fs::path metrics_file = metrics.path() / "metrics";
  set_variable(environment, "PEAKMARK_METRICS", metrics_file.string());

  const ErrorFile errors(profile);
  set_variable(environment, "PEAKMARK_ERROR_FILE", errors.path().string());

  Pass pass;
  const std::vector<std::string> command = make_command(program_, parameters, places);
  {
    const ExitWatcher ends(profile);  // until all processes of the program have ended
    pass.end = run_program(command, environment);
  }
  try {
    // Repeated calls report their metrics repeatedly.
    if (!is_repeated) read_metrics(metrics_file, pass.reported);
  } catch (const UsageError& error) {
    pass.wrong_metric = error.what();
  }
  pass.failure = errors.first_line();
  if (!unwritten_beside(profile).empty()) {
    pass.failure = fmt::format("the recorder came up and could not write into {}: {}; free space there",
                               profiles.path().string(), errors.why_stopped());
    return pass;
  }
  const std::optional<fs::path> own = program_profile(profile, pass.end.process);
  if (!own) {
    if (pass.failure.empty()) pass.failure = why_nothing(command, environment, libraries_);
    return pass;
  }
  fs::rename(*own, profile);
  RecordedTree tree = read_tree(profile);
  for (const RecordedProcess& process : tree.processes) {
    if (const std::string why = why_not_whole(process, invalid_note(process.events)); !why.empty())
      pass.failure = why;
  }
  pass.note_on_devices = keep_one_device(tree);
  const std::vector<Event> events = merge_by_time(tree);
  pass.record = record_of_program(events, summarise_together(tree));
  pass.memory = pass.record->memory_pass();
  if (is_sequence) {
    CallChains chains(tree.processes.back().header.start_realtime_ns);
    chains.add(events);
    add_sequence(
        pass.memory, own_events(events, pass.record->counted_events, tree),
        [&](std::uint64_t stack) { return chains.chain(stack); }, process_names(tree));
  }
  for (const RecordedProcess& process : tree.processes) {
    if (!is_repeated) break;
    std::vector<RepeatedPhase> phases = find_repetitions(process).value_or(std::vector<RepeatedPhase>{});
    std::ranges::move(phases, std::back_inserter(pass.repeated));
  }
  pass.no_device_time = why_work_is_lost(tree);
  pass.note_on_marks = note_on_marks(pass.record->phases, errors.ranges_left_out());
  return pass;
}

bool ProgramTrial::judge(const Pass& pass, Observation& observation) {
  const auto fail = [&](Outcome outcome, const std::string& message) {
    observation.outcome = outcome;
    observation.message = message;
    return false;
  };
  const WorkerEnd& end = pass.end.end;
  if (!pass.end.well()) observation.program_failure = ProgramFailure{end.exit_code, pass.end.last_lines};
  if (end.exit_code == kExitUnsupported) {
    return fail(Outcome::unsupported, pass.end.last_lines.empty()
                                          ? "the program reports that it cannot run this case here"
                                          : pass.end.last_words());
  }
  if (end.exit_code == kExitWrongAnswer) {
    return fail(Outcome::wrong_answer, pass.end.last_lines.empty()
                                           ? "the program reports that its result is wrong"
                                           : pass.end.last_words());
  }
  if (!pass.end.well()) {
    const bool out_of_memory = pass.record && pass.record->out_of_memory;
    std::string how = "the program ended with " + end.text();
    if (out_of_memory) {
      how += " after " + quantity(pass.record->failed_allocations, "allocation was", "allocations were") +
             " refused";
      if (const auto& largest = pass.record->largest_refused_bytes)
        how += fmt::format("{} of {}", pass.record->failed_allocations == 1 ? "," : ", the largest",
                           format_size(*largest));
    } else if (pass.record && pass.record->last_failure) {
      how += fmt::format(" after {} failed, the last with error {}, which does not mean too little memory",
                         quantity(pass.record->failed_allocations, "allocation"), *pass.record->last_failure);
    }
    if (end.signal == SIGKILL) how += ": killed by the system for lack of memory, or by another process";
    return fail(out_of_memory ? Outcome::out_of_memory : Outcome::crashed, with_last_words(how, pass.end));
  }
  if (!pass.failure.empty()) return fail(Outcome::crashed, with_last_words(pass.failure, pass.end));
  if (!pass.end.left_behind.empty()) {
    return fail(Outcome::crashed, "the program ended and left a process behind: " + pass.end.left_behind);
  }
  if (!pass.wrong_metric.empty()) return fail(Outcome::wrong_answer, pass.wrong_metric);
  if (!pass.reported.metrics.empty()) {  // those of the last run count
    observation.metrics = pass.reported.metrics;
    observation.metric_directions = pass.reported.metric_directions;
  }
  return true;
}

/// Adds facts about failed allocations, whether or not the program continued.
void ProgramTrial::note_failed_allocations(const Pass& pass, Observation& observation) {
  if (!pass.record || pass.record->failed_allocations == 0) return;
  observation.failed_allocations = pass.record->failed_allocations;
  observation.largest_refused_bytes = pass.record->largest_refused_bytes;
  if (pass.end.end.exit_code) observation.allocation_sequence = pass.memory.sequence;
}

bool ProgramTrial::measure_memory(Observation& observation) {
  PassKind kind = program_.sync ? PassKind::synced_peak : PassKind::peak;
  if (options_.sequences) kind = PassKind::sequence;
  const Pass first = run(observation.axes, kind, "first");
  note_failed_allocations(first, observation);
  if (!judge(first, observation)) return false;
  const Pass second = run(observation.axes, kind, "second");
  if (!judge(second, observation)) return false;
  observation.message = first.note_on_marks;
  if (!first.note_on_devices.empty())
    observation.message += (observation.message.empty() ? "" : "; ") + first.note_on_devices;
  note_memory(first.memory, second.memory, observation);
  observation.leaked_bytes = first.record->leaked_bytes;
  return true;
}

/// Runs the program once more, with repeated calls, and adds the memory that each of them leaves allocated.
void ProgramTrial::find_call_leaks(Observation& observation) {
  const Pass pass = run(observation.axes, PassKind::repeated_calls, "repeated");
  if (!judge(pass, observation)) return;
  if (pass.repeated.empty()) {
    observation.message += observation.message.empty() ? "" : "; ";
    observation.message += fmt::format(
        "no repeated calls: no phase occurs {} times or more; call peakmark.repeat_call(function) in the "
        "program",
        kMinRepetitions);
    return;
  }
  for (const RepeatedPhase& phase : pass.repeated) note_repetitions(phase, observation);
}

void ProgramTrial::measure_time(Observation& observation) {
  std::vector<std::vector<double>> blocks;
  for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
    const Pass pass =
        run(observation.axes, program_.device_time ? PassKind::device_time : PassKind::host_time, "time");
    if (!judge(pass, observation)) return;
    const std::vector<std::int64_t>& calls = pass.record->calls_ns;
    if (program_.device_time) {
      const std::string& lost = pass.no_device_time;
      if (!pass.record->device_ns || !lost.empty()) {  // no time is better than a time from another clock
        const std::string why =
            std::string(kNoTime) + (lost.empty() ? "the recorder saw no work of the device" : lost);
        observation.message += (observation.message.empty() ? "" : "; ") + why;
        return;
      }
      blocks.emplace_back(pass.record->device_ns->begin(), pass.record->device_ns->end());
      observation.time_source = time_source::device;
    } else if (calls.empty()) {
      blocks.push_back({static_cast<double>(pass.end.wall_ns)});
      observation.time_source = time_source::process;
    } else {
      blocks.emplace_back(calls.begin(), calls.end());
      observation.time_source = time_source::marks;
    }
  }
  observation.gpu_time = summarise_blocks(std::move(blocks));
}

namespace {

/// Returns the dtype of the output, in our spelling if we know it; null if the suite does not specify it.
std::optional<std::string> output_dtype(const ProgramDescription& program, const Parameters& parameters) {
  if (program.output_dtype.empty()) return std::nullopt;
  const AxisValue* const axis = parameters.find(program.output_dtype);
  return our_dtype_name(axis == nullptr ? program.output_dtype : to_text(*axis));
}

}  // namespace

Observation ProgramTrial::measure(const SweepCase& sweep_case, const std::string& name) {
  Observation observation;
  observation.case_name = name;
  observation.axes = sweep_case.parameters;
  observation.variant = sweep_case.variant;
  observation.backend = sweep_case.backend == "auto" ? options_.backend : sweep_case.backend;
  observation.destroys_input = program_.variant.destroys_input;
  observation.output_dtype = output_dtype(program_, sweep_case.parameters);
  const auto failed = [&](Outcome outcome, const std::string& message) {
    observation.outcome = outcome;
    observation.message = message;
    return observation;
  };
  const auto& backends = program_.variant.backends;
  if (std::find(backends.begin(), backends.end(), observation.backend) == backends.end()) {
    return failed(Outcome::unsupported,
                  fmt::format("{} does not run on {}", sweep_case.variant, observation.backend));
  }
  try {
    find_python(program_.python, program_.suite_folder, program_.python_made_by);
  } catch (const EnvironmentError& error) {
    return failed(Outcome::unsupported, error.what());
  }
  try {
    const bool is_well = options_.times_only || measure_memory(observation);
    if (is_well && options_.repeat_calls != 0) find_call_leaks(observation);
    if (is_well && !options_.memory_only) measure_time(observation);
  } catch (const std::exception& error) {
    return failed(Outcome::crashed, error.what());
  }
  return observation;
}

}  // namespace peakmark
