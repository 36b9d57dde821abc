#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// The path of a file in the repository, for --gitlab-code-quality.
constexpr const char* kCodeQualityPath = "code-quality-path";

struct PageOptions {
  std::string run;  ///< empty: the page of a history
  std::string against;
  bool force = false;
  std::string output;
  std::string history;
  std::string title;
  GrowthAllowance allow_growth;
  std::string commit_url;
  std::vector<std::string> branches;
  /// Options that Python has under the same name: name and value.
  std::vector<std::pair<std::string, std::string>> forms;

  /// Returns true if the page is written: with --output, or without a form.
  [[nodiscard]] bool has_page() const {
    return !output.empty() || std::ranges::all_of(forms, [](const auto& form) {
      return form.first == kCodeQualityPath || form.second.empty();
    });
  }
};

std::vector<std::string> report_words(const PageOptions& options) {
  std::vector<std::string> words{"report", "--peakmark", own_program().string()};
  const auto add = [&](const std::string& name, const std::string& value) {
    // As one word, because a value may begin with a dash.
    if (!value.empty()) words.push_back(fmt::format("--{}={}", name, value));
  };
  add("output", options.output);
  add("title", options.title);
  if (!options.allow_growth.is_zero()) add("allow-growth", options.allow_growth.text);
  add("commit-url", options.commit_url);
  for (const std::string& branch : options.branches) add("branch", branch);
  for (const auto& [name, value] : options.forms) add(name, value);
  add("against", options.against);
  if (options.force) words.emplace_back("--force");
  if (!options.run.empty()) words.insert(words.end(), {"--", options.run});  // it may begin with a dash
  return words;
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

/// Removes the page and the forms.
void remove_earlier_reports(const PageOptions& options) {
  std::vector<fs::path> outputs;
  for (const auto& [name, value] : options.forms) {
    if (name != kCodeQualityPath) outputs.emplace_back(value);
  }
  remove_earlier_outputs(outputs, {options.history});
  if (options.has_page()) replace_earlier_page(options.output.empty() ? "report" : options.output);
}

[[noreturn]] void report(const PageOptions& options) {
  if (!options.commit_url.empty()) trend::check_commit_url(options.commit_url);
  remove_earlier_reports(options);
  become_python_reports(report_words(options), options.history);
}

}  // namespace

void add_report_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<PageOptions>();
  CLI::App* const command =
      app.add_subcommand("report", "Write a web page of a history or of a run, and reports for CI systems");
  CLI::Option* const run =
      command->add_option("RUN", options->run, "Write the page of this run file instead of a history's");
  run->check(kFileName);
  const auto of_history = [options = options.get()](CLI::Option* option) {
    return only_when(option, "without RUN", [options] { return options->run.empty(); });
  };
  CLI::Option* const against =
      add_file_option(*command, "--against", options->against,
                      "Show first what differs from this run file, as `compare` does")
          ->needs(run)
          ->type_name(value_name::kRun);
  command
      ->add_flag("--force", options->force, "Compare although device, driver, platform or build type differ")
      ->needs(against);
  command
      ->add_option(
          "-o,--output", options->output,
          "Write the page into this folder. Default: report, or no page if another report is written")
      ->type_name(value_name::kFolder)
      ->check(kFileName);
  of_history(add_history_option(*command, options->history));
  only_when(add_allow_growth_option(*command, options->allow_growth), "with --against or without RUN",
            [options = options.get()] { return options->run.empty() || !options->against.empty(); });
  const std::vector<std::pair<std::string, std::string>> forms{
      {"gitlab-metrics", "Write GitLab's metrics report"},
      {"gitlab-code-quality", "Write GitLab's code quality report"},
      {kCodeQualityPath, "Name this file of the repository in it. Default: suites/nightly.toml"},
      {"bencher", "Write Bencher Metric Format"},
      {"benchmark-action", "Write JSON for github-action-benchmark"}};
  options->forms.reserve(forms.size());  // the options below keep addresses of its elements
  for (const auto& [name, help] : forms) {
    options->forms.emplace_back(name, "");
    CLI::Option* const form = add_file_option(*command, "--" + name, options->forms.back().second, help);
    if (name != kCodeQualityPath) of_history(form);
  }
  command->get_option(std::string("--") + kCodeQualityPath)
      ->needs(command->get_option("--gitlab-code-quality"));
  const auto of_page = [options = options.get()](CLI::Option* option) {
    return only_when(option, "with the page of a history",
                     [options] { return options->run.empty() && options->has_page(); });
  };
  only_when(command->add_option("--title", options->title, "Print this text above the verdict"),
            "with a page", [options = options.get()] { return options->has_page(); })
      ->type_name("TEXT");
  of_page(command->add_option(
              "--commit-url", options->commit_url,
              "Link commits to this address, with {commit} in it. Default: `peakmark history set`"))
      ->type_name("URL");
  of_page(command->add_option("--branch", options->branches,
                              "Also show what this branch changed since its merge base; * is any text, as in "
                              "'pull/*'. May be repeated"))
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty)
      ->allow_extra_args(false);
  set_help(*command,
           {.notes = {kPythonNote},
            .exit_codes = {
                {"0", "written, whatever the verdict; `trends`, `check` and `compare` exit with the verdict"},
                {"2", "wrong usage, or something cannot be read or written"}}});
  command->callback([options] { report(*options); });
}

}  // namespace peakmark::cli
