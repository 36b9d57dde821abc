#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "measure/runfile/run_file.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// Programs that are built on the public API, measured by `peakmark`.
class ApiTest : public testing::Test {
 protected:
  Answer worker(const std::vector<std::string>& arguments, const std::string& mistake = "",
                const std::string& input = "") const {
    return ask({PEAKMARK_API_WORKER, arguments, environment(mistake), input}, std::chrono::seconds(60));
  }
  /// Runs `peakmark run` on a suite with these lines.
  Answer run(const std::string& suite, const std::vector<std::string>& more = {},
             const std::string& mistake = "",
             const std::vector<std::string>& workers = {PEAKMARK_API_WORKER}) const {
    std::vector<std::string> arguments{"run", put(suite).string(), "-o", run_file_.string()};
    for (const std::string& worker : workers) arguments.insert(arguments.end(), {"--worker", worker});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ask({PEAKMARK_PROGRAM, arguments, environment(mistake), ""}, std::chrono::seconds(120));
  }
  /// Writes a suite with these lines and returns its path.
  std::filesystem::path put(const std::string& suite) const {
    std::filesystem::path file = folder_.path() / "suite.toml";
    std::ofstream(file) << suite;
    return file;
  }
  std::map<std::string, Observation> observations() const {
    std::map<std::string, Observation> by_variant;
    for (const Observation& one : read_run(run_file_).observations) by_variant[one.variant] = one;
    return by_variant;
  }

  static std::vector<std::string> environment(const std::string& mistake) {
    std::vector<std::string> environment = current_environment();
    set_variable(environment, "API_WORKER_MISTAKE", mistake);
    return environment;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path run_file_ = folder_.path() / "run.json";
};

}  // namespace peakmark
