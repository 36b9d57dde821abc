#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "check/judge.hpp"
#include "cli/allow_growth_option.hpp"
#include "cli/case_limit_option.hpp"
#include "cli/command.hpp"
#include "cli/file_contents.hpp"
#include "cli/file_name.hpp"
#include "cli/output_file.hpp"
#include "cli/seconds.hpp"
#include "cli/selection_options.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "compare/recordings.hpp"
#include "compare/run_comparison.hpp"
#include "show/process_tree.hpp"
#include "show/sites.hpp"
#include "supervise/build_comparison.hpp"

namespace peakmark::cli {
namespace {

struct CompareOptions {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> variants;
  bool force = false;
  bool json = false;
  std::optional<std::string> allow_growth;
  std::optional<std::filesystem::path> markdown;
  std::optional<std::filesystem::path> build;
  SweepOptions sweep;
  std::filesystem::path prefix = "compare";
  std::optional<double> timeout;
  std::optional<double> deadline;
};

/// One whose events are lost is not compared. A process that was killed is, up to its last event.
Recorded recorded_of(const RecordedTree& tree, const std::filesystem::path& path) {
  for (const RecordedProcess& process : tree.processes) {
    const std::string why = why_not_whole(process, invalid_note(process.events));
    if (!why.empty()) throw RecorderError(fmt::format("{}: {}", process.path.string(), why));
  }
  const RecordedProcess& first = tree.processes.front();
  Recorded recorded{path.string(), fmt::format("{}", fmt::join(first.command_line, " ")),
                    summarise_together(tree)};
  if (!recorded.summary.refused.empty()) recorded.summary.refused = refused_by_site(tree, 1);
  return recorded;
}

ExitCode compare_profiles(const CompareOptions& options) {
  if (options.markdown)
    throw UsageError("--markdown is for runs; profiles are shown on the console or as --json");
  const RecordedTree base = read_tree(options.files[0]);
  const RecordedTree next = read_tree(options.files[1]);
  const RecordingComparison comparison =
      compare_recordings(recorded_of(base, options.files[0]), recorded_of(next, options.files[1]),
                         allowed_growth(options.allow_growth));
  print_text(options.json ? comparison_json(comparison) : comparison_table(comparison));
  // Of children it is not asked: those of Python's multiprocessing leave by `_exit` when all is well.
  for (const RecordedTree* tree : {&base, &next}) {
    const RecordedProcess& program = tree->processes.front();
    if (program.complete) continue;
    throw RecorderError(
        fmt::format("{}: the program was killed, left by `_exit` or still runs: compared up to its last "
                    "event, and what it would have held later is not known; record it to its end",
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
  print_text(options.json ? comparison_json(comparison) : comparison_table(comparison));
  if (options.markdown) write_output_file(*options.markdown, comparison_markdown(comparison));
  return exit_code_of(comparison);
}

ExitCode compare_files(const CompareOptions& options) {
  if (!options.variants.empty()) {
    if (options.files.size() != 1)
      throw UsageError("--variants compares two variants of one run: name one file");
    return show(options, compare_variants(read_run_to_compare(options.files[0]), options.variants[0],
                                          options.variants[1], allowed_growth(options.allow_growth)));
  }
  if (options.files.size() != 2) {
    throw UsageError(
        "name two files, BASE and NEW; one run with --variants OLD NEW; or a suite with --build OTHER");
  }
  for (const std::filesystem::path& file : options.files) {
    // A run that was killed: this says so, and what to do.
    if (!std::filesystem::exists(file) && std::filesystem::exists(partial_of(file))) read_run(file);
  }
  const bool base_is_run = contents_of(options.files[0]) == FileContents::run;
  if (base_is_run != (contents_of(options.files[1]) == FileContents::run)) {
    const std::filesystem::path& other = options.files[base_is_run ? 1 : 0];
    if (!std::filesystem::exists(other)) read_run(other);  // which says so, and what to do
    throw UsageError(fmt::format("{} is a run file and {} is none; compare takes two runs, or two profiles",
                                 options.files[base_is_run ? 0 : 1].string(),
                                 options.files[base_is_run ? 1 : 0].string()));
  }
  if (!base_is_run) return compare_profiles(options);
  return show(options,
              compare_runs(read_run_to_compare(options.files[0]), read_run_to_compare(options.files[1]),
                           options.force, allowed_growth(options.allow_growth)));
}

ExitCode compare_builds(const CompareOptions& options) {
  if (!options.variants.empty())
    throw UsageError("--build compares two builds, --variants two variants of one: choose");
  BuildComparisonOptions two{options.sweep, *options.build, options.prefix.string() + ".base.json",
                             options.force};
  two.sweep.selection.suites = options.files;
  two.sweep.run_file = options.prefix.string() + ".new.json";
  set_case_limit(two.sweep, options.timeout);
  if (options.deadline) two.sweep.deadline = milliseconds_of("--deadline", *options.deadline);
  const ComparedBuilds measured = run_two_builds(two);
  if (!measured.has_both) return measured.code;
  const ExitCode judged = show(
      options, compare_runs(read_run_to_compare(two.base_run_file), read_run_to_compare(two.sweep.run_file),
                            options.force, allowed_growth(options.allow_growth)));
  return measured.code == ExitCode::interrupted ? measured.code : worse(measured.code, judged);
}

void add_build_options(CLI::App* command, CompareOptions& options) {
  SweepOptions& sweep = options.sweep;
  SelectionOptions& selection = sweep.selection;
  CLI::Option* const build = command
                                 ->add_option("--build", options.build,
                                              "The base: a checkout, a build tree, an install prefix or a "
                                              "worker; measures SUITE with both in "
                                              "turns")
                                 ->type_name(value_name::kBuild);
  const auto with_build = [&](CLI::Option* option) { option->needs(build)->group("With --build"); };
  sweep.rounds = 15;
  with_build(command->add_option("--rounds", sweep.rounds, "Rounds of each look, 9 or more")
                 ->check(CLI::Range(1, kMaxRounds))
                 ->capture_default_str());
  with_build(command
                 ->add_option("--cache", sweep.cache,
                              "Cold times, hot, or both; default: cold on a GPU, hot on a CPU")
                 ->check(CLI::IsMember({"cold", "hot", "both"})));
  with_build(
      command->add_option("--seed", sweep.seed, "Of the orders of rounds; default: one by chance, recorded"));
  with_build(
      command
          ->add_option("-o,--output", options.prefix, "The runs are kept as FILE.base.json and FILE.new.json")
          ->type_name(value_name::kFile)
          ->capture_default_str()
          ->check(kFileName));
  for (CLI::Option* const option : add_selection_options(*command, selection)) with_build(option);
  with_build(command->add_option("--require", selection.require, "cuda or gpu: exit 4 where there is none")
                 ->check(CLI::IsMember({"cuda", "gpu"})));
  with_build(command
                 ->add_option(
                     "--worker", sweep.worker,
                     "The new build's program; default: that of the suite, or peakmark-bench beside peakmark")
                 ->type_name(value_name::kProgram));
  with_build(
      command->add_option("--timeout", options.timeout, kTimeoutHelp)->type_name(value_name::kSeconds));
  with_build(command->add_option("--deadline", options.deadline, "Seconds that all may take")
                 ->type_name(value_name::kSeconds));
  with_build(command->add_flag("--no-wait", sweep.no_wait, "Exit 4 where another run uses the device"));
  with_build(command->add_flag("--host-name", sweep.host_name,
                               "Write the name of this machine into the run files; else a mark of it"));
  with_build(command->add_flag("--resume", sweep.resume, "Go on where it was stopped"));
}

}  // namespace

void add_compare_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "Two sides of memory and time: runs, variants of a run, builds, or recordings");
  command
      ->add_option("FILE", options->files,
                   "Two run files, or two profiles; one run file with --variants; suites with --build")
      ->required();
  command
      ->add_option("--variants", options->variants,
                   "The old and the new one of a run: `run --rounds 15 --variants`; short names that are "
                   "unique in it will do")
      ->type_name(value_name::kVariant)
      ->expected(2);
  command->add_flag("--force", options->force, "Also where device, driver, platform or build type differ");
  add_allow_growth_option(*command, options->allow_growth);
  command->add_flag("--json", options->json, "The whole comparison as JSON");
  command->add_option("--markdown", options->markdown, "Write a summary in markdown")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  add_build_options(command, *options);
  command->footer(
      "Bytes are compared exactly. Times need two sides measured in turns (--build, or run --rounds): else "
      "they\n"
      "end at `suspicious`, which fails nothing. Of profiles, the peak is judged.\n"
      "Exit code: 0 nothing regressed, 1 a peak or leak grew or a time is slower, 2 wrong usage, or files "
      "that\n"
      "cannot be compared, 3 a case that went well fails, 4 nothing was measured, 5 a recording is not "
      "whole.");
  command->callback([options, &result] {
    (void)allowed_growth(options->allow_growth);  // a mistake is found before anything is measured or removed
    if (options->markdown) remove_earlier_outputs({*options->markdown}, options->files);
    result.code = options->build ? compare_builds(*options) : compare_files(*options);
  });
}

}  // namespace peakmark::cli
