#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"
#include "measure/sweep/metric_name.hpp"

namespace peakmark::cli {

void add_plot_command(CLI::App& app, Result& /*result*/) {
  CLI::App* const command = app.add_subcommand("plot", "Plot memory and time against shape");
  command->add_option("RUN", "Run files. A case in several files has a line for each")
      ->required()
      ->expected(1, kAnyNumber)
      ->allow_extra_args();
  command->add_option("-o,--output", "Write the plots into this folder")
      ->type_name(value_name::kFolder)
      ->default_str("plots")
      ->check(kFileName);
  command->add_flag("--png")->description("Write PNG. Default: PNG and SVG");
  command->add_flag("--svg")->description("Write SVG");
  command->add_flag("--pdf")->description("Write PDF");
  command->add_option("--filter", "Select cases whose name matches this regular expression")
      ->type_name(value_name::kRegex);
  const CLI::Validator is_reported(
      [](std::string& name) {
        try {
          check_metric_name(name);
        } catch (const UsageError& error) {
          return std::string(error.what());
        }
        return std::string();
      },
      "", "METRIC");
  repeatable(command->add_option(
                 "--metric",
                 "Plot only this metric, or one that the program reports. Default: all but those reported"))
      ->check(CLI::IsMember({"peak", "overhead", "time", "throughput", "at-peak", "estimate"}) | is_reported);
  repeatable(command->add_option(
                 "--axis",
                 "Plot against this axis; against two: a heat map. Default: the one that explains most of "
                 "the memory"))
      ->type_name("AXIS");
  command->add_option("--against", "Plot ratios to this variant")->type_name("VARIANT");
  CLI::Option* const log =
      command->add_flag("--log")->description("Logarithmic axes. Default: as fits the values");
  CLI::Option* const linear = command->add_flag("--linear")->description("Linear axes");
  linear->excludes(log);
  command->add_flag("--from-zero")->description("Begin y axes at 0")->excludes(log);
  command->add_option("--width", "Width of each figure. Default: 13 cm, or 17 cm for several panels")
      ->type_name("CM")
      ->check(CLI::Range(5.0, 100.0))
      ->check([](const std::string& text) {  // CLI::Range accepts NaN
        return std::isnan(std::stod(text)) ? "Value nan is not a width" : std::string();
      });
  set_help(*command, {.notes = {kPythonNote},
                      .exit_codes = {{"0", "written"},
                                     {"2", "wrong usage, or a run file cannot be read"},
                                     {"4", "nothing to plot"}}});
  command->callback([command] { become_python_reports(given_words(*command)); });
}

}  // namespace peakmark::cli
