#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "measure/sweep/suite_keys.hpp"

namespace peakmark::cli {

void add_schema_command(CLI::App& app, Result& /*result*/) {
  CLI::App* const command =
      app.add_subcommand("schema", "Print the JSON schema of suites, for completion and checks in editors");
  set_help(*command,
           {.notes = {"Write it with `peakmark schema > suite.schema.json`, and begin a suite with the "
                      "line `#:schema ./suite.schema.json`."},
            .exit_codes = {{"0", "clean"}, {"2", "wrong usage"}}});
  command->callback([] { print_text(suite_schema()); });
}

}  // namespace peakmark::cli
