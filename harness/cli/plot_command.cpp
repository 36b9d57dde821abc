#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/python_reports.hpp"
#include "cli/value_name.hpp"

namespace peakmark::cli {
namespace {

struct PlotOptions {
  std::vector<std::string> runs;
  std::string output = "plots";
  std::string filter;
  std::vector<std::string> metrics;
  std::string axis;
  bool png = false;
  bool svg = false;
  bool pdf = false;
};

[[noreturn]] void plot(const PlotOptions& options) {
  std::vector<std::string> words{"plot", "--output=" + options.output};
  if (!options.filter.empty()) words.push_back("--filter=" + options.filter);
  for (const std::string& metric : options.metrics) words.push_back("--metric=" + metric);
  if (!options.axis.empty()) words.push_back("--axis=" + options.axis);
  if (options.png) words.emplace_back("--png");
  if (options.svg) words.emplace_back("--svg");
  if (options.pdf) words.emplace_back("--pdf");
  words.emplace_back("--");  // a run file may begin with a dash
  words.insert(words.end(), options.runs.begin(), options.runs.end());
  become_python_reports(words);
}

}  // namespace

void add_plot_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App* const command = app.add_subcommand("plot", "Draw memory and time against shape, from run files");
  command->add_option("RUN", options->runs, "Run files; a case in several is drawn as a line for each")
      ->required();
  command->add_option("-o,--output", options->output, "Folder to write")
      ->type_name(value_name::kFolder)
      ->capture_default_str()
      ->check(kFileName);
  command->add_flag("--png", options->png, "Write PNG; default: PNG and SVG");
  command->add_flag("--svg", options->svg, "Write SVG");
  command->add_flag("--pdf", options->pdf, "Write PDF");
  command->add_option("--filter", options->filter, "Only cases whose name this regular expression finds")
      ->type_name(value_name::kRegex);
  command->add_option("--metric", options->metrics, "Draw only this; may be repeated; default: all")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember({"peak", "overhead", "time", "throughput", "at-peak", "estimate"}));
  command->add_option("--axis", options->axis, "Axis to draw against; default: the first that fits");
  command->footer(
      "Needs Python 3.11 or later with matplotlib, pandas and jinja2: python3, or what $PEAKMARK_PYTHON "
      "names.\n"
      "Exit code: 0 written, 2 wrong usage, or a run file cannot be read, 4 nothing to draw.");
  command->callback([options] { plot(*options); });
}

}  // namespace peakmark::cli
