#include "compare/run_comparison.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "compare/case_lines.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr int kRounds = 9;

/// Runs of cases `pad/VARIANT/opencl/n:N`, in rounds where a test says so.
class Measured {
 public:
  Measured() {
    RunContext& context = measured_.run.context;
    context.id = "one";
    context.device = "a device";
    context.driver = "1";
    context.backend = "opencl";
    context.build = "Release";
    context.complete = true;
    measured_.file = "run.json";
  }

  Observation& add(const std::string& variant, Size n, Size peak = 1000) {
    Observation one;
    one.variant = variant;
    one.backend = "opencl";
    one.axes = Parameters({{"n", n}});
    one.case_name = variant + "/opencl/n:" + std::to_string(n);
    one.requested_peak_bytes = one.second_pass_peak_bytes = peak;
    one.setup_bytes = 10;
    one.leaked_bytes = 0;
    one.at_peak = {{"input", "buffer", peak}};
    measured_.run.observations.push_back(std::move(one));
    return measured_.run.observations.back();
  }

  Measured& rounds(bool two_looks = true,
                   std::optional<std::vector<std::string>> second_look = std::nullopt) {
    measured_.run.context.rounds = Rounds{"job", kRounds, 1, std::nullopt, two_looks, std::move(second_look)};
    return *this;
  }

  Run& run() { return measured_.run; }
  RunContext& context() { return measured_.run.context; }
  [[nodiscard]] const RunToCompare& get() const { return measured_; }

 private:
  RunToCompare measured_;
};

/// Rounds `first` … `first` + 8, around `ns`, a per cent apart.
void time(Observation& one, double ns, int first = 1) {
  for (int round = 0; round < kRounds; ++round) {
    Observation block = one;
    block.gpu_time = summarise_blocks({{ns * (1 + 0.00125 * round)}});
    add_round(one, as_round(block, first + round));
  }
  one.time_source = time_source::device;
}

RunComparison of_variants(const Measured& measured) {
  return compare_variants(measured.get(), "pad/old", "pad/new");
}

TEST(CompareRuns, OneAllocationOf256BytesIsFoundAndNamed) {
  Measured base;
  base.add("pad/old", 20, 42000);
  Measured next;
  Observation& grown = next.add("pad/old", 20, 42256);
  grown.at_peak = {{"input", "buffer", 42000}, {"cache", "buffer", 256}};
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::verdict);
  EXPECT_THAT(headline(comparison), StartsWith("1 of 1 case regressed"));
  for (const std::string& text : {comparison_table(comparison), comparison_markdown(comparison)}) {
    EXPECT_THAT(text, HasSubstr("peak grew by 256 B: 42000 -> 42256 B"));
    EXPECT_THAT(text, HasSubstr("came: cache (buffer), 256 B"));
  }
}

TEST(CompareRuns, EqualBytesAreTheSame) {
  Measured base;
  base.add("pad/old", 20);
  const RunComparison comparison = compare_runs(base.get(), base.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_EQ(headline(comparison), "nothing regressed in 1 case: 1 the same");
}

TEST(CompareRuns, FewerBytesAreToldAndFailNothing) {
  Measured base;
  base.add("pad/old", 20, 2000);
  Measured next;
  next.add("pad/old", 20, 1000);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(headline(comparison), HasSubstr("1 improved"));
}

TEST(CompareRuns, ALeakThatGrewFailsAndSetUpIsTold) {
  Measured base;
  base.add("pad/old", 1);
  base.add("pad/old", 2);
  Measured next;
  next.add("pad/old", 1).leaked_bytes = 64;
  next.add("pad/old", 2).setup_bytes = 20;
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_TRUE(comparison.cases[0].is_regression());
  EXPECT_FALSE(comparison.cases[1].is_regression());
  EXPECT_EQ(standing_of(comparison.cases[1]), Standing::changed);
}

TEST(CompareRuns, APeakThatDoesNotRepeatFailsNothing) {
  Measured base;
  base.add("pad/old", 1, 1000).second_pass_peak_bytes = 1064;
  Measured next;
  next.add("pad/old", 1, 1064).second_pass_peak_bytes = 1128;
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison), HasSubstr("not the same in two passes"));
}

TEST(CompareRuns, WhatIsUnknownIsNoFigure) {
  Measured base;
  base.add("pad/old", 1).requested_peak_bytes.reset();
  Measured next;
  next.add("pad/old", 1);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison), HasSubstr("peak: unknown -> 1000 B"));
  const auto json = nlohmann::json::parse(comparison_json(comparison));
  EXPECT_TRUE(json["cases"][0]["base"].is_null());
  EXPECT_TRUE(json["cases"][0]["verdict"].is_null());
}

TEST(CompareRuns, ACaseThatNoLongerGoesWellIsLost) {
  for (const auto& [outcome, code] : {std::pair{Outcome::out_of_memory, ExitCode::verdict},
                                      {Outcome::crashed, ExitCode::measurement},
                                      {Outcome::wrong_answer, ExitCode::measurement},
                                      {Outcome::unsupported, ExitCode::verdict}}) {
    Measured base;
    base.add("pad/old", 1);
    Measured next;
    next.add("pad/old", 1).outcome = outcome;
    EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), false)), code) << name_of(outcome);
  }
  Measured both;
  both.add("pad/old", 1).outcome = Outcome::crashed;
  EXPECT_EQ(exit_code_of(compare_runs(both.get(), both.get(), false)), ExitCode::nothing);
  both.add("pad/old", 2);
  EXPECT_EQ(exit_code_of(compare_runs(both.get(), both.get(), false)), ExitCode::clean) << "nothing new";
}

TEST(CompareRuns, ACaseThatNoSideMeasuredIsSkipped) {
  Measured base;
  Measured next;
  for (Measured* side : {&base, &next}) {
    Observation& one = side->add("pad/a", 1);
    one.outcome = Outcome::unsupported;
    one.message = "no cuFFT here";
    one.requested_peak_bytes = one.second_pass_peak_bytes = one.setup_bytes = one.leaked_bytes = std::nullopt;
  }
  const RunComparison none = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(headline(none), "nothing regressed in 1 case: 1 skipped; nothing was measured");
  EXPECT_EQ(exit_code_of(none), ExitCode::nothing);
  EXPECT_THAT(comparison_table(none), HasSubstr("skipped (unsupported)"));
  EXPECT_THAT(comparison_table(none), HasSubstr("outcome: unsupported on both sides: no cuFFT here"));
  EXPECT_THAT(comparison_markdown(none), StartsWith("**Action needed.** "));
  EXPECT_THAT(comparison_markdown(none), HasSubstr("| skipped (unsupported) |"));
  const auto json = nlohmann::json::parse(comparison_json(none));
  EXPECT_EQ(json.at("exit_code"), 4);
  ASSERT_EQ(json.at("cases").size(), 1U);
  EXPECT_EQ(json.at("cases")[0].at("verdict"), "skipped");
  EXPECT_EQ(json.at("cases")[0].at("message"), "no cuFFT here");

  base.add("pad/a", 2);
  next.add("pad/a", 2);
  const RunComparison some = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(headline(some), "nothing regressed in 2 cases: 1 the same, 1 skipped");
  EXPECT_EQ(exit_code_of(some), ExitCode::clean);
}

TEST(CompareRuns, WhatAnotherDeviceDoesNotSupportIsNotLost) {
  Measured base;
  base.add("pad/old", 1);
  Measured next;
  next.run().context.device = "another device";
  next.add("pad/old", 1).outcome = Outcome::unsupported;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), true)), ExitCode::nothing);
  base.add("pad/old", 2);
  next.add("pad/old", 2);
  const RunComparison comparison = compare_runs(base.get(), next.get(), true);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_EQ(standing_of(comparison.cases[0]), Standing::changed);
  next.run().observations[0].outcome = Outcome::out_of_memory;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), true)), ExitCode::verdict);
}

TEST(CompareRuns, CasesOfOneSideAreNamed) {
  Measured base;
  base.add("pad/old", 1);
  base.add("pad/old", 2);
  Measured next;
  next.add("pad/old", 2);
  next.add("pad/old", 3);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_THAT(comparison.only_base, ElementsAre("pad/old/opencl/n:1"));
  EXPECT_THAT(comparison.only_new, ElementsAre("pad/old/opencl/n:3"));
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("only in the base: 1 case\n  pad/old/opencl/n:1"),
                                                  HasSubstr("only in the new")));
  EXPECT_THAT(headline(comparison), HasSubstr("2 cases only on one side"));
}

TEST(CompareRuns, NothingInCommonIsAMistake) {
  Measured base;
  base.add("pad/old", 1);
  Measured next;
  next.add("pad/old", 2);
  EXPECT_THAT(
      [&] { compare_runs(base.get(), next.get(), false); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("no case in common"), HasSubstr("pad/old/opencl/n:2"))));
}

TEST(CompareRuns, AnotherDeviceDriverOrBuildIsRefused) {
  Measured base;
  base.add("pad/old", 1);
  for (std::string RunContext::*member : {&RunContext::device, &RunContext::driver, &RunContext::build}) {
    Measured next;
    next.add("pad/old", 1);
    next.context().*member = "another";
    EXPECT_THAT([&] { compare_runs(base.get(), next.get(), false); },
                ThrowsMessage<UsageError>(HasSubstr("'another'")));
    const RunComparison comparison = compare_runs(base.get(), next.get(), true);
    EXPECT_THAT(comparison.notes, SizeIs(1));
  }
}

TEST(CompareRuns, TimesOfTwoJobsEndAtSuspicious) {
  Measured base;
  time(base.add("pad/old", 1), 1e6);
  time(base.add("pad/old", 2), 1e6);
  Measured next;
  time(next.add("pad/old", 1), 2e6);
  time(next.add("pad/old", 2), 1.1e6);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::suspicious);
  EXPECT_EQ(comparison.cases[1].time->verdict, TimeVerdict::undecided) << "jobs differ by that";
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison),
              AllOf(HasSubstr("not measured in turns"), HasSubstr("--build OTHER")));
}

TEST(CompareRuns, ThroughputStandsBesideTimes) {
  Measured base;
  time(base.add("pad/old", 1), 1e6);
  EXPECT_THAT(comparison_table(compare_runs(base.get(), base.get(), false)), Not(HasSubstr("GB/s")));
  base.run().observations[0].bytes_moved = 1'500'000;
  const RunComparison comparison = compare_runs(base.get(), base.get(), false);
  for (const std::string& text : {comparison_table(comparison), comparison_markdown(comparison)}) {
    EXPECT_THAT(text, AllOf(HasSubstr("GB/s"), HasSubstr("1.493 -> 1.493"))) << "the median is 1.005 ms";
  }
  EXPECT_THAT(comparison_json(comparison), HasSubstr("base_throughput"));
}

TEST(CompareRuns, TwoBuildsInTurnsAreJudgedByTheSecondLook) {
  Measured base;
  Measured next;
  base.rounds(true, {{"pad/old/opencl/n:1"}});
  next.rounds(true, {{"pad/old/opencl/n:1"}});
  next.context().id = "two";
  for (Measured* side : {&base, &next}) {
    const double ns = side == &base ? 1e6 : 1.1e6;
    time(side->add("pad/old", 1), ns);
    time(side->run().observations[0], ns, kRounds + 1);
    time(side->add("pad/old", 2), 1e6);
  }
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_TRUE(comparison.in_turns);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::slower);
  EXPECT_EQ(comparison.cases[0].time->look, 2);
  EXPECT_EQ(comparison.cases[1].time->verdict, TimeVerdict::same);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::verdict);
}

TEST(CompareRuns, WithoutTimesThereIsNoVerdictOnThem) {
  Measured base;
  base.add("pad/old", 1);
  EXPECT_FALSE(compare_runs(base.get(), base.get(), false).cases[0].time);
  Measured next;
  time(next.add("pad/old", 1), 1e6);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::undecided);
  EXPECT_THAT(comparison.cases[0].time->advice, HasSubstr("the base has no time"));
}

TEST(CompareVariants, OnlyTheSecondLookCounts) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.run().observations[0], 1e6, kRounds + 1);
  time(measured.add("pad/new", 1), 1.2e6);
  time(measured.run().observations[1], 1e6, kRounds + 1);
  measured.rounds(true, {{"pad/old/opencl/n:1", "pad/new/opencl/n:1"}});
  measured.context().rounds->variants = {"pad/old", "pad/new"};
  const RunComparison comparison = of_variants(measured);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::same) << "20 % slower in the first look only";
  EXPECT_EQ(comparison.cases[0].time->change->base_blocks, 9U);
}

TEST(CompareVariants, WithoutASecondLookADifferenceIsSuspicious) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.rounds(false);
  EXPECT_EQ(of_variants(measured).cases[0].time->verdict, TimeVerdict::suspicious);
  measured.rounds(true);
  measured.context().rounds->variants = {"pad/old", "pad/new"};
  EXPECT_THAT(of_variants(measured).cases[0].time->advice, HasSubstr("--resume"))
      << "cut short between the looks";
}

TEST(CompareVariants, ASecondLookCutShortDecidesNothing) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.rounds(true, {{"pad/old/opencl/n:1", "pad/new/opencl/n:1"}});
  measured.context().rounds->variants = {"pad/old", "pad/new"};
  const RunComparison none = of_variants(measured);
  EXPECT_EQ(none.cases[0].time->verdict, TimeVerdict::undecided);
  EXPECT_THAT(none.cases[0].time->advice, HasSubstr("--resume"));
}

TEST(CompareVariants, ASecondLookAtOthersSaysNothing) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.rounds(true, {{"pad/a", "pad/b"}});
  measured.context().rounds->variants = {"pad/a", "pad/b"};
  EXPECT_EQ(of_variants(measured).cases[0].time->verdict, TimeVerdict::suspicious);
}

TEST(CompareVariants, AVariantThatIsNotThereIsAMistake) {
  Measured measured;
  measured.add("pad/old", 1);
  EXPECT_THAT([&] { of_variants(measured); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("no case of 'pad/new'"), HasSubstr("pad/old"))));
}

TEST(CompareVariants, BlocksThatAreNoTimesDecideNothing) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1e6);
  measured.run().observations[1].gpu_time->blocks[3] = {0};
  measured.rounds(false);
  const RunComparison comparison = of_variants(measured);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::undecided);
  EXPECT_THAT(comparison.cases[0].time->advice, HasSubstr("0 ns"));
  EXPECT_THAT(comparison_json(comparison), Not(HasSubstr("nan")));
}

TEST(CompareVariants, TimesOfOtherClocksAreNotCompared) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.run().observations[1].time_source = time_source::process;
  measured.rounds(false);
  EXPECT_THAT(of_variants(measured).cases[0].time->advice, HasSubstr("of the process"));
}

TEST(ComparisonJson, HasTheContractsKeys) {
  Measured measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1, 1256), 1.2e6);
  measured.rounds(false);
  const auto json = nlohmann::json::parse(comparison_json(of_variants(measured)));
  EXPECT_EQ(json["exit_code"], 1);
  for (const auto& row : json["cases"]) {
    for (const char* key :
         {"case", "metric", "base", "new", "relative", "interval", "verdict", "allocations"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
  const auto& peak = json["cases"][0];
  EXPECT_EQ(peak["verdict"], "grew");
  EXPECT_EQ(peak["allocations"][0],
            nlohmann::json::parse(R"({"name": "input", "kind": "buffer", "bytes": 1000,
                                                              "base_count": 1, "new_count": 0})"));
  const auto& time = json["cases"].back();
  EXPECT_EQ(time["metric"], "gpu_time_ns");
  EXPECT_NEAR(time["relative"].get<double>(), 0.2, 1e-9);
  EXPECT_LT(time["interval"][0].get<double>(), 0.2);
}

TEST(ComparisonMarkdown, HasTheVerdictFirstAndNothingThatBreaksATable) {
  Measured base;
  base.add("pad/old", 1);
  Measured next;
  Observation& odd = next.add("pad/old", 1, 2000);
  odd.case_name = base.run().observations[0].case_name = "pad/old/`|x\n<b>";
  odd.at_peak = {{"a|b<script>\n", "buffer", 2000}};
  const std::string text = comparison_markdown(compare_runs(base.get(), next.get(), false));
  EXPECT_THAT(text, StartsWith("**Action needed.** 1 of 1 case regressed"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>")), HasSubstr("a\\|b&lt;script> (buffer)"),
                          HasSubstr("`pad/old/ˋ¦x <b>`")));
  EXPECT_THAT(comparison_markdown(compare_runs(base.get(), base.get(), false)),
              StartsWith("**No action needed.** "));
}

TEST(ComparisonMarkdown, StaysSmall) {
  Measured base;
  Measured next;
  for (Size n = 1; n <= 8000; ++n) {
    base.add("pad/old", n);
    next.add("pad/old", n, 2000);
  }
  const std::string text = comparison_markdown(compare_runs(base.get(), next.get(), false));
  EXPECT_LT(text.size(), 1'000'000U);
  EXPECT_THAT(text, HasSubstr("more rows were left out"));
}

TEST(CompareRuns, AllowedGrowthFailsNothingAndIsToldInEveryForm) {
  Measured base;
  base.add("pad/old", 20, 1'363'149);
  Measured next;
  next.add("pad/old", 20, 1'363'150);
  const RunComparison exact = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(exact), ExitCode::verdict);
  EXPECT_THAT(comparison_table(exact), HasSubstr("  1.3 MiB +1 B  ")) << "not 1.3 MiB -> 1.3 MiB";
  EXPECT_EQ(nlohmann::json::parse(comparison_json(exact)).at("allow_growth"), "0 B");
  const RunComparison allowed = compare_runs(base.get(), next.get(), false, parse_growth_allowance("0.1%"));
  EXPECT_EQ(exit_code_of(allowed), ExitCode::clean);
  EXPECT_THAT(headline(allowed), StartsWith("nothing regressed in 1 case: 1 changed otherwise"));
  for (const std::string& text : {comparison_table(allowed), comparison_markdown(allowed)}) {
    EXPECT_THAT(text,
                AllOf(HasSubstr("allowed growth: 0.1% (--allow-growth)"), HasSubstr("peak grew (allowed)"),
                      HasSubstr("peak grew by 1 B: 1363149 -> 1363150 B; allowed by --allow-growth")));
  }
  const auto json = nlohmann::json::parse(comparison_json(allowed));
  EXPECT_EQ(json.at("allow_growth"), "0.1%");
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_EQ(json.at("cases")[0].at("verdict"), "grew") << "bytes are exact";
  EXPECT_EQ(json.at("cases")[0].at("allowed"), true);
}

TEST(CompareRuns, NoGrowthOfALeakIsAllowed) {
  Measured base;
  base.add("pad/old", 20);
  Measured next;
  next.add("pad/old", 20).leaked_bytes = 1;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), false, parse_growth_allowance("64KiB"))),
            ExitCode::verdict);
}

TEST(CompareVariants, AShortNameThatIsUniqueIsEnough) {
  Measured measured;
  for (const char* const variant :
       {"nabu_padding/2023.1.0", "nabu_padding/2023.2.0", "pad/fast.old", "fft/fast.old"}) {
    measured.add(variant, 20);
  }
  const RunComparison comparison = compare_variants(measured.get(), "2023.1.0", "2023.2.0");
  EXPECT_EQ(comparison.base.variant, "nabu_padding/2023.1.0");
  EXPECT_EQ(comparison.next.variant, "nabu_padding/2023.2.0");
  EXPECT_THAT([&] { compare_variants(measured.get(), "fast.old", "2023.2.0"); },
              ThrowsMessage<UsageError>(HasSubstr("run.json: 'fast.old' is short for several variants: "
                                                  "fft/fast.old, pad/fast.old; write one of them")));
  EXPECT_THAT([&] { compare_variants(measured.get(), "23.2.0", "2023.2.0"); },
              ThrowsMessage<UsageError>(HasSubstr("no case of '23.2.0' was measured")))
      << "part of a word";
}

}  // namespace
}  // namespace peakmark
