#include "measure/supervise/case_listeners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.hpp"
#include "measure/estimate/external_estimates.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/supervise/run_workers.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

std::string starting_text(std::size_t cases) {
  return "starting the worker for " + quantity(cases, "case");
}

/// Returns the error on one line; for a traceback its last line, which has the cause.
std::string error_line(const std::string& error) {
  const std::size_t end = error.find('\n');
  if (end == std::string::npos) return error;
  return error.substr(0, error.find(':')) + ": " + error.substr(error.rfind('\n') + 1);
}

}  // namespace

void say(const std::string& line) {
  print_message(stderr, "{}\n", line);
  std::fflush(stderr);
}

void WorkerLines::started(const PlannedCase& planned) {
  current_ = &planned;
  printed_ = 0;
}

void WorkerLines::print(const std::string& line) {
  progress_.message("worker: " + line);
}

void WorkerLines::said(std::string_view text) {
  std::string line(text);
  const std::string variant = current_ == nullptr ? "" : current_->sweep_case.variant;
  if (printed_ < kMaxLines) {
    ++printed_;
    if (current_ == nullptr || reported_.emplace(variant, line).second) print(line);
    return;
  }
  ++left_out_;
  last_.add(line);
}

void WorkerLines::finished(bool failed) {
  if (left_out_ > 0 && current_ != nullptr) {
    const std::size_t shown = failed ? last_.all().size() : 0;
    const bool is_news = reported_.emplace(current_->sweep_case.variant, "").second;
    if (left_out_ > shown && (failed || is_news))
      print(fmt::format("({} of {} left out)", quantity(left_out_ - shown, "more line", "more lines"),
                        current_->name));
    if (failed) std::ranges::for_each(last_.all(), [this](const std::string& line) { print(line); });
  }
  current_ = nullptr;
  printed_ = 0;
  left_out_ = 0;
  last_ = LastLines(kMaxLines);
}

void EstimatorFailures::report(const Observation& observation, Progress& progress) {
  if (observation.outcome != Outcome::ok) return;  // an estimator may refuse a case that cannot run
  const auto report_one = [&](const EstimateObservation& estimate) {
    if (!estimate.error || !estimate.is_asked) return;
    if (!reported_.emplace(observation.variant, estimate.estimator).second) return;
    progress.message(fmt::format("{}: the estimator '{}' failed: {}; `check` fails each such case of {}",
                                 observation.case_name, estimate.estimator, error_line(*estimate.error),
                                 observation.variant));
  };
  if (observation.estimate) report_one(*observation.estimate);
  for (const EstimateObservation& estimate : observation.other_estimates) report_one(estimate);
}

Observation as_filed(Observation observation, const PlannedCase& planned, const RunContext& context,
                     const DeviceInfo& device) {
  observation.version = planned.version;
  if (!context.device_class.empty()) observation.device = device.name;
  return observation;
}

JournalListener::JournalListener(RunJournal& journal, const SweepOptions& options, const Selection& selection,
                                 std::size_t total, std::size_t done, std::optional<int> round)
    : journal_(journal),
      options_(options),
      device_(selection.device),
      vocabulary_(selection.suite.vocabulary),
      round_(round),
      progress_(stderr, is_terminal(stderr), total, done) {}

void JournalListener::starting(std::size_t cases) {
  progress_.starting(starting_text(cases));
}

void JournalListener::ended() {
  for (const pid_t child : end_orphans()) {
    progress_.message(given_up_text(child) + "; a worker left it behind, and the run goes on without it");
  }
}

void JournalListener::write_references() {
  if (references_.empty()) return;
  journal_.change([&](RunContext& context) {
    for (const ReferenceTime& time : references_) context.reference.add(time);
  });
  references_.clear();
}

void JournalListener::started(const PlannedCase& planned) {
  lines_.started(planned);
  progress_.started(planned.name);
}

void JournalListener::finished(const PlannedCase& planned, const Observation& measured) {
  Observation observation =
      as_filed(round_ ? as_round(measured, *round_) : measured, planned, journal_.run().context, device_);
  note_external_estimates(planned, vocabulary_, observation);
  journal_.add(observation);
  lines_.finished(is_failure(planned, observation));
  progress_.finished(is_failure(planned, observation));
  if (options_.refused_allocation > 0) return;  // `oom` reports the reaction of each run
  estimator_failures_.report(observation, progress_);
  const bool is_first_round = !round_ || *round_ == 1;
  if (is_first_round && observation.outcome == Outcome::ok && !observation.message.empty() &&
      reported_.emplace(observation.variant, observation.message).second) {
    progress_.message(fmt::format("{}: {}", planned.name, observation.message));
  }
  const CaseEnd end = end_of(planned, observation);
  if (end == CaseEnd::failed) {
    progress_.message(planned.name + ": " + reason_of(observation));
    if (options_.reports_commands)
      progress_.message("  reproduce: " + reproduce_command(options_, device_, planned));
  } else if (end == CaseEnd::skipped && options_.reports_commands && is_first_round &&
             reported_.emplace(observation.variant, reason_of(observation)).second) {
    progress_.message(planned.name + ": skipped: " + reason_of(observation));
  }
}

std::vector<PlannedCase> cases_to_confirm(const Run& run, const std::vector<std::string>& names) {
  std::unordered_set<std::string> wanted(names.begin(), names.end());
  for (const Observation& observation : run.observations) {
    const bool is_timed = observation.outcome == Outcome::ok && observation.gpu_time.has_value();
    if (!is_timed || observation.gpu_time_again) wanted.erase(observation.case_name);
  }
  std::vector<PlannedCase> cases;
  std::ranges::copy_if(run.context.planned, std::back_inserter(cases),
                       [&](const PlannedCase& planned) { return wanted.contains(planned.name); });
  return cases;
}

ConfirmationListener::ConfirmationListener(RunJournal& journal, const DeviceInfo& device, std::size_t cases)
    : journal_(journal), device_(device), progress_(stderr, is_terminal(stderr), cases, 0) {}

void ConfirmationListener::starting(std::size_t cases) {
  progress_.starting(starting_text(cases));
}

void ConfirmationListener::ended() {
  end_orphans();
}

void ConfirmationListener::started(const PlannedCase& planned) {
  lines_.started(planned);
  progress_.started(planned.name);
}

void ConfirmationListener::finished(const PlannedCase& planned, const Observation& measured) {
  const bool is_good = measured.outcome == Outcome::ok && measured.gpu_time.has_value();
  lines_.finished(!is_good);
  progress_.finished(!is_good);
  if (!is_good) {
    progress_.message(planned.name + ": not confirmed: " + std::string(to_string(measured.outcome)) + ": " +
                      measured.message);
    return;
  }
  Observation observation = *journal_.find(planned.name);
  const std::string first = time_method(observation);
  const std::string second = time_method(as_filed(measured, planned, journal_.run().context, device_));
  if (first != second) {
    progress_.message(planned.name + ": not confirmed: its times are of another kind (" + first +
                      ") than the second ones (" + second + ")");
    return;
  }
  observation.gpu_time_again = measured.gpu_time;
  journal_.change(observation);
}

std::string reproduce_command(const SweepOptions& options, const DeviceInfo& device,
                              const PlannedCase& planned) {
  std::string command = "peakmark run";
  for (const std::string& word : case_words(options.selection)) command += " " + shell_word(word);
  command += " --filter " + shell_word(exactly(planned.name));
  // An index is valid only within one backend. A `dry` case needs no device, even if the run had one, and a
  // different --backend would change its name.
  if (planned.sweep_case.backend != to_string(Backend::dry)) {
    command += fmt::format(" --device {} --backend {}", device.index, to_string(device.backend));
  } else if (options.selection.backend) {
    command += " --backend " + *options.selection.backend;
  }
  for (const std::string& worker : typed_workers(options)) command += " --worker " + shell_word(worker);
  if (options.cache) command += " --cache " + *options.cache;
  if (options.memory_only) command += options.guard ? " --guard" : " --memory-only";
  if (options.budget) command += fmt::format(" --budget {}", *options.budget);
  if (options.max_allocation) command += fmt::format(" --max-allocation {}", *options.max_allocation);
  if (options.case_limit != CaseLimit{}) {
    command += fmt::format(" --timeout {:g}", static_cast<double>(options.case_limit.base.count()) / 1000);
  }
  if (options.repetitions) command += fmt::format(" --repetitions {}", *options.repetitions);
  return command + " -o alone.json";
}

}  // namespace peakmark
