#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_list.hpp"
#include "base/own_program.hpp"
#include "base/word_pointers.hpp"
#include "cli/allow_growth_option.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/history_option.hpp"
#include "cli/output_file.hpp"
#include "cli/value_name.hpp"
#include "run/text_file.hpp"

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

fs::path this_program() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw UsageError(fmt::format("/proc/self/exe cannot be read: {}", error.message()));
  return program;
}

fs::path reports_folder(const fs::path& program) {
  for (const fs::path& prefix : prefixes_of_own_program()) {
    std::error_code error;
    fs::path folder = prefix / "share" / "peakmark" / "reports";
    if (fs::is_directory(folder / "peakmark_reports", error)) return folder;
  }
  throw UsageError(
      fmt::format("share/peakmark/reports, which draws reports, is not beside {}; install peakmark again",
                  program.string()));
}

/// $PEAKMARK_PYTHON, which may name a program of a virtual environment, or python3.
fs::path python(const std::vector<std::string>& environment) {
  const std::string wanted = variable_of(environment, "PEAKMARK_PYTHON").value_or("");
  const std::string name = wanted.empty() ? "python3" : wanted;
  if (const auto found = program_in(environment, name)) return *found;
  throw UsageError(fmt::format(
      "{} is no program here; reports need Python 3.11 or later: install it, or let $PEAKMARK_PYTHON name it",
      name));
}

std::vector<std::string> arguments_of(const ReportOptions& options, const std::string& interpreter,
                                      const fs::path& program) {
  // Not -m: the messages are this program's, and begin with its name. Python puts the working folder first in
  // its path for both, and files there would replace modules of its library.
  const std::string script =
      "import sys\n"
      "sys.path[:] = [path for path in sys.path if path not in ('', '.')]\n"
      "from peakmark_reports.__main__ import main\n"
      "sys.exit(main(sys.argv[1:], 'peakmark'))";
  std::vector<std::string> words{interpreter, "-c", script, "report", "--peakmark", program.string()};
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

/// Becomes Python: its output, its exit code and the signals that end it are the command's.
[[noreturn]] void report(const ReportOptions& options) {
  (void)allowed_growth(options.allow_growth);  // a mistake leaves earlier reports as they are
  remove_earlier_reports(options);
  const fs::path program = this_program();
  std::vector<std::string> environment = current_environment();
  const fs::path interpreter = python(environment);
  const std::string others = without_empty_folders(variable_of(environment, "PYTHONPATH").value_or(""));
  const std::string folder = reports_folder(program).string();
  set_variable(environment, "PYTHONPATH", others.empty() ? folder : folder + ":" + others);
  // From Python 3.11 on the processes that draw heed it too.
  set_variable(environment, "PYTHONSAFEPATH", "1");
  // Not an argument: everybody can read those, and a URL may hold a password.
  if (!options.history.empty()) set_variable(environment, "PEAKMARK_HISTORY", options.history);
  std::vector<std::string> arguments = arguments_of(options, interpreter.string(), program);
  std::fflush(nullptr);
  ::execve(interpreter.c_str(), pointers_to(arguments).data(), pointers_to(environment).data());
  throw UsageError(
      fmt::format("{} cannot be started: {}; let $PEAKMARK_PYTHON name a Python of 3.11 or later",
                  interpreter.string(), std::strerror(errno)));
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
