#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Runs suite_verdicts with run files that must fail.
class SuiteVerdicts : public testing::Test {
 protected:
  Answer verdicts(const std::vector<std::string>& arguments,
                  const std::vector<std::string>& more_environment = {}) const {
    std::vector<std::string> environment = current_environment();
    std::erase_if(environment, [](const std::string& entry) {
      return entry.starts_with("PEAKMARK_RUN=") || entry.starts_with("GTEST_");
    });
    environment.insert(environment.end(), more_environment.begin(), more_environment.end());
    return ask({PEAKMARK_SUITE_VERDICTS, arguments, environment, ""}, std::chrono::seconds(60));
  }

  /// Writes a run file with these parts replaced.
  std::string run_file(const std::function<void(nlohmann::json&)>& change) const {
    std::ifstream in(PEAKMARK_SAMPLE_RUN);
    nlohmann::json run = nlohmann::json::parse(in);
    change(run);
    const std::string path = (folder_.path() / "run.json").string();
    std::ofstream(path) << run;
    return path;
  }

  TemporaryFolder folder_;
};

/// Expects the exit code of a failed test and this message, so that another failure does not pass.
void expect_failed(const Answer& answer, const std::string& message, const std::string& failed) {
  EXPECT_EQ(answer.end.exit_code, 1) << answer.how_it_ended();
  EXPECT_THAT(answer.output, AllOf(HasSubstr("Failed\n" + message), HasSubstr(" " + failed),
                                   HasSubstr("[  PASSED  ] 0 tests.")));
}

TEST_F(SuiteVerdicts, FailsWithoutARunFile) {
  expect_failed(verdicts({"/nonexistent/run.json"}), "/nonexistent/run.json: cannot open: No such file",
                "1 FAILED TEST");
}

TEST_F(SuiteVerdicts, FailsWhereNoRunFileIsNamed) {
  expect_failed(verdicts({}), "no run file: give one as argument or in PEAKMARK_RUN", "1 FAILED TEST");
}

TEST_F(SuiteVerdicts, FailsOnAFileThatIsNoRunFile) {
  const std::string path = (folder_.path() / "list.txt").string();
  std::ofstream(path) << "install(FILES)\n";
  expect_failed(verdicts({path}), path + ": not JSON: line 1, column 1", "1 FAILED TEST");
}

TEST_F(SuiteVerdicts, FailsOnARunInWhichNothingWasMeasured) {
  const std::string path = run_file([](nlohmann::json& run) { run["benchmarks"] = nlohmann::json::array(); });
  const Answer answer = verdicts({path});
  expect_failed(answer, "nothing was measured", "5 FAILED TESTS");
  EXPECT_THAT(answer.output, HasSubstr("no observation in the run: finish it with `peakmark run --resume`"));
}

TEST_F(SuiteVerdicts, FailsOnARunWithoutCases) {
  const std::string path = run_file([](nlohmann::json& run) {
    run["benchmarks"] = nlohmann::json::array();
    run["context"]["peakmark"]["planned"] = nlohmann::json::array();
  });
  expect_failed(verdicts({}, {"PEAKMARK_RUN=" + path}), "nothing was measured", "1 FAILED TEST");
}

TEST_F(SuiteVerdicts, ItsXmlHoldsNoPathOfTheBuild) {
  const std::string path = run_file([](nlohmann::json& run) { run["benchmarks"] = nlohmann::json::array(); });
  verdicts({path, "--gtest_output=xml:" + (folder_.path() / "verdicts.xml").string()});
  std::ifstream in(folder_.path() / "verdicts.xml");
  const std::string xml((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(xml, AllOf(HasSubstr("suites/suite_verdicts.cpp"), Not(HasSubstr(PEAKMARK_SOURCES))));
}

}  // namespace
}  // namespace peakmark
