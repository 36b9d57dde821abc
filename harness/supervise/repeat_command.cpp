#include "supervise/repeat_command.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "supervise/run_workers.hpp"

namespace peakmark {

std::string repeat_command(const SweepOptions& options, const DeviceInfo& device,
                           const PlannedCase& planned) {
  std::string command = "peakmark run";
  for (const auto& suite : options.selection.suites) command += " " + shell_word(suite.string());
  command += " --filter " + shell_word(exactly(planned.name));
  // An index counts the devices of one backend. A `dry` case needs no device, also where the run had one, and
  // --backend of another would make another case of it.
  if (planned.sweep_case.backend != to_string(Backend::dry)) {
    command += fmt::format(" --device {} --backend {}", device.index, to_string(device.backend));
  } else if (options.selection.backend) {
    command += " --backend " + *options.selection.backend;
  }
  for (const std::string& worker : typed_workers(options)) command += " --worker " + shell_word(worker);
  if (options.cache) command += " --cache " + *options.cache;
  if (options.memory_only) command += " --memory-only";
  if (options.case_limit != CaseLimit{}) {
    command += fmt::format(" --timeout {:g}", static_cast<double>(options.case_limit.base.count()) / 1000);
  }
  if (options.repetitions) command += fmt::format(" --repetitions {}", *options.repetitions);
  return command + " -o alone.json";
}

}  // namespace peakmark
