#include "measure/builds/build_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/measurement.hpp"
#include "measure/supervise/run_context.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/supervise/worker_program.hpp"

namespace peakmark {
namespace {

/// One of the two builds.
struct Build {
  Build(const char* name_of_build, SweepOptions its_options)
      : name(name_of_build), options(std::move(its_options)), journal(options.run_file) {}

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
  if (!options.base_suites.empty()) base.selection.suites = options.base_suites;
  return base;
}

class BuildComparison {
 public:
  explicit BuildComparison(const BuildComparisonOptions& options)
      : options_(options),
        measurement_(options.sweep, options.signals),
        base_("base", base_options(options)),
        next_("new", options.sweep) {}

  ComparedBuilds run() {
    if (!options_.sweep.resume) {
      for (Build* build : builds_) build->journal.set_earlier_run_aside();
    }
    base_.options.worker = worker_of_base(options_).string();
    const MachineFacts facts = gather_machine_facts();
    describe();
    select_cases(facts);
    say_device(next_.selection.device);
    for (const Build* const build : builds_)
      check_estimators_found(build->selection.suite.vocabulary, build->selection.planned,
                             {interrupt(), std::nullopt});
    if (prepare(facts)) return {ExitCode::clean, true};
    ComparedBuilds compared;
    measurement_.run(sides(), [&](Stop stop, std::chrono::seconds) { compared = conclude(stop); });
    return compared;
  }

 private:
  void describe() {
    for (Build* build : builds_) {
      build->worker = find_worker_for(build->options);
      build->description = describe_worker(build->worker, interrupt());
      say(fmt::format("{}: {} ({}{})", build->name, build->worker.string(), build->description.build,
                      build->description.commit.empty() ? "" : ", commit " + build->description.commit));
    }
    if (base_.description.build == next_.description.build || options_.force) return;
    throw UsageError(fmt::format(
        "the builds are of other types: {} is '{}', {} is '{}'; build both alike, or add "
        "--force",
        base_.worker.string(), base_.description.build, next_.worker.string(), next_.description.build));
  }

  void select_cases(const MachineFacts& facts) {
    if (options_.cases != nullptr) {
      next_.selection = options_.cases->selection;
      keep_known(next_, options_.cases->description);
    } else {
      next_.selection = select(next_.options.selection, next_.description, facts.devices,
                               [&](const std::vector<PlannedCase>& cases) {
                                 say_checking(cases.size());
                                 check_cases(next_.worker, next_.description, cases, interrupt());
                               });
    }
    if (options_.base_suites.empty()) {
      leave_out([&](const PlannedCase& one) { return is_program_of(next_.selection, one); },
                "case of a program is", "cases of programs are", "programs belong to no build");
    }
    if (options_.programs_only) {
      leave_out([&](const PlannedCase& one) { return !is_program_of(next_.selection, one); },
                "case of a worker is", "cases of a worker are", "the builds have none");
    }
    if (next_.selection.planned.empty()) {
      throw UsageError(
          options_.programs_only
              ? "the builds have no worker: name it in the suite (worker = \"build/NAME\"), or "
                "with --worker"
              : "the suite has only programs, which belong to no build; compare commits, or runs");
    }
    base_.selection = next_.selection;
    keep_known(base_, next_.description);
    set_own_versions(base_, options_.base_own_suites);
    set_own_versions(next_, options_.own_suites);
  }

  /// Sets the versions of a commit's cases to those in its own suites. If these lack a variant, or cannot be
  /// read, nothing changes.
  static void set_own_versions(Build& build, const std::vector<std::filesystem::path>& suites) {
    if (suites.empty()) return;
    std::unordered_map<std::string, Size> versions;  // by case, and by variant
    try {
      ExpandOptions expand;
      expand.backend = build.options.selection.backend;
      expand.automatic_backend = to_string(build.selection.device.backend);
      for (const PlannedCase& own : load_suites(suites, build.description, expand).cases) {
        versions.emplace(own.name, own.version);
        versions.emplace(own.sweep_case.variant, own.version);
      }
    } catch (const UsageError&) {
      return;
    }
    for (PlannedCase& planned : build.selection.planned) {
      auto own = versions.find(planned.name);
      if (own == versions.end()) own = versions.find(planned.sweep_case.variant);
      if (own != versions.end()) planned.version = own->second;
    }
  }

  void leave_out(const std::function<bool(const PlannedCase&)>& is_left_out, const char* one,
                 const char* many, const char* why) {
    const std::size_t count = std::erase_if(next_.selection.planned, is_left_out);
    if (count > 0) say(fmt::format("  {} left out: {}", quantity(count, one, many), why));
  }

  /// From the cases that another build names, keeps those that this build knows, and checks them.
  void keep_known(Build& build, const Description& naming) {
    const std::vector<PlannedCase> named = std::exchange(build.selection.planned, {});
    for (const PlannedCase& planned : named) {
      const bool is_program = is_program_of(build.selection, planned);
      auto known = is_program ? std::optional(planned) : planned_for(planned, naming, build.description);
      if (known) build.selection.planned.push_back(std::move(*known));
    }
    if (build.selection.planned.empty())
      throw UsageError(
          fmt::format("{} knows none of the {}", build.worker.string(), quantity(named.size(), "case")));
    if (const std::size_t unknown = named.size() - build.selection.planned.size(); unknown > 0)
      say(fmt::format("  the {} does not know {} of the {}", build.name, unknown,
                      quantity(named.size(), "case")));
    check_cases(build.worker, build.description, build.selection.planned, interrupt());
  }

  /// Starts or resumes both runs. Returns true if there is nothing left to measure.
  bool prepare(const MachineFacts& facts) {
    Rounds rounds;
    rounds.job = make_run_id();
    const bool memory_only = options_.sweep.memory_only;
    rounds.rounds = memory_only ? 1 : options_.sweep.rounds.value();
    rounds.seed = options_.sweep.seed ? *options_.sweep.seed : std::random_device()();
    rounds.two_passes = !memory_only;
    std::array<bool, 2> resumed{};
    for (Build* build : builds_) {
      RunContext context =
          make_run_context(build->selection, build->description, memory_only, options_.sweep.host_name);
      context.asked_cache = options_.sweep.cache;
      add_machine_facts(context, facts, build->selection.device);
      if (build == &next_) note_findings(facts, build->selection.device, context);
      context.rounds = rounds;
      bool& is_resumed = resumed[build == &base_ ? 0 : 1];
      is_resumed = build->options.resume && build->journal.resume(context);
      if (!is_resumed) start_journal(build->journal, std::move(context), build->options.run_file);
    }
    if (resumed[0] != resumed[1] || (resumed[0] && job_of(base_) != job_of(next_))) {
      throw UsageError(
          fmt::format("{} and {} are not two sides of one comparison; measure again without --resume",
                      base_.options.run_file.string(), next_.options.run_file.string()));
    }
    const bool complete = base_.journal.is_complete() && next_.journal.is_complete();
    if (resumed[0] && complete) say("both runs are complete: nothing to resume");
    return resumed[0] && complete;
  }

  static const std::string& job_of(const Build& build) { return build.journal.run().context.rounds->job; }

  [[nodiscard]] int interrupt() const { return measurement_.signals().descriptor(); }

  [[nodiscard]] std::vector<MeasuredSide> sides() {
    const auto side_of = [&](Build& build) {
      return MeasuredSide{build.name,
                          build.options,
                          build.journal,
                          build.selection,
                          {{build.worker, {}, options_.sweep.cache}},
                          [](const PlannedCase&) { return std::size_t{0}; }};
    };
    return {side_of(base_), side_of(next_)};
  }

  ComparedBuilds conclude(Stop stop) {
    if (!base_.journal.has_measured() && !next_.journal.has_measured()) {
      say(stop == Stop::interrupted ? "interrupted before anything was measured"
                                    : "the deadline came before anything was measured");
      return {stop == Stop::interrupted ? ExitCode::interrupted : ExitCode::nothing, false};
    }
    ExitCode code = ExitCode::clean;
    const bool has_both = base_.journal.has_measured() && next_.journal.has_measured();
    for (Build* build : builds_) {
      build->journal.finish();
      say(fmt::format("{}: {}; {}", build->name, summary(build->journal.run()),
                      build->options.run_file.string()));
      if (build == &next_) code = exit_code_of(build->journal.run());
    }
    if (stop != Stop::done) {
      say(fmt::format(
          "{}: {}; --resume continues", stop == Stop::interrupted ? "interrupted" : "stopped by the deadline",
          has_both ? "not every round has ended" : "only one side was measured, so there is no comparison"));
    }
    if (!has_both) code = ExitCode::nothing;
    return {stop == Stop::interrupted ? ExitCode::interrupted : code, has_both};
  }

  const BuildComparisonOptions& options_;
  Measurement measurement_;
  Build base_;
  Build next_;
  std::array<Build*, 2> builds_{&base_, &next_};
};

}  // namespace

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
    return std::nullopt;  // for example because the other build lacks a mode
  }
  return known;
}

ComparedBuilds run_two_builds(const BuildComparisonOptions& options) {
  return BuildComparison(options).run();
}

}  // namespace peakmark
