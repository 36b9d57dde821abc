#include "measure/check/baseline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "measure/check/reports.hpp"
#include "measure/check/sample_run.hpp"

namespace peakmark {

namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

SampleRun two_cases() {
  SampleRun sample;
  sample.add("op/b/opencl/n:20", 20, 2048, 20, 2048).at_peak = {
      {"output", "buffer", 1024}, {"block", "buffer", 256}, {"block", "buffer", 256}, {"", "image", 512}};
  sample.add_ended("op/a/opencl", Outcome::out_of_memory, "too large");
  sample.run.context.complete = true;
  return sample;
}

std::string message_of(const std::string& text) {
  try {
    parse_baseline(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

// Approved text: what is reviewed in a pull request.
TEST(Baseline, HasALineACaseByName) {
  EXPECT_EQ(
      baseline_text(make_baseline(two_cases().run)),
      "{\"peakmark_baseline\":1}\n"
      "{\"case\":\"op/a/opencl\",\"outcome\":\"out_of_memory\",\"requested_peak_bytes\":null,"
      "\"setup_bytes\":null,\"at_peak\":[]}\n"
      R"({"case":"op/b/opencl/n:20","outcome":"ok","requested_peak_bytes":2048,"setup_bytes":0,"at_peak":)"
      R"([{"name":"","kind":"image","bytes":512},{"name":"block","kind":"buffer","bytes":256},)"
      R"({"name":"block","kind":"buffer","bytes":256},{"name":"output","kind":"buffer","bytes":1024}]})"
      "\n");
}

TEST(Baseline, ComesBackAsItWas) {
  const Baseline baseline = make_baseline(two_cases().run);
  EXPECT_EQ(baseline_text(parse_baseline(baseline_text(baseline))), baseline_text(baseline));
}

TEST(Baseline, AnErrorNamesItsPlace) {
  const std::string head = "{\"peakmark_baseline\":1}\n";
  const std::string line =
      "{\"case\":\"a\",\"outcome\":\"ok\",\"requested_peak_bytes\":1,\"setup_bytes\":0,\"at_peak\":";
  EXPECT_EQ(message_of(head + line + "[]}\n\n"), "none");
  EXPECT_THAT(message_of("{\"peakmark_baseline\":2}\n"),
              AllOf(StartsWith("line 1: unsupported baseline version: 2"), HasSubstr("--update-baseline")));
  EXPECT_THAT(message_of(head + "<<<<<<< ours\n"), StartsWith("line 2: "));
  EXPECT_THAT(message_of(head + line + "[]}\n" + line + "[]}\n"), StartsWith("line 3: duplicate case: a"));
  EXPECT_THAT(message_of(head + line + "[{\"name\":\"x\",\"kind\":\"buffer\"}]}\n"),
              HasSubstr("'bytes' not found"));
  EXPECT_THAT(message_of(head + line + "[{\"name\":\"x\",\"kind\":\"buffer\",\"bytes\":1.5}]}\n"),
              HasSubstr("must be an integer"));
  EXPECT_THAT(message_of(head + "{\"case\":\"a\",\"outcome\":\"fine\"}\n"),
              HasSubstr("unknown outcome 'fine'"));
}

TEST(Baseline, IsReadFromARunFileToo) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "run.json";
  SampleRun sample = two_cases();
  write_run(sample.run, path);
  EXPECT_EQ(baseline_text(read_baseline(path)), baseline_text(make_baseline(sample.run)));
  EXPECT_THROW(update_baseline({sample.run}, path, false), UsageError) << "a run file is not replaced";
  sample.run.context.complete = false;
  write_run(sample.run, path);
  try {
    read_baseline(path);
    ADD_FAILURE() << "a run that was cut short";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith(path.string()), HasSubstr("incomplete run")));
  }
}

class UpdatedBaseline : public testing::Test {
 protected:
  /// Two cases with bytes, one without memory enough.
  static SampleRun suite() {
    SampleRun sample = two_cases();
    sample.add("op/c/dry", 20, 4096, 20, 4096);
    return sample;
  }
  BaselineUpdate update(const peakmark::Run& run, bool prune = false) const {
    return update_baseline({run}, path_, prune);
  }
  [[nodiscard]] const Observation& at(const std::string& name) const { return baseline().cases.at(name); }
  [[nodiscard]] const Baseline& baseline() const {
    baseline_ = read_baseline(path_);
    return baseline_;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "op.baseline";
  mutable Baseline baseline_;
};

TEST_F(UpdatedBaseline, APartOfTheSuiteReplacesItsCasesOnly) {
  EXPECT_EQ(update(suite().run).added, 3U);
  SampleRun part;
  part.add("op/b/opencl/n:20", 20, 8192, 20, 8192);
  part.run.context.complete = true;
  part.run.context.filter = "n:20";
  const BaselineUpdate updated = update(part.run);
  EXPECT_EQ(updated.cases, 3U);
  EXPECT_EQ(updated.changed, 1U);
  EXPECT_THAT(updated.not_in_run, ElementsAre("op/a/opencl", "op/c/dry"));
  EXPECT_THAT(updated.not_in_suite, IsEmpty());
  EXPECT_EQ(at("op/b/opencl/n:20").requested_peak_bytes, 8192);
  EXPECT_EQ(at("op/c/dry").requested_peak_bytes, 4096);
}

TEST_F(UpdatedBaseline, WhatWasNotMeasuredStays) {
  update(suite().run);
  for (const Outcome outcome : {Outcome::out_of_memory, Outcome::unsupported, Outcome::crashed,
                                Outcome::timeout, Outcome::wrong_answer}) {
    SampleRun later = suite();
    later.run.observations[0].requested_peak_bytes = 4096;
    later.run.observations[2].outcome = outcome;
    later.run.observations[2].requested_peak_bytes.reset();
    const BaselineUpdate updated = update(later.run);
    EXPECT_THAT(updated.not_measured, ElementsAre("op/c/dry (" + std::string(to_string(outcome)) + ")"));
    EXPECT_EQ(at("op/b/opencl/n:20").requested_peak_bytes, 4096);
    EXPECT_EQ(at("op/c/dry").requested_peak_bytes, 4096);
    EXPECT_EQ(at("op/c/dry").outcome, Outcome::ok);
  }
  // No recorder was active.
  SampleRun later = suite();
  later.run.observations[2].requested_peak_bytes.reset();
  later.run.observations[0].setup_bytes.reset();
  EXPECT_THAT(update(later.run).not_measured, Contains("op/c/dry (no peak)"));
  EXPECT_EQ(at("op/c/dry").requested_peak_bytes, 4096);
  EXPECT_EQ(at("op/b/opencl/n:20").setup_bytes, 0);
}

TEST_F(UpdatedBaseline, ARunThatMeasuredNothingChangesNothing) {
  SampleRun nothing;
  nothing.add_ended("op/a/opencl", Outcome::out_of_memory, "too large");
  nothing.run.context.complete = true;
  EXPECT_EQ(update(nothing.run).measured, 0U);
  EXPECT_FALSE(std::filesystem::exists(path_));
  update(suite().run);
  const std::string before = read_text_file(path_);
  EXPECT_EQ(update(nothing.run, true).measured, 0U);
  EXPECT_EQ(read_text_file(path_), before);
}

TEST_F(UpdatedBaseline, RemovesWhatTheSuiteNoLongerHasIfAsked) {
  update(suite().run);
  SampleRun now;
  now.add("op/b/opencl/n:20", 20, 2048, 20, 2048);
  now.run.context.complete = true;
  EXPECT_THAT(update(now.run).not_in_suite, ElementsAre("op/a/opencl", "op/c/dry"));
  EXPECT_EQ(baseline().cases.size(), 3U);

  // With --backend, cases of other backends stay.
  now.run.context.asked_backend = "opencl";
  const BaselineUpdate of_backend = update(now.run, true);
  EXPECT_THAT(of_backend.not_in_suite, ElementsAre("op/a/opencl"));
  EXPECT_THAT(of_backend.not_in_run, ElementsAre("op/c/dry"));
  EXPECT_EQ(baseline().cases.size(), 2U);
  now.run.context.asked_backend.reset();
  EXPECT_THAT(update(now.run, true).not_in_suite, ElementsAre("op/c/dry"));
  EXPECT_EQ(baseline().cases.size(), 1U);
}

TEST_F(UpdatedBaseline, APartOfTheSuiteDoesNotKnowWhatToRemove) {
  update(suite().run);
  const auto message = [&](const std::function<void(RunContext&)>& limit) -> std::string {
    SampleRun part = suite();
    limit(part.run.context);
    try {
      update(part.run, true);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(message([](RunContext&) {}), "none");
  EXPECT_THAT(message([](RunContext& context) { context.filter = "n:[12]"; }),
              HasSubstr("--prune: this run is of a part of the suite (--filter 'n:[12]')"));
  EXPECT_THAT(message([](RunContext& context) {
                context.shard = Shard{2, 4};
              }),
              AllOf(HasSubstr("--shard 2/4"), HasSubstr("`peakmark merge`")));
  EXPECT_THAT(message([](RunContext& context) {
                context.rounds = Rounds{};
                context.rounds->variants = {"op/a", "op/b"};
              }),
              HasSubstr("--variants op/a op/b"));
}

TEST_F(UpdatedBaseline, ReplacesBaselinesOnly) {
  update(suite().run);
  EXPECT_EQ(baseline().cases.size(), 3U);
  std::ofstream(path_) << "";
  EXPECT_EQ(update(suite().run).added, 3U) << "an empty file is no baseline yet";
  // Cases that were not measured would be lost.
  for (const std::string text :
       {"precious", "{\"peakmark_baseline\":2}\n", "{\"peakmark_baseline\":1}\n<<<<<<< ours\n"}) {
    std::ofstream(path_) << text;
    EXPECT_THROW(update(suite().run), UsageError);
    EXPECT_EQ(read_text_file(path_), text);
  }
}

TEST_F(UpdatedBaseline, TakesRunsOfDifferentCases) {
  SampleRun other;
  other.add("op/d/opencl", 20, 2048, 20, 2048);
  other.run.context.complete = true;
  EXPECT_EQ(update_baseline({suite().run, other.run}, path_, true).cases, 4U);
  EXPECT_THROW(update_baseline({suite().run, suite().run}, path_, false), UsageError);
  other.run.context.complete = false;
  EXPECT_THROW(update(other.run), UsageError) << "a run that was cut short";
}

}  // namespace

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
  Baseline baseline = make_baseline(base().run);
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
              AllOf(HasSubstr("grew: peak 2304 bytes instead of 2048, 256 more; added: cache (buffer)"),
                    HasSubstr("--update-baseline")));
  EXPECT_EQ(judged.exit_code(), ExitCode::verdict);
  EXPECT_THAT(console_table(judged.sample.run, judged.verdicts),
              AllOf(HasSubstr("FAIL baseline"), HasSubstr(kCase + ": baseline: grew: ")));
  EXPECT_THAT(junit(judged.sample.run, judged.verdicts), HasSubstr("<failure type=\"baseline\""));
  EXPECT_THAT(markdown(judged.sample.run, judged.verdicts), HasSubstr("grew: peak 2304 bytes"));
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
        junit(judged.sample.run, judged.verdicts),
        verdicts_json(judged.sample.run, judged.verdicts).dump()}) {
    EXPECT_THAT(text, HasSubstr(mark));
  }
  judged.baseline.cases.at(kCase).outcome = Outcome::crashed;
  const std::vector<Verdict> verdicts = judge(judged.sample.run, {std::nullopt, &judged.baseline});
  EXPECT_EQ(exit_code_of(judged.sample.run, verdicts), ExitCode::measurement);
  EXPECT_THAT(console_table(judged.sample.run, verdicts), Not(HasSubstr(mark))) << "it crashed there too";
}

TEST(BaselineRule, IsReportedWithOtherFailures) {
  const Judged judged([](SampleRun& sample) {
    Observation& observation = sample.run.observations[0];
    *observation.requested_peak_bytes += 256;
    *observation.second_pass_peak_bytes += 256;
    observation.at_peak.push_back({"cache", "buffer", 256});
  });
  EXPECT_THAT(markdown(judged.sample.run, judged.verdicts),
              AllOf(HasSubstr("(256 short)"), HasSubstr("<br>grew: peak"), HasSubstr("added: cache")));
  EXPECT_THAT(junit(judged.sample.run, judged.verdicts), HasSubstr("added: cache"));
}

TEST(BaselineRule, IsCountedBeforeWhatIsAlwaysSo) {
  SampleRun few;
  few.add(kCase, 2, 2048, 2, 2048);
  few.run.context.complete = true;
  Baseline baseline = make_baseline(few.run);
  baseline.cases.at(kCase).requested_peak_bytes = 4096;
  const auto verdicts = judge(few.run, {std::nullopt, &baseline});
  EXPECT_EQ(headline(few.run, verdicts), "1 case: 0 pass, 1 warning (1 shrank), 0 fail");
  EXPECT_THAT(markdown(few.run, verdicts), HasSubstr("shrank: peak 2048 bytes instead of 4096"));
}

TEST(BaselineRule, MoreOfEitherFails) {
  const Judged judged([](SampleRun& sample) {
    *sample.run.observations[0].requested_peak_bytes -= 1024;
    sample.run.observations[0].setup_bytes = 8;
  });
  EXPECT_EQ(judged.held[0].judgement, Judgement::fail);
  EXPECT_THAT(judged.held[0].advice, HasSubstr("setup 8 bytes instead of 0, 8 more"));
}

TEST(BaselineRule, WhatDoesNotRepeatIsCounted) {
  const Judged judged([](SampleRun& sample) { *sample.run.observations[0].requested_peak_bytes += 256; });
  EXPECT_EQ(judged.held[0].judgement, Judgement::warning);
  EXPECT_THAT(judged.held[0].advice, HasSubstr("unsteady: in one memory pass, peak 2304 bytes"));
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
  EXPECT_EQ(judged.held[0].judgement, Judgement::warning);
  EXPECT_EQ(judged.exit_code(), ExitCode::clean);
  EXPECT_THAT(console_table(judged.sample.run, judged.verdicts),
              AllOf(HasSubstr("pass (shrank)"), HasSubstr("1 warning (1 shrank)"),
                    HasSubstr("1024 fewer; removed: output (buffer)")));
}

TEST(BaselineRule, CasesThatCameOrWentAreReported) {
  const Judged judged([](SampleRun& sample) { sample.add("op/new/opencl", 20, 2048, 20, 2048); });
  EXPECT_EQ(judged.exit_code(), ExitCode::clean);
  EXPECT_THAT(headline(judged.sample.run, judged.verdicts), HasSubstr("1 warning (1 new)"));

  SampleRun fewer;
  fewer.add("op/b/opencl", 20, 2048, 20, 2048);
  Baseline baseline = make_baseline(base().run);
  baseline.cases["op/b/opencl"] = baseline.cases.at(kCase);
  const auto verdicts = judge(fewer.run, {std::nullopt, &baseline});
  EXPECT_EQ(exit_code_of(fewer.run, verdicts), ExitCode::clean);
  EXPECT_EQ(headline(fewer.run, verdicts), "2 cases: 1 pass, 1 skipped (1 vanished), 0 fail");
  EXPECT_THAT(console_table(fewer.run, verdicts),
              HasSubstr("vanished: in the baseline, but not in the suite"));
  EXPECT_THAT(console_table(fewer.run, verdicts), Not(HasSubstr("pass (vanished)")));
  EXPECT_THAT(junit(fewer.run, verdicts),
              AllOf(HasSubstr("name=\"" + kCase + "\" classname=\"op.a\""), HasSubstr("<skipped")));
  EXPECT_THAT(markdown(fewer.run, verdicts), HasSubstr(kCase));
  EXPECT_THAT(verdicts_json(fewer.run, verdicts).dump(2), HasSubstr("\"rule\": \"baseline\""));

  // A part of the suite does not know what vanished.
  fewer.run.context.filter = "op/b";
  const auto of_part = judge_baseline(fewer.run, baseline);
  EXPECT_EQ(of_part.back().judgement, Judgement::skipped);
  EXPECT_THAT(of_part.back().advice,
              HasSubstr("not in this run, which measured only a part of the suite (--filter op/b)"));
}

TEST(BaselineRule, WhatWentWellMustGoOnDoingSo) {
  const Judged worse([](SampleRun& sample) {
    sample.run.observations[0].outcome = Outcome::out_of_memory;
    sample.run.observations[0].requested_peak_bytes.reset();
  });
  EXPECT_EQ(worse.held[0].judgement, Judgement::fail);
  EXPECT_THAT(worse.held[0].advice, HasSubstr("out_of_memory now, ok in the baseline"));

  const Judged expected([](SampleRun& sample) {
    sample.run.observations[0].outcome = Outcome::out_of_memory;
    sample.run.observations[0].requested_peak_bytes.reset();
    sample.run.context.planned[0].expected_outcome = "out_of_memory";
  });
  EXPECT_EQ(expected.held[0].judgement, Judgement::pass);
  EXPECT_EQ(expected.exit_code(), ExitCode::clean);

  // Only the rule `outcome` reports a crash.
  const Judged crashed([](SampleRun& sample) { sample.run.observations[0].outcome = Outcome::crashed; });
  EXPECT_EQ(crashed.held[0].judgement, Judgement::pass);
  EXPECT_EQ(crashed.exit_code(), ExitCode::measurement);

  SampleRun now = base();
  Baseline baseline = make_baseline(now.run);
  baseline.cases.at(kCase).outcome = Outcome::unsupported;
  baseline.cases.at(kCase).requested_peak_bytes.reset();
  const auto verdicts = judge_baseline(now.run, baseline);
  EXPECT_EQ(verdicts[0].judgement, Judgement::warning);
  EXPECT_THAT(verdicts[0].advice, HasSubstr("ok now: unsupported in the baseline"));
}

TEST(BaselineRule, BytesThatAreUnknownNowAreNoPass) {
  for (const bool is_peak : {true, false}) {
    const Judged judged([&](SampleRun& sample) {
      Observation& observation = sample.run.observations[0];
      (is_peak ? observation.requested_peak_bytes : observation.setup_bytes).reset();
    });
    EXPECT_EQ(judged.held[0].judgement, Judgement::failed_measurement);
    EXPECT_THAT(judged.held[0].advice, HasSubstr("unknown now"));
    EXPECT_EQ(judged.exit_code(), ExitCode::measurement);
  }
}

TEST(BaselineRule, ABaselineOfSomethingElseIsNoPass) {
  SampleRun sample;
  sample.add("op/a/cuda/n:20", 20, 2048, 20, 2048);
  try {
    judge(sample.run, {std::nullopt, std::make_unique<Baseline>(make_baseline(base().run)).get()});
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no case in common with the baseline"));
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

TEST(BaselineRule, AllowedGrowthIsCountedAndReportedInEveryForm) {
  const SampleRun sample = grown();
  const Baseline baseline = make_baseline(base().run);
  JudgeOptions options{std::nullopt, &baseline};
  for (const char* const text : {"256", "12.5%"}) {
    options.allowed_growth = parse_growth_allowance(text);
    const auto verdicts = judge(sample.run, options);
    EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::clean) << text;
    EXPECT_EQ(headline(sample.run, verdicts), "1 case: 0 pass, 1 warning (1 allowed growth), 0 fail");
    const std::string note = std::string("allowed growth: ") + text + " (--allow-growth)";
    EXPECT_THAT(console_table(sample.run, verdicts, 1000, options),
                AllOf(HasSubstr("\n" + note + "\n"), HasSubstr("256 more; added: cache (buffer)")));
    EXPECT_THAT(markdown(sample.run, verdicts, options),
                AllOf(HasSubstr("\n" + note + "."), HasSubstr("256 more")));
    EXPECT_THAT(junit(sample.run, verdicts, options),
                AllOf(HasSubstr(std::string("<property name=\"allow_growth\" value=\"") + text + "\""),
                      HasSubstr("warning: baseline: " + note)));
    EXPECT_THAT(verdicts_json(sample.run, verdicts, options).dump(2),
                HasSubstr(std::string("\"allow_growth\": \"") + text + "\""));
  }
  options.allowed_growth = parse_growth_allowance("255");
  const auto verdicts = judge(sample.run, options);
  EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::verdict) << "a byte more than is allowed";
  EXPECT_THAT(verdicts_json(sample.run, judge(sample.run, {}), {}).dump(2),
              HasSubstr("\"allow_growth\": \"0 B\""));
}

TEST(BaselineRule, TheSuiteAllowsGrowthOfSomeCases) {
  SampleRun sample = grown();
  const Baseline baseline = make_baseline(base().run);
  JudgeOptions options{std::nullopt, &baseline};
  Limits& limits = sample.run.context.planned[0].limits;
  limits.growth = parse_allowance("12.5 %");
  const auto verdicts = judge(sample.run, options);
  EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::clean);
  EXPECT_EQ(headline(sample.run, verdicts), "1 case: 0 pass, 1 warning (1 allowed growth), 0 fail");
  EXPECT_THAT(
      console_table(sample.run, verdicts, 1000, options),
      HasSubstr("allowed growth: 12.5 % (allow_growth of the suite): peak 2304 bytes instead of 2048"));
  limits.growth = parse_allowance("255 B");
  EXPECT_EQ(exit_code_of(sample.run, judge(sample.run, options)), ExitCode::verdict);
  options.allowed_growth = parse_growth_allowance("256 B");
  EXPECT_EQ(exit_code_of(sample.run, judge(sample.run, options)), ExitCode::clean) << "either may allow it";
}

TEST(BaselineRule, TheSuiteMayLimitHowFarAPeakShrinks) {
  const auto judged = [](const char* allowance, Size fewer, Size fewer_in_second_pass) {
    return Judged([&](SampleRun& sample) {
             sample.run.context.planned[0].limits.shrinking = parse_allowance(allowance);
             *sample.run.observations[0].requested_peak_bytes -= fewer;
             *sample.run.observations[0].second_pass_peak_bytes -= fewer_in_second_pass;
           })
        .held.at(0);
  };
  EXPECT_EQ(judged("50 %", 1024, 1024).judgement, Judgement::warning);
  EXPECT_EQ(judged("1023 B", 1024, 1024).judgement, Judgement::fail);
  EXPECT_THAT(judged("1023 B", 1024, 1024).advice,
              StartsWith("shrank by more than allow_shrinking (1023 B): peak 1024 bytes instead of 2048"));
  EXPECT_EQ(judged("1023 B", 1024, 1023).judgement, Judgement::warning) << "not in both memory passes";
}

TEST(BaselineRule, AnotherVersionIsANewSeries) {
  const auto raise = [](SampleRun& sample) {
    sample.run.context.planned[0].version = 2;
    sample.run.observations[0].version = 2;
    sample.run.observations[0].requested_peak_bytes = 1 << 20;
  };
  const Judged judged(raise);
  ASSERT_EQ(judged.held.size(), 1U);
  EXPECT_EQ(judged.held[0].judgement, Judgement::warning);
  EXPECT_THAT(judged.held[0].advice, HasSubstr("not compared: version 1 → 2: a new series"));
  EXPECT_TRUE(is_uncompared(judged.held));
  EXPECT_EQ(exit_code_of(judged.sample.run, judged.held), ExitCode::nothing) << "nothing else was compared";

  const auto with_another = [](auto&& change) {
    SampleRun sample = base();
    sample.add("another", 20, 2048, 20, 2048);
    sample.run.context.complete = true;
    change(sample);
    return sample;
  };
  const Baseline two = make_baseline(with_another([](SampleRun&) {}).run);
  const SampleRun now = with_another(raise);
  EXPECT_FALSE(is_uncompared(judge_baseline(now.run, two)));

  const std::string text = baseline_text(make_baseline(now.run));
  EXPECT_THAT(text, HasSubstr("\"version\":2"));
  EXPECT_EQ(parse_baseline(text).cases.at(kCase).version, 2);
  EXPECT_EQ(parse_baseline(baseline_text(two)).cases.at(kCase).version, 1);
}

}  // namespace

}  // namespace peakmark
