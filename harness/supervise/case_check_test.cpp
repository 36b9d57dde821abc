#include "supervise/case_check.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string mistake_of(const std::vector<std::string>& deeds, bool checks_cases = true) {
  Description description;
  description.checks_cases = checks_cases;
  description.variants.emplace_back().name = "fake/case";
  std::vector<PlannedCase> cases;
  for (const std::string& deed : deeds) {
    cases.emplace_back();
    cases.back().name = "fake/case/dry/does:" + deed;
    cases.back().sweep_case.variant = deed == "program" ? "theirs/program" : "fake/case";
    cases.back().place = "s.toml:" + std::to_string(cases.size());
  }
  try {
    check_cases(PEAKMARK_FAKE_WORKER, description, cases);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CaseCheck, AProgramOfTheSuiteIsNoBusinessOfTheWorkers) {
  EXPECT_EQ(mistake_of({"program"}), "");
  EXPECT_THAT(mistake_of({"program", "overflow"}), HasSubstr("s.toml:2: sweep: gives the case"));
}

TEST(CaseCheck, AMistakeIsToldWithThePlaceOfItsSweep) {
  EXPECT_EQ(mistake_of({"ok", "overflow", "ok"}),
            "s.toml:2: sweep: gives the case fake/case/dry/does:overflow: n * 4 does not fit 64 bits");
  EXPECT_THAT(mistake_of({"ok", "overflow", "overflow"}), HasSubstr("64 bits (and 1 more such cases)"));
  EXPECT_EQ(mistake_of({"ok", "hang"}), "");
  EXPECT_EQ(mistake_of({}), "");
}

TEST(CaseCheck, AWorkerThatDoesNotCheckIsNotAsked) {
  EXPECT_EQ(mistake_of({"overflow"}, false), "");
}

TEST(CaseCheck, AnAnswerThatIsNoneIsAMistakeOfTheWorker) {
  EXPECT_THAT(mistake_of({"garbage"}),
              AllOf(HasSubstr("--check answers 'no JSON at all', which is no answer ("),
                    HasSubstr("must print nothing to standard output while a case is made")));
}

TEST(CaseCheck, AMistakeOfTheWorkerIsNoneOfTheSuite) {
  EXPECT_THAT(
      mistake_of({"ok", "mistaken", "mistaken"}),
      AllOf(StartsWith(PEAKMARK_FAKE_WORKER ": variant fake/case is wrong (and 1 more such cases); the "
                                            "mistake is in the worker's program and not in the suite"),
            HasSubstr("build it anew. It was met at fake/case/dry/does:mistaken (s.toml:2)")));
}

TEST(CaseCheck, ACaseThatEndsTheWorkerIsNamedWithHowItEnded) {
  EXPECT_THAT(mistake_of({"ok", "abort", "ok"}),
              AllOf(HasSubstr("--check ended with signal SIGABRT (Aborted): giving up; it gave no answer for "
                              "fake/case/dry/does:abort (s.toml:2): look for"),
                    EndsWith("alone: echo fake/case/dry/does:abort | " PEAKMARK_FAKE_WORKER " --check")));
  EXPECT_THAT(mistake_of({"ok", "half_line"}),
              HasSubstr("ended with exit code 0; it gave no answer for fake/case/dry/does:half_line"));
}

TEST(CaseCheck, AWorkerThatFailsWhenAllIsAnsweredIsToldWithoutACase) {
  EXPECT_THAT(mistake_of({"exit_3", "ok"}),
              AllOf(HasSubstr("--check ended with exit code 3; it had answered for every case: look for what "
                              "it does at its end"),
                    Not(HasSubstr("fake/case"))));
}

}  // namespace
}  // namespace peakmark
