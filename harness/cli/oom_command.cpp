#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analyse/fit/oom_run.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/supervise/run_workers.hpp"

namespace peakmark::cli {
namespace {

struct OomOptions {
  std::vector<std::string> inputs;
  OomRequest request;
  std::string junit;
  bool json = false;
};

void set_request(OomOptions& options, const std::vector<std::string>& words) {
  OomRequest& request = options.request;
  for (const std::string& text : options.inputs) {
    if (std::filesystem::path(text).extension() == ".toml") {
      request.sweep.selection.suites.emplace_back(text);
    } else if (text.find('=') != std::string::npos) {
      request.values.push_back(text);
    } else if (request.variant.empty()) {
      request.variant = text;
    } else {
      throw UsageError(fmt::format("two variants, {} and {}: write one", request.variant, text));
    }
  }
  if (auto program = program_after_dashes(words)) {
    if (!options.inputs.empty())
      throw UsageError("a program after -- cannot be combined with a variant and its axes: leave these out");
    request.command = std::move(*program);
  }
  if (request.command.empty() && request.variant.empty())
    throw UsageError("nothing to run: write a variant, or a program after --");
}

ExitCode oom(OomOptions& options, const std::vector<std::string>& words) {
  if (!options.junit.empty()) remove_earlier_outputs({options.junit});
  set_request(options, words);
  if (options.request.command.empty()) find_worker_here(options.request.sweep, {options.request.variant});
  const OomReport report = refuse_allocations(
      options.request, [](const std::string& text) { print_message(stderr, "{}\n", text); });
  if (!options.junit.empty()) write_output_file(options.junit, oom_junit(report));
  print_text(options.json ? oom_json(report) : oom_text(report));
  const bool fails =
      std::ranges::any_of(report.refusals, [](const Refusal& one) { return is_failure(one.outcome); });
  if (fails) return ExitCode::verdict;
  const bool is_any_refused = std::ranges::any_of(
      report.refusals, [](const Refusal& one) { return one.outcome != RefusalOutcome::not_refused; });
  return is_any_refused || report.refusals.empty() ? ExitCode::clean : ExitCode::nothing;
}

}  // namespace

void add_oom_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<OomOptions>();
  OomRequest& request = options->request;
  CLI::App* const command =
      app.add_subcommand("oom", "Refuse one allocation after the other, and report how a program takes each");
  command->add_option("INPUT", options->inputs,
                      "A variant, or a suite and its program; AXIS=VALUE. Without: the program after --");
  command
      ->add_option("--allocations", request.choice.indices,
                   "Refuse only the allocations of these numbers, such as 3,7")
      ->type_name("INT")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000'000));
  command->add_flag("--sample", request.choice.sample,
                    "Refuse only the first, the last, the largest, and one of each call site");
  command
      ->add_option("--only", request.choice.only,
                   "Refuse only allocations whose call stack or name has this text")
      ->type_name("TEXT");
  CLI::Option* const max =
      command->add_option("--max", request.choice.count, "Refuse at most this many, drawn at random")
          ->type_name("INT")
          ->check(CLI::PositiveNumber);
  command->add_option("--seed", request.choice.seed, "Draw them by this seed")
      ->type_name("INT")
      ->needs(max)
      ->capture_default_str();
  command
      ->add_option("--compare-output", request.compared_output,
                   "Compare this file, which the program writes, with that of a run without a refusal")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  command->add_flag("--once", request.once,
                    "Refuse this allocation only. Default for programs: the device stays full");
  command->add_flag("--refuse-at-use", request.sweep.refuses_at_use,
                    "Refuse the first command that uses a memory object, not its creation (OpenCL)");
  command
      ->add_option("--jobs", request.jobs,
                   "Run this many programs at the same time. Write {job} where each needs a file of its own")
      ->type_name("INT")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_timeout_option(*command, request.sweep.case_limit);
  add_device_options(*command, request.sweep.selection);
  add_worker_option(*command, request.sweep.worker);
  add_frames_option(*command, request.frames);
  add_file_option(*command, "--junit", options->junit, "Write a JUnit file with a test for each refusal");
  command->add_flag("--json", options->json, "Print the refusals as JSON");
  set_help(*command, {.notes = {"`peakmark oom -- PROGRAM …` runs any program that uses OpenCL or CUDA."},
                      .exit_codes = {{"0", "every refusal was handled, retried, or leaked memory"},
                                     {"1", "a refusal crashed or hung the program, or changed its result"},
                                     {"2", "wrong usage, or the program fails without a refusal"},
                                     {"4", "no allocation was refused"}}});
  command->callback([options, &result] { result.code = oom(*options, result.words); });
}

}  // namespace peakmark::cli
