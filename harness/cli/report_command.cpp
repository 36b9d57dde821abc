#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/trend/reports.hpp"
#include "base/program.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct PageOptions {
  std::string output;
  std::string history;
  std::string commit_url;
  GrowthAllowance allow_growth;
};

constexpr std::array kForms{
    std::pair{"--gitlab-metrics", "Write GitLab's metrics report"},
    std::pair{"--gitlab-code-quality", "Write GitLab's code quality report"},
    std::pair{"--benchmark-action", "Write JSON for github-action-benchmark"},
};

std::vector<fs::path> files_of_forms(const CLI::App& command) {
  std::vector<fs::path> files;
  for (const auto& [name, help] : kForms) {
    for (const std::string& file : command.get_option(name)->results()) files.emplace_back(file);
  }
  return files;
}

/// Returns true if the page is written: with --output, or without a form.
bool has_page(const CLI::App& command) {
  return command.count("--output") > 0 || files_of_forms(command).empty();
}

/// Python replaces files only in a folder whose page has this generator.
void replace_earlier_page(const fs::path& folder) {
  constexpr std::string_view kGenerator = R"(<meta name="generator" content="peakmark report">)";
  const fs::path page = folder / "index.html";
  std::error_code error;
  if (!fs::is_regular_file(page, error)) return;
  if (read_text_file(page).substr(0, 2000).find(kGenerator) == std::string::npos) return;
  write_output_file(page,
                    fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n{}\n<title>No report</title>\n"
                                "<p>The last <code>peakmark report</code> into this folder failed.</p>\n",
                                kGenerator));
}

[[noreturn]] void report(const CLI::App& command, const PageOptions& options) {
  if (!options.commit_url.empty()) trend::check_commit_url(options.commit_url);
  remove_earlier_outputs(files_of_forms(command), {options.history});
  if (has_page(command)) replace_earlier_page(options.output.empty() ? "report" : options.output);
  std::vector<std::string> words = given_words(command);
  words.insert(words.begin() + 1, "--peakmark=" + own_program().string());
  become_python_reports(words, options.history);
}

}  // namespace

void add_report_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<PageOptions>();
  CLI::App* const command =
      app.add_subcommand("report", "Write a web page of a history or of a run, and reports for CI systems");
  CLI::Option* const run =
      command->add_option("RUN", "Write the page of this run file instead of a history's")->check(kFileName);
  const auto of_history = [run](CLI::Option* option) {
    return only_when(option, "without RUN", [run] { return run->count() == 0; });
  };
  CLI::Option* const against =
      command->add_option("--against", "Show first what differs from this run file, as `compare` does")
          ->type_name(value_name::kRun)
          ->check(kFileName)
          ->needs(run);
  command->add_flag("--force")
      ->description("Compare although device, driver, platform or build type differ")
      ->needs(against);
  command
      ->add_option(
          "-o,--output", options->output,
          "Write the page into this folder. Default: report, or no page if another report is written")
      ->type_name(value_name::kFolder)
      ->check(kFileName);
  of_history(add_history_option(*command, options->history));
  only_when(add_allow_growth_option(*command, options->allow_growth), "with --against or without RUN",
            [run, against] { return run->count() == 0 || against->count() > 0; });
  for (const auto& [name, help] : kForms) {
    of_history(command->add_option(name, help))->type_name(value_name::kFile)->check(kFileName);
    if (name != std::string("--gitlab-code-quality")) continue;
    command
        ->add_option("--code-quality-path",
                     "Name this file of the repository in it. Default: suites/nightly.toml")
        ->type_name(value_name::kFile)
        ->check(kFileName)
        ->needs(command->get_option(name));
  }
  const auto of_page = [command, run](CLI::Option* option) {
    return only_when(option, "with the page of a history",
                     [command, run] { return run->count() == 0 && has_page(*command); });
  };
  only_when(command->add_option("--title", "Print this text above the verdict"), "with a page", [command] {
    return has_page(*command);
  })->type_name("TEXT");
  of_page(command->add_option(
              "--commit-url", options->commit_url,
              "Link commits to this address, with {commit} in it. Default: `peakmark history set`"))
      ->type_name("URL");
  repeatable(of_page(command->add_option(
                 "--branch",
                 "Also show what this branch changed since its merge base; * is any text, as in "
                 "'pull/*'")))
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty);
  set_help(*command,
           {.notes = {kPythonNote},
            .exit_codes = {
                {"0", "written, whatever the verdict; `trends`, `check` and `compare` exit with the verdict"},
                {"2", "wrong usage, or something cannot be read or written"}}});
  command->callback([command, options] { report(*command, *options); });
}

}  // namespace peakmark::cli
