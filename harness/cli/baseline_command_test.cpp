// Tests of `peakmark check --baseline` and `--update-baseline` with the whole program.
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class BaselineCommand : public CommandTest {
 protected:
  void SetUp() override {
    suite({"ok", "ok"});
    ASSERT_EQ(run().end.exit_code, 0);
  }
  Answer check(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"check", run_file_.string()};
    words.insert(words.end(), more.begin(), more.end());
    return peakmark(words);
  }
  std::string baseline_ = folder_.path() / "fake.baseline";
};

TEST_F(BaselineCommand, GatesBytes) {
  const Answer written = check({"--update-baseline", baseline_});
  EXPECT_EQ(written.end.exit_code, 0);
  EXPECT_THAT(written.errors, HasSubstr("the bytes of 2 cases, 2 new; commit it"));
  EXPECT_THAT(check({"--update-baseline", baseline_}).errors, HasSubstr("2 cases, unchanged"));
  EXPECT_THAT(read_text_file(baseline_),
              StartsWith("{\"peakmark_baseline\":1}\n{\"case\":\"fake/case/dry\","));
  EXPECT_EQ(check({"--baseline", baseline_}).end.exit_code, 0);
  EXPECT_EQ(check({"--baseline", run_file_.string()}).end.exit_code, 0) << "a run file may be one";

  peakmark::Run run = read_run(run_file_);
  *run.observations[0].requested_peak_bytes += 256;
  run.observations[0].second_pass_peak_bytes = run.observations[0].requested_peak_bytes;
  run.observations[0].at_peak.push_back({"cache", "buffer", 256});
  write_run(run, run_file_);
  const std::string junit = folder_.path() / "junit.xml";
  const Answer grown = check({"--baseline", baseline_, "--junit", junit});
  EXPECT_EQ(grown.end.exit_code, 1);
  EXPECT_THAT(grown.output, AllOf(HasSubstr("FAIL baseline"), HasSubstr("256 more"), HasSubstr("cache")));
  EXPECT_THAT(read_text_file(junit), HasSubstr("type=\"baseline\""));
  EXPECT_THAT(check({"--update-baseline", baseline_}).errors, HasSubstr("2 cases, 1 changed; commit it"));
  EXPECT_EQ(check({"--baseline", baseline_}).end.exit_code, 0);
}

TEST_F(BaselineCommand, APartOfTheSuiteKeepsTheOtherCases) {
  const std::vector<std::string> filter{"--filter", "fake/case/dry$"};
  ASSERT_EQ(check({"--update-baseline", baseline_}).end.exit_code, 0);
  const std::string whole = read_text_file(baseline_);
  ASSERT_EQ(run(filter).end.exit_code, 0);
  const Answer part = check({"--update-baseline", baseline_});
  EXPECT_EQ(part.end.exit_code, 0) << part.errors;
  EXPECT_THAT(part.errors, AllOf(HasSubstr("the bytes of 2 cases, unchanged"),
                                 HasSubstr("kept, not in this run: 1 case: fake/case/dry/")));
  EXPECT_EQ(read_text_file(baseline_), whole);
  const Answer pruned = check({"--update-baseline", baseline_, "--prune"});
  EXPECT_EQ(pruned.end.exit_code, 2);
  EXPECT_THAT(pruned.errors, AllOf(HasSubstr("--prune: this run is of a part of the suite (--filter"),
                                   HasSubstr("run the whole suite")));
  EXPECT_EQ(read_text_file(baseline_), whole);
  EXPECT_EQ(check({"--prune"}).end.exit_code, 2) << "of no baseline";
}

TEST_F(BaselineCommand, ACaseThatLeftTheSuiteIsRemovedIfAsked) {
  ASSERT_EQ(check({"--update-baseline", baseline_}).end.exit_code, 0);
  suite({"ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  EXPECT_THAT(check({"--update-baseline", baseline_}).errors,
              HasSubstr("kept, no longer in the suite: 1 case: fake/case/dry/n:2; --prune removes them"));
  EXPECT_THAT(check({"--update-baseline", baseline_, "--prune"}).errors,
              AllOf(HasSubstr("the bytes of 1 case, 1 removed; commit it"),
                    HasSubstr("removed, no longer in the suite: 1 case: fake/case/dry/n:2")));
}

TEST_F(BaselineCommand, WhatWasNotMeasuredStays) {
  ASSERT_EQ(check({"--update-baseline", baseline_}).end.exit_code, 0);
  const std::string whole = read_text_file(baseline_);
  peakmark::Run lost = read_run(run_file_);
  for (Observation& one : lost.observations) {
    one.outcome = Outcome::out_of_memory;
    one.requested_peak_bytes.reset();
    write_run(lost, run_file_);
    const Answer answer = check({"--update-baseline", baseline_});
    const bool is_last = &one == &lost.observations.back();
    EXPECT_EQ(answer.end.exit_code, is_last ? 4 : 0);
    EXPECT_THAT(answer.errors,
                HasSubstr(is_last ? "not changed: nothing was measured"
                                  : "kept, not measured: 1 case: fake/case/dry (out_of_memory)"));
    EXPECT_EQ(read_text_file(baseline_), whole);
  }
}

TEST_F(BaselineCommand, WhatIsNoneIsNamed) {
  const Answer missing = check({"--baseline", baseline_});
  EXPECT_EQ(missing.end.exit_code, 2);
  EXPECT_THAT(missing.errors, HasSubstr(baseline_));
  std::ofstream(baseline_) << "hello";
  EXPECT_EQ(check({"--baseline", baseline_}).end.exit_code, 2);
  EXPECT_THAT(check({"--update-baseline", baseline_}).errors, HasSubstr("not a baseline, and not replaced"));
  EXPECT_EQ(check({"--baseline", ""}).end.exit_code, 2);
  EXPECT_EQ(check({run_file_.string(), "--baseline", run_file_.string()}).end.exit_code, 2);
}

TEST_F(BaselineCommand, GrowthMayBeAllowed) {
  ASSERT_EQ(check({"--update-baseline", baseline_}).end.exit_code, 0);
  peakmark::Run run = read_run(run_file_);
  *run.observations[0].requested_peak_bytes += 256;
  run.observations[0].second_pass_peak_bytes = run.observations[0].requested_peak_bytes;
  write_run(run, run_file_);
  EXPECT_EQ(check({"--baseline", baseline_}).end.exit_code, 1);
  EXPECT_EQ(check({"--baseline", baseline_, "--allow-growth", "255"}).end.exit_code, 1);
  const Answer allowed = check({"--baseline", baseline_, "--allow-growth", "256 B"});
  EXPECT_EQ(allowed.end.exit_code, 0) << allowed.output;
  EXPECT_THAT(allowed.output, AllOf(HasSubstr("pass (allowed growth)"), HasSubstr("allowed growth: 256 B")));
  EXPECT_THAT(check({"--baseline", baseline_, "--allow-growth", "lots"}).errors,
              HasSubstr("--allow-growth: 'lots'"));
  EXPECT_EQ(check({"--allow-growth", "1"}).end.exit_code, 2) << "of no baseline";
  EXPECT_THAT(check({"--window-tolerance", "lots"}).errors, HasSubstr("--window-tolerance: 'lots'"));
}

TEST_F(BaselineCommand, FullNamesAreForPeople) {
  const std::string markdown = folder_.path() / "summary.md";
  const std::string junit = folder_.path() / "junit.xml";
  const Answer answer = check({"--full-names", "--markdown", markdown, "--junit", junit});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("fake/case/dry/does:ok/n:1 "));
  EXPECT_THAT(read_text_file(markdown), HasSubstr("`fake/case/dry/does:ok/n:1`"));
  EXPECT_THAT(read_text_file(junit), HasSubstr("name=\"fake/case/dry\"")) << "names that are stored stay";
}

}  // namespace
}  // namespace peakmark
