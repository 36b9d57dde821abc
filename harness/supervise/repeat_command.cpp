#include "supervise/repeat_command.hpp"

#include <fmt/format.h>

#include <cctype>

#include "supervise/run_workers.hpp"

namespace peakmark {
namespace {

std::string quoted(const std::string& text) {
  std::string quoted = "'";
  bool plain = !text.empty();
  for (const char letter : text) {
    plain = plain && (std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                      std::string_view("/._-+:=,").find(letter) != std::string_view::npos);
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return plain ? text : quoted + "'";
}

}  // namespace

std::string repeat_command(const SweepOptions& options, const DeviceInfo& device,
                           const PlannedCase& planned) {
  std::string command = "peakmark run";
  for (const auto& suite : options.selection.suites) command += " " + quoted(suite.string());
  command += " --filter " + quoted(exactly(planned.name));
  // An index counts the devices of one backend. A `dry` case needs no device, also where the run had one, and
  // --backend of another would make another case of it.
  if (planned.sweep_case.backend != to_string(Backend::dry)) {
    command += fmt::format(" --device {} --backend {}", device.index, to_string(device.backend));
  } else if (options.selection.backend) {
    command += " --backend " + *options.selection.backend;
  }
  for (const std::string& worker : typed_workers(options)) command += " --worker " + quoted(worker);
  if (options.cache) command += " --cache " + *options.cache;
  if (options.memory_only) command += " --memory-only";
  if (options.case_limit != CaseLimit{}) {
    command += fmt::format(" --timeout {:g}", static_cast<double>(options.case_limit.base.count()) / 1000);
  }
  if (options.repetitions) command += fmt::format(" --repetitions {}", *options.repetitions);
  return command + " -o alone.json";
}

}  // namespace peakmark
