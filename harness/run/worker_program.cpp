#include "run/worker_program.hpp"

#include "base/environment_list.hpp"
#include "base/error.hpp"
#include "base/own_program.hpp"
#include "run/description_json.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultWorker = "peakmark-bench";
constexpr const char* kProgramsWorker = "peakmark-programs";

}  // namespace

fs::path find_programs_worker() {
  const fs::path folder = folder_of_own_program();
  // In a build folder this program stands in harness/cli.
  for (const fs::path& place : {folder, folder.parent_path() / "external"}) {
    if (can_be_executed(place / kProgramsWorker)) return place / kProgramsWorker;
  }
  throw UsageError("the suite has programs, and what measures them is missing: " +
                   (folder / kProgramsWorker).string() + " is not there; install peakmark whole");
}

fs::path find_worker(const std::optional<std::string>& named) {
  if (named) {
    if (const auto program = program_in(current_environment(), *named)) return fs::absolute(*program);
    throw UsageError("--worker " + *named + ": there is no such program" +
                     (named->find('/') == std::string::npos ? " in the folders of PATH" : ""));
  }
  const fs::path folder = folder_of_own_program();
  fs::path beside = folder / kDefaultWorker;
  if (can_be_executed(beside)) return beside;
  // In a build folder this program stands in harness/cli.
  fs::path built = folder.parent_path().parent_path() / "bench" / kDefaultWorker;
  if (can_be_executed(built)) return built;
  throw UsageError("no worker: " + beside.string() + " is not there; name one with --worker");
}

Description describe_worker(const fs::path& program, int interrupt,
                            const std::vector<std::string>& arguments) {
  WorkerCommand command{program, arguments, {}, ""};
  command.arguments.emplace_back("--describe");
  const Answer answer = ask(command, kAnswerLimit, interrupt);
  if (answer.end.exit_code != 0) {
    throw UsageError(program.string() + " --describe ended with " + answer.end.text() +
                     (answer.errors.empty() ? "" : ": " + answer.errors) +
                     (answer.end.exit_code ? ""
                                           : "; start it by hand with --describe, or under a debugger, to "
                                             "see where it dies"));
  }
  try {
    return description_from_json(answer.output);
  } catch (const UsageError& error) {
    throw UsageError(program.string() + ": " + error.what());
  }
}

}  // namespace peakmark
