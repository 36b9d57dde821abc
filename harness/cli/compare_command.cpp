#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/builds/build_comparison.hpp"
#include "measure/builds/commit_worktree.hpp"
#include "measure/check/judge.hpp"
#include "measure/compare/recordings.hpp"
#include "measure/compare/run_comparison.hpp"
#include "measure/compare/speedups.hpp"
#include "measure/git/git_repository.hpp"
#include "measure/runfile/json_fields.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/sites.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark::cli {
namespace {

struct CompareOptions {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> variants;
  std::optional<std::string> against;
  bool force = false;
  bool json = false;
  GrowthAllowance allow_growth;
  std::optional<std::filesystem::path> markdown;
  std::optional<std::filesystem::path> build;
  std::vector<std::string> commits;
  std::string build_command;
  bool remove_builds = false;
  SweepOptions sweep;
  std::filesystem::path prefix = "compare";

  /// Returns true if FILE is a list of suites, which two builds measure.
  [[nodiscard]] bool measures() const { return build || !commits.empty(); }
  [[nodiscard]] bool are_profiles() const {
    return !measures() && files.size() == 2 && is_profile(files.front());
  }
};

/// Summarises a recording. Throws RecorderError if events are lost. A killed process counts up to its last
/// event.
Recorded summarise(const RecordedTree& tree, const std::filesystem::path& path) {
  for (const RecordedProcess& process : tree.processes) {
    const std::string why = why_not_whole(process, invalid_note(process.events));
    if (!why.empty()) throw RecorderError(fmt::format("{}: {}", process.path.string(), why));
  }
  const RecordedProcess& first = tree.processes.front();
  Recorded recorded{path.string(), fmt::format("{}", fmt::join(first.command_line, " ")),
                    summarise_together(tree)};
  if (!recorded.summary.refused.empty()) recorded.summary.refused = refused_by_site(tree);
  return recorded;
}

ExitCode compare_profiles(const CompareOptions& options) {
  const RecordedTree base = read_tree(options.files[0]);
  const RecordedTree next = read_tree(options.files[1]);
  const RecordingComparison comparison = compare_recordings(
      summarise(base, options.files[0]), summarise(next, options.files[1]), options.allow_growth);
  print_text(options.json ? json_fields::pretty(comparison_json(comparison)) : comparison_table(comparison));
  // Checks only the program itself: children of Python's multiprocessing normally end with `_exit`.
  for (const RecordedTree* tree : {&base, &next}) {
    const RecordedProcess& program = tree->processes.front();
    if (program.complete) continue;
    throw RecorderError(
        fmt::format("{}: recording is incomplete: the program was killed, called `_exit` or still runs; "
                    "compared up to its last event. Record it to its end",
                    program.path.string()));
  }
  return comparison.is_regression() ? ExitCode::verdict : ExitCode::clean;
}

RunToCompare read_run_to_compare(const std::filesystem::path& path) {
  if (const std::string warning = later_run_warning(path); !warning.empty()) {
    std::cerr << "warning: " << warning << "\n";
  }
  return {path.string(), read_run(path)};
}

ExitCode show(const CompareOptions& options, const RunComparison& comparison) {
  print_text(options.json ? json_fields::pretty(comparison_json(comparison)) : comparison_table(comparison));
  if (options.markdown) write_output_file(*options.markdown, comparison_markdown(comparison));
  return exit_code_of(comparison);
}

ExitCode compare_files(const CompareOptions& options) {
  if (options.against) {
    if (options.files.size() != 1) throw UsageError("--against takes one run file");
    const Speedups found = speedups(read_run_to_compare(options.files[0]), *options.against);
    print_text(options.json ? json_fields::pretty(speedup_json(found)) : speedup_table(found));
    return exit_code_of(found);
  }
  if (!options.variants.empty()) {
    if (options.files.size() != 1) throw UsageError("--variants takes one run file");
    return show(options, compare_variants(read_run_to_compare(options.files[0]), options.variants[0],
                                          options.variants[1], options.allow_growth));
  }
  if (options.files.size() != 2) {
    throw UsageError(
        "name two files BASE and NEW, one run file with --variants OLD NEW or --against VARIANT, or a suite "
        "with --build BUILD or --commits OLD NEW");
  }
  for (const std::filesystem::path& file : options.files) {
    // Throws the error of a killed run.
    if (!std::filesystem::exists(file) && std::filesystem::exists(partial_of(file))) read_run(file);
  }
  const bool base_is_run = contents(options.files[0]) == FileContents::run;
  if (base_is_run != (contents(options.files[1]) == FileContents::run)) {
    const std::filesystem::path& other = options.files[base_is_run ? 1 : 0];
    if (!std::filesystem::exists(other)) read_run(other);  // throws the error of a missing file
    throw UsageError(fmt::format("{} is a run file and {} is not; name two run files or two profiles",
                                 options.files[base_is_run ? 0 : 1].string(),
                                 options.files[base_is_run ? 1 : 0].string()));
  }
  if (!base_is_run) return compare_profiles(options);
  return show(options,
              compare_runs(read_run_to_compare(options.files[0]), read_run_to_compare(options.files[1]),
                           options.force, options.allow_growth));
}

/// Returns the measurement with both builds of a suite: `base` is the worker of the base, or a folder that
/// contains it.
BuildComparisonOptions two_builds(const CompareOptions& options, const std::filesystem::path& base) {
  BuildComparisonOptions two{options.sweep, base, options.prefix.string() + ".base.json", options.force};
  two.sweep.selection.suites.clear();
  for (const std::filesystem::path& word : options.files) {
    if (!take_axis(word.string(), two.sweep.selection)) two.sweep.selection.suites.push_back(word);
  }
  if (two.sweep.selection.suites.empty()) throw UsageError("no suite: write SUITE.toml before the axes");
  two.sweep.run_file = options.prefix.string() + ".new.json";
  return two;
}

/// Measures both builds. `complete` adds facts about the sides to the comparison.
ExitCode compare_builds(
    const CompareOptions& options, const BuildComparisonOptions& two,
    const std::function<void(RunComparison&)>& complete = [](RunComparison&) {}) {
  const ComparedBuilds measured = run_two_builds(two);
  if (!measured.has_both) return measured.code;
  RunComparison comparison =
      compare_runs(read_run_to_compare(two.base_run_file), read_run_to_compare(two.sweep.run_file),
                   options.force, options.allow_growth);
  complete(comparison);
  const ExitCode judged = show(options, comparison);
  return measured.code == ExitCode::interrupted ? measured.code : worse(measured.code, judged);
}

ExitCode compare_commits(const CompareOptions& options) {
  const SignalWatch signals;
  const GitRepository repository(std::filesystem::current_path());
  const std::string old_commit = repository.commit(options.commits[0]);
  const std::string new_commit = repository.commit(options.commits[1]);
  if (old_commit == new_commit)
    throw UsageError(fmt::format("--commits {} {}: both are the commit {}; name two", options.commits[0],
                                 options.commits[1], short_commit(old_commit)));
  if (repository.has_uncommitted_changes()) print_message(stderr, "uncommitted changes are not measured\n");
  BuildComparisonOptions two = two_builds(options, {});
  two.signals = &signals;
  ExitCode code = ExitCode::clean;
  {
    const auto build = [&](const std::string& commit) {
      auto worktree = build_commit(repository, commit, options.build_command, signals.descriptor());
      worktree->keep(options.build_command);
      return worktree;
    };
    const auto base = build(old_commit);
    const auto next = build(new_commit);
    const CommitSide base_side = side_of_commit(*base, repository, two.sweep);
    set_sides(two, base_side, side_of_commit(*next, repository, two.sweep));
    code = compare_builds(options, two, [&](RunComparison& comparison) {
      comparison.base.commit = old_commit;
      comparison.next.commit = new_commit;
    });
  }
  remove_builds(repository, options.remove_builds ? 0 : kKeptBuilds);
  return code;
}

ExitCode compare_suite(const CompareOptions& options) {
  const char* const option = options.build ? "--build" : "--commits";
  if (!options.variants.empty() || options.against)
    throw UsageError(fmt::format("{} compares two builds, {} variants of one build; choose one", option,
                                 options.against ? "--against" : "--variants"));
  if (!options.build) return compare_commits(options);
  return compare_builds(options, two_builds(options, *options.build));
}

/// Adds the options that need --build or --commits.
void add_build_options(CLI::App& command, CompareOptions& options) {
  SweepOptions& sweep = options.sweep;
  CLI::Option* const build =
      command
          .add_option("--build", options.build,
                      "Measure SUITE with this build and the current one, interleaved: a checkout, a build "
                      "tree, an install prefix or a worker")
          ->type_name(value_name::kBuild);
  CLI::Option* const commits =
      command
          .add_option("--commits", options.commits,
                      "Build two commits of this repository in worktrees, and measure SUITE with both, "
                      "interleaved")
          ->type_name("COMMIT")
          ->expected(2)
          ->excludes(build);
  CLI::Option* const build_command =
      command
          .add_option("--build-command", options.build_command,
                      "Build a commit by this command of the shell, in the root of its worktree")
          ->type_name("COMMAND")
          ->needs(commits);
  commits->needs(build_command);
  command
      .add_flag("--remove-builds", options.remove_builds,
                "Remove the worktrees of this repository's commits at the end. Default: the 8 that were used "
                "last are kept")
      ->needs(commits);
  const auto with_build = [&options](CLI::Option* option) {
    return only_when(option->group("Only with --build or --commits"), "with --build or --commits",
                     [&options] { return options.measures(); });
  };
  for (CLI::Option* const option : add_selection_options(command, sweep.selection)) with_build(option);
  with_build(add_require_option(command, sweep.selection));
  const auto of_times = [&](CLI::Option* option) {
    return with_build(only_with_times(option, sweep.selection));
  };
  sweep.rounds = 15;
  of_times(command.add_option("--rounds", sweep.rounds, "Time in this many A/B rounds, 9 or more")
               ->check(CLI::Range(1, kMaxRounds))
               ->capture_default_str());
  of_times(command
               .add_option("--cache", sweep.cache,
                           "Time with a cold cache, a hot one, or both. Default: cold on a GPU, hot on a CPU")
               ->check(CLI::IsMember({"cold", "hot", "both"})));
  of_times(command
               .add_option("--seed", sweep.seed,
                           "Order the rounds by this seed. Default: a random seed, which is recorded")
               ->type_name("INT"));
  with_build(add_file_option(command, "-o,--output", options.prefix,
                             "Keep the runs as FILE.base.json and FILE.new.json")
                 ->capture_default_str());
  with_build(add_worker_option(command, sweep.worker, "Use this program of the new build"));
  with_build(add_timeout_option(command, sweep.case_limit));
  with_build(
      add_seconds_option(command, "--deadline", sweep.deadline, "End the whole measurement after this time"));
  with_build(command.add_flag("--no-wait", sweep.no_wait, "Exit with 4 if another run uses the device"));
  with_build(command.add_flag("--host-name", sweep.host_name,
                              "Write the host name into the run files. Default: a hash of it"));
  with_build(command.add_flag("--resume", sweep.resume, "Continue a stopped measurement"));
}

}  // namespace

void add_compare_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      app.add_subcommand("compare", "Compare memory and time of two runs, variants, builds or recordings");
  const auto of_runs = [options = options.get()](CLI::Option* option) {
    return only_when(option, "with runs and suites", [options] { return !options->are_profiles(); });
  };
  command
      ->add_option(
          "FILE", options->files,
          "Two run files or profiles; one run file with --variants or --against; suites, and values of "
          "axes such as nx=512, with --build or --commits")
      ->required();
  CLI::Option* const variants =
      command
          ->add_option("--variants", options->variants,
                       "Compare the old and the new variant of a run of `run --rounds 15 --variants`. The "
                       "part after `/` or `.` is enough if no other variant ends with it")
          ->type_name(value_name::kVariant)
          ->expected(2);
  CLI::Option* const against =
      command
          ->add_option("--against", options->against,
                       "Print peak and time of every other variant of a run relative to this one, for each "
                       "shape and as geometric mean")
          ->type_name(value_name::kVariant)
          ->excludes(variants);
  of_runs(command->add_flag("--force", options->force,
                            "Compare although device, driver, platform or build type differ"))
      ->excludes(variants)
      ->excludes(against);
  add_allow_growth_option(*command, options->allow_growth)->excludes(against);
  command->add_flag("--json", options->json, "Print the comparison as JSON");
  of_runs(add_file_option(*command, "--markdown", options->markdown, "Write a summary in markdown"))
      ->excludes(against);
  add_build_options(*command, *options);
  set_help(
      *command,
      {.notes =
           {"Compares bytes exactly. Judges times only if both sides were interleaved (--build, --commits, "
            "or run --rounds); else a change of time is `suspicious`, which does not fail. Of profiles, "
            "judges the peak."},
       .exit_codes = {{"0", "no regression"},
                      {"1", "a peak or leak grew, or a time is slower"},
                      {"2", "wrong usage, or files that cannot be compared"},
                      {"3", "a case fails that succeeded before, or a commit does not build"},
                      {"4", "nothing was measured"},
                      {"5", "a recording is incomplete"}}});
  command->callback([options, &result] {
    if (options->markdown) remove_earlier_outputs({*options->markdown}, options->files);
    result.code = options->measures() ? compare_suite(*options) : compare_files(*options);
  });
}

}  // namespace peakmark::cli
