// A GoogleTest program with one test for each case of a run, which judges it like `peakmark check`.
//   suite_verdicts RUN [GoogleTest's options]      or PEAKMARK_RUN=RUN suite_verdicts
// A run that is missing, cannot be read or has no cases is one failing test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure/check/judged_case.hpp"
#include "measure/runfile/run_file.hpp"

namespace {

using peakmark::JudgedCase;
using peakmark::Judgement;
using peakmark::Verdict;

class CaseTest : public testing::Test {
 public:
  explicit CaseTest(JudgedCase sweep_case) : case_(std::move(sweep_case)) {}

  void TestBody() override {
    if (case_.observation != nullptr && case_.observation->requested_peak_bytes) {
      RecordProperty("requested_peak_bytes", std::to_string(*case_.observation->requested_peak_bytes));
    }
    for (const Verdict* const verdict : case_.verdicts) {
      if (verdict->figure) {
        RecordProperty(std::string(to_string(verdict->rule)), fmt::format("{:.6f}", *verdict->figure));
      }
      if (verdict->judgement >= Judgement::fail) {
        ADD_FAILURE() << to_string(verdict->rule) << (verdict->estimator.empty() ? "" : " of ")
                      << verdict->estimator << ": " << verdict->advice;
      }
      if (verdict->judgement == Judgement::as_expected) RecordProperty("as_expected", verdict->advice);
    }
    if (case_.judgement() == Judgement::skipped) GTEST_SKIP() << case_.worst()->advice;
  }

 private:
  JudgedCase case_;
};

class BrokenRun : public testing::Test {
 public:
  explicit BrokenRun(std::string why) : why_(std::move(why)) {}
  void TestBody() override { ADD_FAILURE() << why_; }

 private:
  std::string why_;
};

void register_test([[maybe_unused]] const std::string& name,
                   [[maybe_unused]] const std::function<testing::Test*()>& make) {
#ifndef __clang_analyzer__  // reports an object that GoogleTest owns as a leak
  testing::RegisterTest("suite", name.c_str(), nullptr, nullptr, __FILE__, __LINE__, make);
#endif
}

void register_broken(const std::string& why) {
  register_test("run", [why] { return new BrokenRun(why); });
}

/// Tests have pointers into both.
void register_cases(const peakmark::Run& run, const std::vector<Verdict>& verdicts) {
  const auto cases = by_case(run, verdicts);
  if (exit_code_of(run, verdicts) == peakmark::ExitCode::nothing) register_broken("nothing was measured");
  for (const JudgedCase& sweep_case : cases) {
    register_test(std::string(sweep_case.name), [sweep_case] { return new CaseTest(sweep_case); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* path = argc > 1 ? argv[1] : std::getenv("PEAKMARK_RUN");
  // Verdicts have pointers into the run, and tests into both, so both must outlive the tests.
  std::unique_ptr<peakmark::Run> run;
  std::vector<Verdict> verdicts;
  if (path == nullptr) {
    register_broken("no run file: give one as argument or in PEAKMARK_RUN");
  } else {
    try {
      run = std::make_unique<peakmark::Run>(peakmark::read_run(path));
      verdicts = judge(*run, {});
      register_cases(*run, verdicts);
    } catch (const std::exception& error) {
      register_broken(error.what());
    }
  }
  return RUN_ALL_TESTS();
}
