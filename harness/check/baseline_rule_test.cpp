#include "check/baseline_rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "base/error.hpp"
#include "check/reports.hpp"
#include "check/sample_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kCase = "op/a/opencl/n:20";

SampleRun base() {
  SampleRun sample;
  sample.add(kCase, 20, 2048, 20, 2048).at_peak = {{"input", "buffer", 1024}, {"output", "buffer", 1024}};
  sample.run.context.complete = true;
  return sample;
}

/// The run after `change`, with the baseline before it.
struct Judged {
  explicit Judged(const std::function<void(SampleRun&)>& change) {
    change(sample);
    verdicts = judge(sample.run, {std::nullopt, &baseline});
    held = judge_baseline(sample.run, baseline);
  }
  SampleRun sample = base();
  Baseline baseline = baseline_of(base().run);
  std::vector<Verdict> verdicts;
  std::vector<Verdict> held;  ///< those of the rule alone

  [[nodiscard]] ExitCode exit_code() const { return exit_code_of(sample.run, verdicts); }
};

TEST(BaselineRule, TheSameBytesPass) {
  const Judged judged([](SampleRun&) {});
  ASSERT_EQ(judged.held.size(), 1U);
  EXPECT_EQ(judged.held[0].judgement, Judgement::pass);
  EXPECT_EQ(judged.held[0].figure, 0);
  EXPECT_EQ(judged.exit_code(), ExitCode::clean);
  EXPECT_EQ(to_string(judged.held[0].rule), "baseline");
}

TEST(BaselineRule, OneAddedAllocationFailsAndIsNamed) {
  const Judged judged([](SampleRun& sample) {
    Observation& observation = sample.run.observations[0];
    *observation.requested_peak_bytes += 256;
    *observation.second_pass_peak_bytes += 256;
    observation.estimate->bytes_estimated = 2304;
    observation.at_peak.push_back({"cache", "buffer", 256});
  });
  ASSERT_EQ(judged.held.size(), 1U);
  EXPECT_EQ(judged.held[0].judgement, Judgement::fail);
  EXPECT_EQ(judged.held[0].figure, 256);
  EXPECT_THAT(judged.held[0].advice,
              AllOf(HasSubstr("grew: a peak of 2304 bytes instead of 2048, 256 more; came: cache (buffer)"),
                    HasSubstr("--update-baseline")));
  EXPECT_EQ(judged.exit_code(), ExitCode::verdict);
  EXPECT_THAT(console_table(judged.sample.run, judged.verdicts),
              AllOf(HasSubstr("FAIL baseline"), HasSubstr(kCase + ": baseline: grew: ")));
  EXPECT_THAT(junit(judged.sample.run, judged.verdicts), HasSubstr("<failure type=\"baseline\""));
  EXPECT_THAT(markdown(judged.sample.run, judged.verdicts), HasSubstr("grew: a peak of 2304 bytes"));
}

TEST(BaselineRule, AFailureThatTheBaselineDidNotHaveIsMarkedNew) {
  const auto crash = [](SampleRun& sample) {
    sample.run.observations[0].outcome = Outcome::crashed;
    sample.run.observations[0].message = "signal 11";
  };
  Judged judged(crash);
  EXPECT_EQ(judged.exit_code(), ExitCode::measurement);
  const std::string mark = "new: ok in the baseline; ";
  for (const std::string& text :
       {console_table(judged.sample.run, judged.verdicts), markdown(judged.sample.run, judged.verdicts),
        junit(judged.sample.run, judged.verdicts), verdicts_json(judged.sample.run, judged.verdicts)}) {
    EXPECT_THAT(text, HasSubstr(mark));
  }
  judged.baseline.cases.at(kCase).outcome = Outcome::crashed;
  const std::vector<Verdict> verdicts = judge(judged.sample.run, {std::nullopt, &judged.baseline});
  EXPECT_EQ(exit_code_of(judged.sample.run, verdicts), ExitCode::measurement);
  EXPECT_THAT(console_table(judged.sample.run, verdicts), Not(HasSubstr(mark))) << "it crashed there too";
}

TEST(BaselineRule, IsToldBesideWhatElseFails) {
  const Judged judged([](SampleRun& sample) {
    Observation& observation = sample.run.observations[0];
    *observation.requested_peak_bytes += 256;
    *observation.second_pass_peak_bytes += 256;
    observation.at_peak.push_back({"cache", "buffer", 256});
  });
  EXPECT_THAT(markdown(judged.sample.run, judged.verdicts),
              AllOf(HasSubstr("256 too few"), HasSubstr("<br>grew: a peak of"), HasSubstr("came: cache")));
  EXPECT_THAT(junit(judged.sample.run, judged.verdicts), HasSubstr("came: cache"));
}

TEST(BaselineRule, IsCountedBeforeWhatIsAlwaysSo) {
  SampleRun few;
  few.add(kCase, 2, 2048, 2, 2048);
  few.run.context.complete = true;
  Baseline baseline = baseline_of(few.run);
  baseline.cases.at(kCase).requested_peak_bytes = 4096;
  const auto verdicts = judge(few.run, {std::nullopt, &baseline});
  EXPECT_EQ(headline(few.run, verdicts), "1 case: 0 pass, 1 counted (1 shrank), 0 fail");
  EXPECT_THAT(markdown(few.run, verdicts), HasSubstr("shrank: a peak of 2048 bytes instead of 4096"));
}

TEST(BaselineRule, MoreOfEitherFails) {
  const Judged judged([](SampleRun& sample) {
    *sample.run.observations[0].requested_peak_bytes -= 1024;
    sample.run.observations[0].setup_bytes = 8;
  });
  EXPECT_EQ(judged.held[0].judgement, Judgement::fail);
  EXPECT_THAT(judged.held[0].advice, HasSubstr("a set-up of 8 bytes instead of 0, 8 more"));
}

TEST(BaselineRule, WhatDoesNotRepeatIsCounted) {
  const Judged judged([](SampleRun& sample) { *sample.run.observations[0].requested_peak_bytes += 256; });
  EXPECT_EQ(judged.held[0].judgement, Judgement::counted);
  EXPECT_THAT(judged.held[0].advice, HasSubstr("unsteady: one memory pass had a peak of 2304 bytes"));
  const Judged both([](SampleRun& sample) {
    *sample.run.observations[0].requested_peak_bytes += 256;
    *sample.run.observations[0].second_pass_peak_bytes += 128;
  });
  EXPECT_EQ(both.held[0].judgement, Judgement::fail);
}

TEST(BaselineRule, AnImprovementIsShownAndFailsNothing) {
  const Judged judged([](SampleRun& sample) {
    Observation& observation = sample.run.observations[0];
    observation.requested_peak_bytes = 1024;
    observation.second_pass_peak_bytes = 1024;
    observation.estimate->bytes_estimated = 1024;
    observation.at_peak.pop_back();
  });
  EXPECT_EQ(judged.held[0].judgement, Judgement::counted);
  EXPECT_EQ(judged.exit_code(), ExitCode::clean);
  EXPECT_THAT(console_table(judged.sample.run, judged.verdicts),
              AllOf(HasSubstr("pass (shrank)"), HasSubstr("1 counted (1 shrank)"),
                    HasSubstr("1024 fewer; went: output (buffer)")));
}

TEST(BaselineRule, CasesThatCameOrWentAreSaid) {
  const Judged judged([](SampleRun& sample) { sample.add("op/new/opencl", 20, 2048, 20, 2048); });
  EXPECT_EQ(judged.exit_code(), ExitCode::clean);
  EXPECT_THAT(headline(judged.sample.run, judged.verdicts), HasSubstr("1 counted (1 new)"));

  SampleRun fewer;
  fewer.add("op/b/opencl", 20, 2048, 20, 2048);
  Baseline baseline = baseline_of(base().run);
  baseline.cases["op/b/opencl"] = baseline.cases.at(kCase);
  const auto verdicts = judge(fewer.run, {std::nullopt, &baseline});
  EXPECT_EQ(exit_code_of(fewer.run, verdicts), ExitCode::clean);
  EXPECT_EQ(headline(fewer.run, verdicts), "2 cases: 1 pass, 1 skipped (1 vanished), 0 fail");
  EXPECT_THAT(console_table(fewer.run, verdicts), HasSubstr("vanished: the baseline has this case"));
  EXPECT_THAT(console_table(fewer.run, verdicts), Not(HasSubstr("pass (vanished)")));
  EXPECT_THAT(junit(fewer.run, verdicts),
              AllOf(HasSubstr("name=\"" + kCase + "\" classname=\"op.a\""), HasSubstr("<skipped")));
  EXPECT_THAT(markdown(fewer.run, verdicts), HasSubstr(kCase));
  EXPECT_THAT(verdicts_json(fewer.run, verdicts), HasSubstr("\"rule\": \"baseline\""));
}

TEST(BaselineRule, WhatWentWellMustGoOnDoingSo) {
  const Judged worse([](SampleRun& sample) {
    sample.run.observations[0].outcome = Outcome::out_of_memory;
    sample.run.observations[0].requested_peak_bytes.reset();
  });
  EXPECT_EQ(worse.held[0].judgement, Judgement::fail);
  EXPECT_THAT(worse.held[0].advice, HasSubstr("out_of_memory, and it went well in the baseline"));

  // The rule `outcome` tells of a crash, once.
  const Judged crashed([](SampleRun& sample) { sample.run.observations[0].outcome = Outcome::crashed; });
  EXPECT_EQ(crashed.held[0].judgement, Judgement::pass);
  EXPECT_EQ(crashed.exit_code(), ExitCode::measurement);

  SampleRun now = base();
  Baseline baseline = baseline_of(now.run);
  baseline.cases.at(kCase).outcome = Outcome::unsupported;
  baseline.cases.at(kCase).requested_peak_bytes.reset();
  const auto verdicts = judge_baseline(now.run, baseline);
  EXPECT_EQ(verdicts[0].judgement, Judgement::counted);
  EXPECT_THAT(verdicts[0].advice, HasSubstr("goes well now: unsupported in the baseline"));
}

TEST(BaselineRule, ABaselineOfSomethingElseIsNoPass) {
  SampleRun sample;
  sample.add("op/a/cuda/n:20", 20, 2048, 20, 2048);
  try {
    judge(sample.run, {std::nullopt, std::make_unique<Baseline>(baseline_of(base().run)).get()});
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the baseline has no case of this run"));
  }
}

/// One allocation of 256 bytes more than the baseline's, estimated as it is.
SampleRun grown() {
  SampleRun sample = base();
  Observation& observation = sample.run.observations[0];
  *observation.requested_peak_bytes += 256;
  *observation.second_pass_peak_bytes += 256;
  observation.estimate->bytes_estimated = 2304;
  observation.at_peak.push_back({"cache", "buffer", 256});
  return sample;
}

TEST(BaselineRule, AllowedGrowthIsCountedAndToldInEveryForm) {
  const SampleRun sample = grown();
  const Baseline baseline = baseline_of(base().run);
  JudgeOptions options{std::nullopt, &baseline};
  for (const char* const text : {"256", "12.5%"}) {
    options.allowed_growth = parse_growth_allowance(text);
    const auto verdicts = judge(sample.run, options);
    EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::clean) << text;
    EXPECT_EQ(headline(sample.run, verdicts), "1 case: 0 pass, 1 counted (1 allowed growth), 0 fail");
    const std::string note = std::string("allowed growth: ") + text + " (--allow-growth)";
    EXPECT_THAT(console_table(sample.run, verdicts, 1000, options),
                AllOf(HasSubstr("\n" + note + "\n"), HasSubstr("256 more; came: cache (buffer)")));
    EXPECT_THAT(markdown(sample.run, verdicts, options),
                AllOf(HasSubstr("\n" + note + "."), HasSubstr("256 more")));
    EXPECT_THAT(junit(sample.run, verdicts, options),
                AllOf(HasSubstr(std::string("<property name=\"allow_growth\" value=\"") + text + "\""),
                      HasSubstr("counted: baseline: " + note)));
    EXPECT_THAT(verdicts_json(sample.run, verdicts, options),
                HasSubstr(std::string("\"allow_growth\": \"") + text + "\""));
  }
  options.allowed_growth = parse_growth_allowance("255");
  const auto verdicts = judge(sample.run, options);
  EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::verdict) << "a byte more than is allowed";
  EXPECT_THAT(verdicts_json(sample.run, judge(sample.run, {}), {}), HasSubstr("\"allow_growth\": \"0 B\""));
}

}  // namespace
}  // namespace peakmark
