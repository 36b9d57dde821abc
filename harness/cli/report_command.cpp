#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.hpp"
#include "cli/allow_growth_option.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/history_option.hpp"
#include "cli/output_file.hpp"
#include "cli/python_reports.hpp"
#include "cli/value_name.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::string output;
  std::string history;
  std::string title;
  std::optional<std::string> allow_growth;
  CLI::Option* step_summary = nullptr;
  std::string step_summary_file;
  /// ReportOptions of Python's that name a file or a text, as they are called there.
  std::vector<std::pair<std::string, std::string>> forms;
};

std::vector<std::string> report_words(const ReportOptions& options) {
  std::vector<std::string> words{"report", "--peakmark", own_program().string()};
  const auto add = [&](const std::string& name, const std::string& value) {
    // In one word: a value may begin with a dash.
    if (!value.empty()) words.push_back(fmt::format("--{}={}", name, value));
  };
  add("output", options.output);
  add("title", options.title);
  if (options.allow_growth) add("allow-growth", allowed_growth(options.allow_growth).text);
  for (const auto& [name, value] : options.forms) add(name, value);
  if (options.step_summary->count() > 0) {
    words.push_back(options.step_summary_file.empty() ? "--step-summary"
                                                      : "--step-summary=" + options.step_summary_file);
  }
  return words;
}

/// By what it begins with, Python knows a folder whose files it may replace.
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

/// The page, and the forms that are written and not added to.
void remove_earlier_reports(const ReportOptions& options) {
  std::vector<fs::path> outputs;
  for (const auto& [name, value] : options.forms) {
    if (name != "code-quality-path") outputs.emplace_back(value);  // that is a file of the repository
  }
  const bool has_form = options.step_summary->count() > 0 ||
                        std::ranges::any_of(outputs, [](const fs::path& output) { return !output.empty(); });
  remove_earlier_outputs(outputs, {options.history});
  if (!options.output.empty() || !has_form)
    replace_earlier_page(options.output.empty() ? "report" : options.output);
}

[[noreturn]] void report(const ReportOptions& options) {
  (void)allowed_growth(options.allow_growth);  // a mistake leaves earlier reports as they are
  remove_earlier_reports(options);
  become_python_reports(report_words(options), options.history);
}

}  // namespace

void add_report_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* const command =
      app.add_subcommand("report", "A page of a history for a browser, and the forms that CI systems show");
  command
      ->add_option("-o,--output", options->output,
                   "Folder of the page; default: report, or none where a form is asked for")
      ->type_name(value_name::kFolder)
      ->check(kFileName);
  add_history_option(*command, options->history);
  command->add_option("--title", options->title, "Text above the verdict");
  add_allow_growth_option(*command, options->allow_growth);
  options->step_summary = command
                              ->add_option("--step-summary", options->step_summary_file,
                                           "Markdown, added to this file; else to $GITHUB_STEP_SUMMARY")
                              ->type_name(value_name::kFile)
                              ->expected(0, 1);
  const std::vector<std::pair<std::string, std::string>> forms{
      {"gitlab-metrics", "GitLab's metrics report to write"},
      {"gitlab-code-quality", "GitLab's code quality report to write"},
      {"code-quality-path", "File of the repository that it points to; else suites/nightly.toml"},
      {"bencher", "Bencher Metric Format to write"},
      {"benchmark-action", "JSON for github-action-benchmark to write"},
      {"junit", "JUnit XML to write"}};
  options->forms.reserve(forms.size());  // the options below keep its addresses
  for (const auto& [name, help] : forms) {
    options->forms.emplace_back(name, "");
    command->add_option("--" + name, options->forms.back().second, help)
        ->type_name(value_name::kFile)
        ->check(kFileName);
  }
  command->footer(
      "Needs Python 3.11 or later with matplotlib, pandas and jinja2: python3, or what $PEAKMARK_PYTHON "
      "names.\n"
      "Exit code: 0 written, whatever the verdict (`trends` judges), 2 wrong usage, or something cannot be "
      "read\n"
      "or written.");
  command->callback([options] { report(*options); });
}

}  // namespace peakmark::cli
