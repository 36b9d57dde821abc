#include "supervise/worker_program.hpp"

#include "base/error.hpp"
#include "base/program.hpp"
#include "runfile/description_json.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultWorker = "peakmark-bench";
constexpr const char* kProgramsWorker = "peakmark-programs";
constexpr const char* kWorkerLibrary = "libpeakmark-worker.so";
constexpr int kNotStarted = 127;  // as the system's loader ends a program whose libraries it does not find

/// Where the libraries of workers stand that belong to this program.
std::string folder_of_libraries() {
  for (const fs::path& prefix : own_program_prefixes()) {
    const fs::path folder = prefix / "lib";
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().filename().string().starts_with(kWorkerLibrary)) return folder.string();
    }
  }
  return "the folder lib of an installed peakmark";
}

/// What to do where a worker ended before its main().
std::string remedy_for(const Answer& answer) {
  if (!answer.end.exit_code) {
    return "; start it by hand with --describe, or under a debugger, to see where it dies";
  }
  if (answer.end.exit_code != kNotStarted || answer.errors.find(kWorkerLibrary) == std::string::npos)
    return "";
  return "; was peakmark moved since the worker was built? Build that anew, or let LD_LIBRARY_PATH name " +
         folder_of_libraries();
}

/// A program that knows no --describe, such as one with a window, may wait for ever.
Answer ask_for_description(const WorkerCommand& command, std::chrono::milliseconds limit, int interrupt) {
  try {
    return ask(command, limit, interrupt);
  } catch (const NoAnswer& late) {
    throw ProtocolError(
        std::string(late.what()) +
        "; --describe takes a moment, for it measures nothing: look for what the program does "
        "before Worker::run, in main() and in its static objects, such as opening a device or "
        "waiting for a file, and start it by hand with --describe; or is it no worker?");
  }
}

}  // namespace

fs::path find_programs_worker() {
  const fs::path folder = own_program_folder();
  // In a build folder this program stands in harness/cli.
  for (const fs::path& place : {folder, folder.parent_path() / "external"}) {
    if (is_executable(place / kProgramsWorker)) return place / kProgramsWorker;
  }
  throw EnvironmentError("the suite has programs, and what measures them is missing: " +
                         (folder / kProgramsWorker).string() + " is not there; install peakmark whole");
}

fs::path find_worker(const std::optional<std::string>& named, const std::string& typed) {
  if (named) {
    const std::vector<std::string> environment = current_environment();
    const std::string trouble = program_failure(environment, *named);
    if (!trouble.empty()) throw UsageError("--worker " + (typed.empty() ? *named : typed) + ": " + trouble);
    return fs::absolute(find_program(environment, *named).value());
  }
  const fs::path folder = own_program_folder();
  fs::path beside = folder / kDefaultWorker;
  if (is_executable(beside)) return beside;
  // In a build folder this program stands in harness/cli.
  fs::path built = folder.parent_path().parent_path() / "bench" / kDefaultWorker;
  if (is_executable(built)) return built;
  throw EnvironmentError("no worker: " + beside.string() + " is not there; name one with --worker");
}

Description describe_worker(const fs::path& program, int interrupt, const std::vector<std::string>& arguments,
                            std::chrono::milliseconds limit) {
  WorkerCommand command{program, arguments, {}, ""};
  command.arguments.emplace_back("--describe");
  const Answer answer = ask_for_description(command, limit, interrupt);
  if (answer.end.exit_code != 0) {
    throw ProtocolError(program.string() + " --describe ended with " + answer.how_it_ended() +
                        remedy_for(answer));
  }
  try {
    return description_from_json(answer.output);
  } catch (const ProtocolError& error) {
    throw ProtocolError(program.string() + ": " + error.what());
  }
}

}  // namespace peakmark
