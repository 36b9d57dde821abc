#include "cli/selection_options.hpp"

#include "cli/value_name.hpp"

namespace peakmark::cli {

std::array<CLI::Option*, 3> add_selection_options(CLI::App& command, SelectionOptions& selection) {
  return {
      command
          .add_option("--filter", selection.filter,
                      "Only cases in whose name, or full name, this regular expression is found")
          ->type_name(value_name::kRegex),
      command.add_option("--backend", selection.backend, "opencl, cuda or dry, instead of the suite's own")
          ->type_name(value_name::kBackend),
      command.add_option("--device", selection.device, "Index, or part of the name, of the device")
          ->type_name(value_name::kDevice)};
}

void add_shard_option(CLI::App& command, SelectionOptions& selection) {
  command.add_option("--shard", selection.shard, "Every N-th case, beginning with the I-th, such as 1/4")
      ->type_name(value_name::kShard);
}

}  // namespace peakmark::cli
