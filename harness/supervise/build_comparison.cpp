#include "supervise/build_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/program.hpp"
#include "base/text.hpp"
#include "runfile/case_pairs.hpp"
#include "runfile/run_summary.hpp"
#include "subprocess/processes.hpp"
#include "supervise/asked_estimates.hpp"
#include "supervise/device_lock.hpp"
#include "supervise/measuring.hpp"
#include "supervise/run_context.hpp"
#include "supervise/run_workers.hpp"
#include "supervise/worker_program.hpp"

namespace peakmark {
namespace {

using Clock = WorkerProcess::Clock;

/// One of the two builds.
struct Side {
  explicit Side(const char* name_of_side, SweepOptions its_options)
      : name(name_of_side), options(std::move(its_options)), journal(options.run_file) {}

  const char* name;
  SweepOptions options;
  RunJournal journal;
  std::filesystem::path worker;
  Description description;
  Selection selection;
};

std::filesystem::path worker_of_base(const BuildComparisonOptions& options) {
  if (options.sweep.worker) return find_worker_of(options.other, *options.sweep.worker);
  const auto named = find_suite_worker(options.sweep.selection.suites);
  return named ? find_worker_of(options.other, named->named, false) : find_worker_of(options.other);
}

SweepOptions base_options(const BuildComparisonOptions& options) {
  SweepOptions base = options.sweep;
  base.run_file = options.base_run_file;
  return base;
}

/// `build/bin/blur`, `bin/blur`, `blur`, without `.` and `..`.
std::vector<std::filesystem::path> ends_of(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> ends;
  for (const std::filesystem::path& part : path.lexically_normal().relative_path()) {
    if (part == ".." || part == "." || part.empty()) continue;
    for (std::filesystem::path& end : ends) end /= part;
    ends.push_back(part);
  }
  return ends;
}

class BuildComparison {
 public:
  explicit BuildComparison(const BuildComparisonOptions& options)
      : options_(options), base_("base", base_options(options)), next_("new", options.sweep) {
    if (options.sweep.deadline) deadline_ = Clock::now() + *options.sweep.deadline;
  }

  ComparedBuilds run() {
    if (!options_.sweep.resume) {
      for (Side* side : {&base_, &next_}) side->journal.set_earlier_run_aside();
    }
    base_.options.worker = worker_of_base(options_).string();
    const std::vector<std::string> environment = current_environment();
    const MachineFacts facts = gather_machine_facts();
    describe();
    select_cases(facts);
    const DeviceInfo& device = next_.selection.device;
    say_device(device, false);
    if (prepare(facts)) return {ExitCode::clean, true};
    for (Side* side : {&base_, &next_}) note_unsupported(side->journal, device);
    adopt_orphans();
    const DeviceLock lock(
        device, lock_options(next_.options),
        [](const std::string& holder) { say("  waiting for the device: " + holder); },
        [this] { check_time(); });
    const RecordingEnvironment recording(device, environment);
    Stop stop = Stop::done;
    try {
      stop = measure(recording);
    } catch (const Error&) {
      std::string partial;
      for (const Side* side : {&base_, &next_}) {
        if (!side->journal.has_measured()) continue;
        partial += (partial.empty() ? "" : " and ") + partial_of(side->options.run_file).string();
      }
      if (!partial.empty()) say("what was measured stands in " + partial + "; --resume goes on with it");
      throw;
    }
    return conclude(stop);
  }

 private:
  void describe() {
    for (Side* side : {&base_, &next_}) {
      side->worker = find_worker_for(side->options);
      side->description = describe_worker(side->worker, signals_.descriptor());
      say(fmt::format("{}: {} ({}{})", side->name, side->worker.string(), side->description.build,
                      side->description.commit.empty() ? "" : ", commit " + side->description.commit));
    }
    if (base_.description.build == next_.description.build || options_.force) return;
    throw UsageError(fmt::format(
        "the builds are of other types: {} is '{}', {} is '{}'; build both alike, or add "
        "--force",
        base_.worker.string(), base_.description.build, next_.worker.string(), next_.description.build));
  }

  void select_cases(const MachineFacts& facts) {
    next_.selection = select(next_.options.selection, next_.description, facts.devices,
                             [&](const std::vector<PlannedCase>& cases) {
                               say_checking(cases.size());
                               check_cases(next_.worker, next_.description, cases, signals_.descriptor());
                             });
    const std::size_t all = next_.selection.planned.size();
    std::erase_if(next_.selection.planned,
                  [&](const PlannedCase& planned) { return is_program_of(next_.selection, planned); });
    if (const std::size_t programs = all - next_.selection.planned.size(); programs > 0) {
      say("  " + quantity(programs, "case of a program is", "cases of programs are") +
          " left out: a program belongs to no build");
    }
    base_.selection = next_.selection;
    base_.selection.planned.clear();
    for (const PlannedCase& planned : next_.selection.planned) {
      auto known = planned_for(planned, next_.description, base_.description);
      if (known) base_.selection.planned.push_back(std::move(*known));
    }
    if (base_.selection.planned.empty()) {
      throw UsageError(fmt::format("{} knows none of the {}", base_.worker.string(),
                                   quantity(next_.selection.planned.size(), "case")));
    }
    if (const std::size_t unknown = next_.selection.planned.size() - base_.selection.planned.size();
        unknown > 0) {
      say(fmt::format("  the base does not know {} of the {}", unknown,
                      quantity(next_.selection.planned.size(), "case")));
    }
    check_cases(base_.worker, base_.description, base_.selection.planned, signals_.descriptor());
  }

  /// True when there is nothing left to measure.
  bool prepare(const MachineFacts& facts) {
    Rounds rounds;
    rounds.job = make_run_id();
    rounds.rounds = options_.sweep.rounds.value();
    rounds.seed = options_.sweep.seed ? *options_.sweep.seed : std::random_device()();
    rounds.two_passes = true;
    bool resumed[2] = {};
    for (Side* side : {&base_, &next_}) {
      RunContext context =
          make_run_context(side->selection, side->description, false, options_.sweep.host_name);
      context.asked_cache = options_.sweep.cache;
      add_machine_facts(context, facts, side->selection.device);
      if (side == &next_) note_findings(facts, side->selection.device, context);
      context.rounds = rounds;
      bool& is_resumed = resumed[side == &base_ ? 0 : 1];
      is_resumed = side->options.resume && side->journal.resume(context);
      if (!is_resumed) start_journal(side->journal, std::move(context), side->options.run_file);
    }
    if (resumed[0] != resumed[1] || (resumed[0] && job_of(base_) != job_of(next_))) {
      throw UsageError(
          fmt::format("{} and {} are not the two sides of one comparison; measure anew without --resume",
                      base_.options.run_file.string(), next_.options.run_file.string()));
    }
    const bool complete = base_.journal.is_complete() && next_.journal.is_complete();
    if (resumed[0] && complete) say("both runs are complete: nothing to resume");
    return resumed[0] && complete;
  }

  static const std::string& job_of(const Side& side) { return side.journal.run().context.rounds->job; }

  void check_time() const {
    if (signals_.raised()) throw Interrupted("interrupted while waiting for the device");
    if (deadline_ && Clock::now() >= *deadline_) {
      throw DeadlineError("the deadline came while waiting for the device; nothing was measured");
    }
  }

  Stop measure(const RecordingEnvironment& environment) {
    WorkerCall base_call{base_.worker, {}, base_.description.reports_steps};
    WorkerCall next_call{next_.worker, {}, next_.description.reports_steps};
    set_cache({{&base_call, &base_.description}, {&next_call, &next_.description}}, options_.sweep.cache);
    const auto rounds_of = [&](Side& side) {
      return RoundsOfRun{side.journal,
                         side.options,
                         side.selection,
                         {&side == &base_ ? base_call : next_call},
                         [](const PlannedCase&) { return std::size_t{0}; },
                         // Both are timed alike, or the shorter blocks of one would be noisier.
                         base_.description.takes_blocks && next_.description.takes_blocks,
                         {},
                         [&](const WorkerCall& call) {
                           return supervisor_options(side.options, side.selection.device, call, signals_,
                                                     environment, deadline_);
                         }};
    };
    const RoundsOfRun base = rounds_of(base_);
    const RoundsOfRun next = rounds_of(next_);
    note_references(base, next, false);
    const int rounds = next_.journal.run().context.rounds->rounds;
    Stop stop = measure_pass(base, next, 1, rounds);
    if (stop == Stop::done) {
      choose_candidates();
      stop = measure_pass(base, next, rounds + 1, 2 * rounds);
    }
    if (stop == Stop::done) note_references(base, next, true);
    for (Side* side : {&base_, &next_}) {
      if (stop != Stop::done) break;
      stop =
          ask_estimators(side->journal, side->selection.suite.vocabulary, {signals_.descriptor(), deadline_});
    }
    return stop;
  }

  void note_references(const RoundsOfRun& base, const RoundsOfRun& next, bool last) {
    for (const RoundsOfRun* side : {&base, &next}) {
      Journaling listener(side->journal, side->options, side->selection, 0, 0);
      note_reference(side->journal, side->supervisor_of(side->workers.front()), listener,
                     side->selection.device, last);
      listener.write_references();
    }
  }

  /// Base, new; new, base; base, new: what drifts evenly falls on both alike.
  static Stop measure_pass(const RoundsOfRun& base, const RoundsOfRun& next, int first, int last) {
    for (int round = first; round <= last; ++round) {
      const std::size_t of_base = left_in_round(base.journal.run(), round).size();
      const std::size_t of_next = left_in_round(next.journal.run(), round).size();
      if (of_base + of_next == 0) continue;
      say(fmt::format("round {} of {}: {} of the base, {} of the new", round, last, quantity(of_base, "case"),
                      of_next));
      const bool base_first = round % 2 == 1;
      for (const RoundsOfRun* side : {base_first ? &base : &next, base_first ? &next : &base}) {
        if (const Stop stop = measure_round(*side, round); stop != Stop::done) return stop;
      }
    }
    return Stop::done;
  }

  void choose_candidates() {
    const Run& base = base_.journal.run();
    const Run& next = next_.journal.run();
    if (base.context.rounds->confirmation_pass && next.context.rounds->confirmation_pass) return;
    std::vector<std::string> of_base;
    std::vector<std::string> of_next;
    for (const auto& [before, after] : candidates(observations_of(base), observations_of(next),
                                                  *next.context.rounds, PairBy::variant_and_axes)) {
      of_base.push_back(before);
      of_next.push_back(after);
    }
    say(screening_pass_text(of_next.size(), next.context.planned.size()));
    change_context(base_.journal, [&](RunContext& context) { context.rounds->confirmation_pass = of_base; });
    change_context(next_.journal, [&](RunContext& context) { context.rounds->confirmation_pass = of_next; });
  }

  ComparedBuilds conclude(Stop stop) {
    if (signals_.raised()) stop = Stop::interrupted;
    if (!base_.journal.has_measured() && !next_.journal.has_measured()) {
      say(stop == Stop::interrupted ? "interrupted before anything was measured"
                                    : "the deadline came before anything was measured");
      return {stop == Stop::interrupted ? ExitCode::interrupted : ExitCode::nothing, false};
    }
    ExitCode code = ExitCode::clean;
    const bool has_both = base_.journal.has_measured() && next_.journal.has_measured();
    for (Side* side : {&base_, &next_}) {
      side->journal.finish();
      say(fmt::format("{}: {}; {}", side->name, summary(side->journal.run()),
                      side->options.run_file.string()));
      if (side == &next_) code = exit_code_of(side->journal.run());
    }
    if (stop != Stop::done) {
      say(fmt::format(
          "{}: {}; --resume goes on", stop == Stop::interrupted ? "interrupted" : "stopped by the deadline",
          has_both ? "not every round is through" : "one side alone is measured, and cannot be compared"));
    }
    if (!has_both) code = ExitCode::nothing;
    return {stop == Stop::interrupted ? ExitCode::interrupted : code, has_both};
  }

  const BuildComparisonOptions& options_;
  SignalWatch signals_;
  Side base_;
  Side next_;
  std::optional<Clock::time_point> deadline_;
};

/// Where `--build OTHER` leads to a file, that must be a program.
std::filesystem::path checked_worker(const std::filesystem::path& other,
                                     const std::filesystem::path& worker) {
  std::filesystem::path program = std::filesystem::absolute(worker);
  const std::string trouble = program_failure(current_environment(), program.string());
  if (trouble.empty()) return program;
  throw UsageError(fmt::format("--build {}: {}{}", other.string(),
                               other == worker ? "" : program.string() + ": ", trouble));
}

}  // namespace

std::filesystem::path find_worker_of(const std::filesystem::path& other, const std::filesystem::path& named,
                                     bool or_default) {
  std::error_code error;
  if (std::filesystem::is_regular_file(other, error)) return checked_worker(other, other);
  std::vector<std::filesystem::path> places = ends_of(named);
  if (!places.empty()) places.push_back("bin" / named.filename());
  if (or_default) {
    places.insert(places.end(), {"bench/peakmark-bench", "bin/peakmark-bench", "peakmark-bench",
                                 "build/prefix/bin/peakmark-bench", "build/release/bench/peakmark-bench"});
  }
  std::string looked;
  for (const std::filesystem::path& place : places) {
    const std::filesystem::path worker = other / place;
    if (std::filesystem::is_regular_file(worker, error)) return checked_worker(other, worker);
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  throw UsageError(
      fmt::format("--build {}: no worker is there; it may be a checkout, a build tree, an install prefix "
                  "or a worker itself (looked for {})",
                  other.string(), looked));
}

std::optional<PlannedCase> planned_for(const PlannedCase& planned, const Description& here,
                                       const Description& there) {
  const VariantDescription* const ours = here.variant(planned.sweep_case.variant);
  const VariantDescription* const theirs = there.variant(planned.sweep_case.variant);
  if (ours == nullptr || theirs == nullptr) return std::nullopt;
  PlannedCase known = planned;
  known.sweep_case.parameters = theirs->defaults();
  for (const auto& [axis, value] : planned.sweep_case.parameters.values()) {
    if (theirs->axis(axis) != nullptr) {
      known.sweep_case.parameters.set(axis, value);
    } else if (const AxisDescription* const own = ours->axis(axis);
               own == nullptr || own->default_value != value) {
      return std::nullopt;
    }
  }
  try {
    for (const auto& [axis, value] : known.sweep_case.parameters.values()) {
      check_axis_value(*theirs->axis(axis), value);
    }
    known.name = case_name(known.sweep_case, *theirs);
  } catch (const UsageError&) {
    return std::nullopt;  // a mode that the other build has not
  }
  return known;
}

ComparedBuilds run_two_builds(const BuildComparisonOptions& options) {
  return BuildComparison(options).run();
}

}  // namespace peakmark
