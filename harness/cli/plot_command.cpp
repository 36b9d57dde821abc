#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"

namespace peakmark::cli {
namespace {

struct PlotOptions {
  std::vector<std::string> runs;
  std::string output = "plots";
  std::string filter;
  std::vector<std::string> metrics;
  std::vector<std::string> axes;
  std::string against;
  double width = 0;  // cm; 0: as fits
  bool log = false;
  bool linear = false;
  bool from_zero = false;
  bool png = false;
  bool svg = false;
  bool pdf = false;
};

[[noreturn]] void plot(const PlotOptions& options) {
  std::vector<std::string> words{"plot", "--output=" + options.output};
  if (!options.filter.empty()) words.push_back("--filter=" + options.filter);
  for (const std::string& metric : options.metrics) words.push_back("--metric=" + metric);
  for (const std::string& axis : options.axes) words.push_back("--axis=" + axis);
  if (!options.against.empty()) words.push_back("--against=" + options.against);
  if (options.width > 0) words.push_back(fmt::format("--width={}", options.width));
  if (options.log) words.emplace_back("--log");
  if (options.linear) words.emplace_back("--linear");
  if (options.from_zero) words.emplace_back("--from-zero");
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
  CLI::App* const command = app.add_subcommand("plot", "Plot memory and time against shape");
  command->add_option("RUN", options->runs, "Run files. A case in several files has a line for each")
      ->required();
  command->add_option("-o,--output", options->output, "Write the plots into this folder")
      ->type_name(value_name::kFolder)
      ->capture_default_str()
      ->check(kFileName);
  command->add_flag("--png", options->png, "Write PNG. Default: PNG and SVG");
  command->add_flag("--svg", options->svg, "Write SVG");
  command->add_flag("--pdf", options->pdf, "Write PDF");
  command->add_option("--filter", options->filter, "Select cases whose name matches this regular expression")
      ->type_name(value_name::kRegex);
  repeatable(command->add_option("--metric", options->metrics, "Plot only this metric. Default: all"))
      ->check(CLI::IsMember({"peak", "overhead", "time", "throughput", "at-peak", "estimate"}));
  repeatable(command->add_option(
                 "--axis", options->axes,
                 "Plot against this axis; against two: a heat map. Default: the one that explains most of "
                 "the memory"))
      ->type_name("AXIS");
  command->add_option("--against", options->against, "Plot ratios to this variant")->type_name("VARIANT");
  CLI::Option* const log =
      command->add_flag("--log", options->log, "Logarithmic axes. Default: as fits the values");
  CLI::Option* const linear = command->add_flag("--linear", options->linear, "Linear axes");
  linear->excludes(log);
  command->add_flag("--from-zero", options->from_zero, "Begin y axes at 0")->excludes(log);
  command
      ->add_option("--width", options->width,
                   "Width of each figure. Default: 13 cm, or 17 cm for several panels")
      ->type_name("CM")
      ->check(CLI::Range(5.0, 100.0));
  set_help(*command, {.notes = {kPythonNote},
                      .exit_codes = {{"0", "written"},
                                     {"2", "wrong usage, or a run file cannot be read"},
                                     {"4", "nothing to plot"}}});
  command->callback([options] { plot(*options); });
}

}  // namespace peakmark::cli
