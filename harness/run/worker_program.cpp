#include "run/worker_program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "base/error.hpp"
#include "run/description_json.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultWorker = "peakmark-bench";
constexpr const char* kProgramsWorker = "peakmark-programs";

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

fs::path find_in_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program(fs::path(folder) / name)) return fs::path(folder) / name;
  }
  throw UsageError("--worker " + name + ": no such program in the folders of PATH");
}

fs::path own_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

fs::path find_programs_worker() {
  const fs::path folder = own_folder();
  // In a build folder this program stands in harness/cli.
  for (const fs::path& place : {folder, folder.parent_path() / "external"}) {
    if (is_program(place / kProgramsWorker)) return place / kProgramsWorker;
  }
  throw UsageError("the suite has programs, and what measures them is missing: " +
                   (folder / kProgramsWorker).string() + " is not there; install peakmark whole");
}

fs::path find_worker(const std::optional<std::string>& named) {
  if (named) {
    if (named->find('/') == std::string::npos) return find_in_path(*named);
    if (!is_program(*named)) throw UsageError("--worker " + *named + ": there is no such program");
    return fs::absolute(*named);
  }
  const fs::path folder = own_folder();
  fs::path beside = folder / kDefaultWorker;
  if (is_program(beside)) return beside;
  // In a build folder this program stands in harness/cli.
  fs::path built = folder.parent_path().parent_path() / "bench" / kDefaultWorker;
  if (is_program(built)) return built;
  throw UsageError("no worker: " + beside.string() + " is not there; name one with --worker");
}

Description describe_worker(const fs::path& program, int interrupt) {
  const Answer answer = ask({program, {"--describe"}, {}, ""}, kAnswerLimit, interrupt);
  if (answer.end.exit_code != 0) {
    throw UsageError(program.string() + " --describe ended with " + answer.end.text() +
                     (answer.errors.empty() ? "" : ": " + answer.errors));
  }
  try {
    return description_from_json(answer.output);
  } catch (const UsageError& error) {
    throw UsageError(program.string() + ": " + error.what());
  }
}

}  // namespace peakmark
