#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/standard_output.hpp"
#include "sweep/suite_keys.hpp"

namespace peakmark::cli {

void add_schema_command(CLI::App& app, Result& /*result*/) {
  CLI::App* const command = app.add_subcommand(
      "schema", "Print the JSON schema of suites, by which editors complete and check them");
  command->footer(
      "`peakmark schema > suite.schema.json`, and as the first line of a suite: #:schema "
      "./suite.schema.json\n"
      "Exit code: 0 clean, 2 wrong usage.");
  command->callback([] { print_text(suite_schema()); });
}

}  // namespace peakmark::cli
