#include "measure/check/reports.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "base/text.hpp"
#include "measure/check/sample_run.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// One of each: a pass, a failed window, a crash, an unsupported case, one without an observation.
SampleRun mixed() {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048).gpu_time = GpuTime{1.5e6, 1.4e6, 1.6e6, {}};
  sample.add("op/b/opencl/n:20", 20, 2000, 15, 2600);
  sample.add_ended("op/c/opencl/n:20", Outcome::crashed, "SIGSEGV & <gone>");
  sample.add_ended("op/d/opencl/n:20", Outcome::unsupported, "no f64 | here");
  sample.plan("op/e/opencl/n:20");
  return sample;
}

TEST(Reports, HeadlineCounts) {
  const SampleRun sample = mixed();
  EXPECT_EQ(
      headline(sample.run, judge(sample.run, {})),
      "5 cases: 1 pass, 1 skipped (1 unsupported), 1 fail (1 window_slices), 2 not measured (1 crashed, 1 "
      "missing)");
}

TEST(Reports, MetricsAreColumns) {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048).metrics = {{"iterations", 12}, {"rate", 0.123456}};
  sample.add("op/b/opencl/n:20", 20, 2048, 20, 2048).metrics = {{"iterations", 7}};
  sample.run.observations[0].metric_directions = {{"rate", "higher"}};
  sample.plan("op/c/opencl/n:20");
  const auto verdicts = judge(sample.run, {});
  const std::string table = console_table(sample.run, verdicts);
  EXPECT_THAT(table, HasSubstr("GB/s  iterations    rate  "));
  EXPECT_THAT(table, HasSubstr(" 12  0.1235  "));
  EXPECT_THAT(table, HasSubstr("  7       –  "));
  EXPECT_THAT(markdown(sample.run, verdicts), HasSubstr("| 12 | 0.1235 |"));
  EXPECT_THAT(junit(sample.run, verdicts), HasSubstr("<property name=\"rate\" value=\"0.123456\""));
  const auto all = nlohmann::json(verdicts_json(sample.run, verdicts));
  const auto brief = nlohmann::json(cases_only_json(sample.run, verdicts));
  EXPECT_EQ(brief.at("cases"), all.at("cases"));
  EXPECT_EQ(brief.at("headline"), all.at("headline"));
  EXPECT_EQ(brief.at("exit_code"), all.at("exit_code"));
  EXPECT_FALSE(brief.contains("verdicts"));
  const auto& json = all.at("metrics");
  EXPECT_EQ(json.size(), 2U);
  EXPECT_EQ(json.at(0).at("metrics").at("rate"), 0.123456);
  EXPECT_EQ(json.at(0).at("metric_directions").at("rate"), "higher");
}

TEST(Reports, KindsOfMemoryAreColumns) {
  SampleRun sample;
  sample.add("op/a/cuda/n:20", 20, 2048, 20, 2048).by_kind = {{"device", 2048}};
  EXPECT_THAT(console_table(sample.run, judge(sample.run, {})), Not(HasSubstr("peak of each kind")));
  sample.add("op/b/cuda/n:20", 20, 2048, 20, 2048).by_kind = {{"host_pinned", 100}, {"managed", 2048}};
  sample.plan("op/c/cuda/n:20");
  const auto verdicts = judge(sample.run, {});
  EXPECT_THAT(console_table(sample.run, verdicts),
              HasSubstr("\npeak of each kind  device  host_pinned  managed\n"
                        "op/a/cuda/n:20      2 KiB          0 B      0 B\n"
                        "op/b/cuda/n:20        0 B        100 B    2 KiB\n"
                        "op/c/cuda/n:20          –            –        –\n"));
  const auto json = nlohmann::json(verdicts_json(sample.run, verdicts));
  EXPECT_EQ(json.at("kinds").at(1).at("by_kind").at("host_pinned"), 100);
}

/// Of `run --backend dry --filter fft:cufft`: the suite expects that nothing can be measured.
SampleRun unsupported_as_expected() {
  SampleRun sample;
  for (const char* const name : {"op/a/dry/n:1", "op/a/dry/n:2"}) {
    sample.add_ended(name, Outcome::unsupported, "no cuFFT here");
    sample.run.context.planned.back().expected_outcome = "unsupported";
  }
  return sample;
}

TEST(Reports, ACaseThatWasNotMeasuredIsSkippedWithItsReasonInEveryForm) {
  const SampleRun sample = unsupported_as_expected();
  const auto verdicts = judge(sample.run, {});
  const std::string line = "2 cases: 0 pass, 2 skipped (2 unsupported), 0 fail; nothing was measured";
  EXPECT_EQ(headline(sample.run, verdicts), line);
  const std::string table = console_table(sample.run, verdicts);
  EXPECT_THAT(table, HasSubstr("–  skipped (unsupported)\n"));
  EXPECT_THAT(table, HasSubstr("\noperation/variant, 2 cases, first: op/a/dry/n:1: outcome: unsupported: no "
                               "cuFFT here (as the suite "
                               "expects)\n\n" +
                               line));
  const std::string xml = junit(sample.run, verdicts);
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"unsupported: no cuFFT here (as the suite expects)\" />"));
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(markdown(sample.run, verdicts), StartsWith("**Action needed.** " + line));
  EXPECT_THAT(markdown(sample.run, verdicts), HasSubstr("| skipped | – | – | – | – | unsupported: no cuFFT"));
  const auto json = nlohmann::json(verdicts_json(sample.run, verdicts));
  EXPECT_EQ(json.at("exit_code"), 4);
  EXPECT_EQ(json.at("headline"), line);
  EXPECT_EQ(json.at("verdicts").at(1).at("judgement"), "skipped");
  EXPECT_EQ(json.at("verdicts").at(1).at("reason"), "unsupported: no cuFFT here (as the suite expects)");
  EXPECT_TRUE(json.at("verdicts").at(0).at("reason").is_null());
}

TEST(Reports, AnExpectedOutcomeIsAsExpectedInEveryForm) {
  SampleRun sample;
  sample.add_ended("op/a/opencl/n:20", Outcome::out_of_memory, "8 GiB refused");
  sample.run.context.planned.back().expected_outcome = "out_of_memory";
  const auto verdicts = judge(sample.run, {});
  EXPECT_EQ(headline(sample.run, verdicts), "1 case: 0 pass, 1 as expected (1 out_of_memory), 0 fail");
  EXPECT_THAT(console_table(sample.run, verdicts), HasSubstr("–  as expected (out_of_memory)\n"));
  const std::string xml = junit(sample.run, verdicts);
  EXPECT_THAT(xml, HasSubstr("skipped=\"0\""));
  EXPECT_THAT(xml, Not(HasSubstr("<skipped")));
  EXPECT_THAT(xml,
              HasSubstr("<system-out>as expected: outcome: out_of_memory: 8 GiB refused\n</system-out>"));
  EXPECT_THAT(markdown(sample.run, verdicts), HasSubstr("| as expected | –"));
  const auto json = nlohmann::json(verdicts_json(sample.run, verdicts));
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_EQ(json.at("verdicts").at(1).at("judgement"), "as_expected");
}

TEST(Reports, JsonHasARowPerCaseTheWorstFirst) {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048);
  sample.add("op/b/opencl/n:20", 20, 3072, 20, 2048);
  sample.add_ended("op/c/opencl/n:20", Outcome::crashed, "signal SIGSEGV");
  const auto cases = nlohmann::json(verdicts_json(sample.run, judge(sample.run, {}))).at("cases");
  std::vector<std::string> rows;
  for (const auto& one : cases)
    rows.push_back(one.at("case").get<std::string>() + " " + one.at("judgement").get<std::string>());
  EXPECT_THAT(rows, testing::ElementsAre("op/c/opencl/n:20 failed_measurement", "op/b/opencl/n:20 fail",
                                         "op/a/opencl/n:20 pass"));
  EXPECT_EQ(cases.at(0).at("reason"), "crashed");
  EXPECT_THAT(cases.at(0).at("advice").at(0).get<std::string>(), HasSubstr("signal SIGSEGV"));
  EXPECT_EQ(cases.at(1).at("estimate_ratio"), 1.5);
  EXPECT_EQ(cases.at(1).at("reason"), "window_bytes");
  EXPECT_TRUE(cases.at(2).at("reason").is_null());
  EXPECT_TRUE(cases.at(2).at("advice").empty());
}

TEST(Reports, ACaseWithoutATimeWhoseBytesWereJudgedIsAPassedTest) {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048).message = "no time: 2 of 9 rounds";
  const std::string xml = junit(sample.run, judge(sample.run, {}));
  EXPECT_THAT(xml, Not(HasSubstr("<skipped")));
  EXPECT_THAT(xml, HasSubstr("<system-out>warning: outcome: no time: 2 of 9 rounds\n</system-out>"));
}

TEST(Reports, JunitHasTheCausesInTheFailuresOfTheirVariantAndOnceInTheSuite) {
  const SampleRun sample = mixed();
  const auto verdicts = judge(sample.run, {});
  const std::string cause = "missing: 4·n·ny when nx is odd, copy";
  const auto count = [&](const std::string& variant) {
    const std::string xml = junit(sample.run, verdicts, {}, {{variant, cause + "\n"}});
    std::size_t found = 0;
    for (std::size_t at = xml.find(cause); at != std::string::npos; at = xml.find(cause, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(sample.run.observations.front().variant), 2U);  // one case fails
  EXPECT_EQ(count("another/variant"), 1U);
}

TEST(Reports, ControlCharactersOfAProgramDoNotGoOn) {
  SampleRun sample;
  sample.add_ended("op/a/opencl/n:20", Outcome::crashed, "\x1b[31mred\x07 \xFF");
  const auto verdicts = judge(sample.run, {});
  EXPECT_THAT(markdown(sample.run, verdicts), HasSubstr("\\[31mred \uFFFD"));
  for (const std::string& text : {junit(sample.run, verdicts), console_table(sample.run, verdicts)}) {
    EXPECT_THAT(text, HasSubstr("\uFFFD[31mred\uFFFD \uFFFD"));
  }
  for (const std::string& text :
       {junit(sample.run, verdicts), markdown(sample.run, verdicts), console_table(sample.run, verdicts)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("&#")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
  }
}

TEST(Reports, TextOfAProgramIsPlainInTheHeadlineToo) {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048).message = "![\x1b[31mred](http://example.org)";
  const auto verdicts = judge(sample.run, {});
  EXPECT_THAT(headline(sample.run, verdicts), Not(HasSubstr("\x1b")));
  EXPECT_THAT(console_table(sample.run, verdicts), Not(HasSubstr("\x1b")));
  EXPECT_THAT(markdown(sample.run, verdicts), Not(HasSubstr("![")));
}

TEST(Reports, TimesThatDisagreeAreCountedAloud) {
  SampleRun sample;
  Observation& observation = sample.add("op/a/cuda/n:20", 20, 2048, 20, 2048);
  observation.gpu_time = GpuTime{1e6, 1e6, 1e6, {{1e6}}};
  observation.kernels = {{"pad", 1, 500'000}};
  const auto verdicts = judge(sample.run, {});
  EXPECT_EQ(headline(sample.run, verdicts), "1 case: 0 pass, 1 warning (1 times disagree), 0 fail");
  EXPECT_THAT(console_table(sample.run, verdicts), HasSubstr("pass (times disagree)"));
  EXPECT_THAT(junit(sample.run, verdicts), HasSubstr("name=\"kernel_time\" value=\"0.500000\""));
}

TEST(Reports, NotesOfCasesThatPassAreCountedAndPrintedOnce) {
  SampleRun sample;
  for (const char* const name : {"op/a/opencl/n:20", "op/a/opencl/n:30"}) {
    sample.add(name, 20, 2048, 20, 2048).message = "measured whole: the program marks 'Call'";
  }
  const auto verdicts = judge(sample.run, {});
  EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::clean);
  EXPECT_EQ(headline(sample.run, verdicts), "2 cases: 0 pass, 2 warnings (2 measured whole), 0 fail");
  const std::string table = console_table(sample.run, verdicts);
  EXPECT_THAT(table, HasSubstr("pass (measured whole)"));
  EXPECT_THAT(table, HasSubstr("op/a/opencl/n:20: outcome: measured whole: the program marks 'Call'\n"));
  EXPECT_THAT(table, Not(HasSubstr("op/a/opencl/n:30: outcome: ")));
  EXPECT_THAT(junit(sample.run, verdicts), Not(HasSubstr("<skipped")));
  EXPECT_THAT(markdown(sample.run, verdicts), HasSubstr("the program marks 'Call'"));
}

TEST(Reports, OfEqualRatiosTheLargestPeakIsTheWorst) {
  SampleRun sample;
  for (const Size bytes : {2000, 8000, 4000})
    sample.add(fmt::format("op/a/opencl/n:{}", bytes), 20, bytes, 20, bytes / 2);
  const auto verdicts = judge(sample.run, {});
  EXPECT_THAT(console_table(sample.run, verdicts), HasSubstr("3 cases, worst: op/a/opencl/n:8000: "));
  const std::string text = markdown(sample.run, verdicts);
  EXPECT_LT(text.find("n:8000"), text.find("n:4000"));
  EXPECT_LT(text.find("n:4000"), text.find("n:2000"));
}

TEST(Reports, AdviceWithOneCauseIsOneLineWithTheWorstCase) {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2100, 20, 2048);
  sample.add("op/a/opencl/n:30", 30, 4096, 30, 2048);
  sample.add("op/b/opencl/n:20", 20, 2100, 20, 2048);
  sample.run.context.planned.back().sweep_case.variant = "op/b";
  const std::string table = console_table(sample.run, judge(sample.run, {}));
  EXPECT_THAT(table, HasSubstr("\noperation/variant, 2 cases, worst: op/a/opencl/n:30: window_bytes of own: "
                               "estimate too low: 2,048 bytes, but 4,096 are needed"));
  EXPECT_THAT(table, HasSubstr("\nop/b/opencl/n:20: window_bytes of own: estimate too low"));
  EXPECT_THAT(table, Not(HasSubstr("op/a/opencl/n:20: window_bytes")));
}

TEST(Reports, TheTableShowsHowManyAllocationsAreTheLargestPartOfThePeak) {
  SampleRun sample;
  sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048).at_peak = {
      {"input", "buffer", 900}, {"", "buffer", 600}, {"", "buffer", 548}};
  EXPECT_THAT(console_table(sample.run, judge(sample.run, {})), HasSubstr("2 × buffer, largest 600 B"));
}

TEST(Reports, ConsoleTableShowsWhatIsKnownAndADashForWhatIsNot) {
  const SampleRun sample = mixed();
  const std::string table = console_table(sample.run, judge(sample.run, {}));
  EXPECT_THAT(
      table,
      HasSubstr("op/a/opencl/n:20      2 KiB    0 B  input 2 KiB      1.5 ms     –  20/20 1.000  pass\n"));
  EXPECT_THAT(table, HasSubstr("FAIL window_slices"));
  EXPECT_THAT(table, HasSubstr("ERROR outcome"));
  EXPECT_THAT(table, HasSubstr("op/c/opencl/n:20: outcome: crashed: SIGSEGV & <gone>\n"));
  EXPECT_THAT(table, HasSubstr("–  skipped (unsupported)\n"));
  EXPECT_THAT(table, HasSubstr("op/d/opencl/n:20: outcome: unsupported: no f64 | here\n"));
}

/// A case that moves 3 GB a second, cold, in a run whose copy moves 4.
SampleRun with_throughput() {
  SampleRun sample;
  sample.run.context.reference = {{}, {}, {1000}, {}, 4000};
  Observation& observation = sample.add("op/a/opencl/n:20", 20, 2048, 20, 2048);
  observation.gpu_time = GpuTime{1e6, 1e6, 1e6, {{1e6}}};
  observation.cache = cache_state::cold;
  observation.bytes_moved = 3'000'000;
  return sample;
}

TEST(Reports, ThroughputIsInEveryForm) {
  const SampleRun sample = with_throughput();
  const auto verdicts = judge(sample.run, {});
  EXPECT_THAT(console_table(sample.run, verdicts), HasSubstr("1 ms cold  3 (0.75)  20/20 1.000  pass\n"));
  EXPECT_THAT(markdown(sample.run, verdicts), HasSubstr("| 1 ms cold | 3 (0.75) |"));
  const auto times = nlohmann::json(verdicts_json(sample.run, verdicts)).at("times");
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].at("cache"), "cold");
  EXPECT_DOUBLE_EQ(times[0].at("throughput").at("bytes_per_second"), 3e9);
  EXPECT_DOUBLE_EQ(times[0].at("throughput").at("share_of_copy"), 0.75);
  EXPECT_TRUE(times[0].at("throughput").at("share_of_peak").is_null());
  EXPECT_TRUE(times[0].at("throttled_blocks").is_null());
}

TEST(Reports, TheTableFitsTheTerminal) {
  const SampleRun sample = with_throughput();
  const auto verdicts = judge(sample.run, {});
  const std::string wide = console_table(sample.run, verdicts);
  EXPECT_EQ(console_table(sample.run, verdicts, 100), wide);
  const std::string narrow = console_table(sample.run, verdicts, 60);
  EXPECT_LE(narrow.find('\n'), 60U);
  EXPECT_THAT(narrow, HasSubstr("GB/s"));
  EXPECT_THAT(narrow, Not(HasSubstr("top at the peak")));
  EXPECT_THAT(console_table(sample.run, verdicts, 20), Not(HasSubstr("GB/s")));
}

TEST(Reports, JunitIsXmlWithATestACase) {
  const SampleRun sample = mixed();
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit(sample.run, judge(sample.run, {})).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 5);
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_EQ(suite.attribute("errors").as_int(), 2);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
  const pugi::xml_node first = suite.child("testcase");
  EXPECT_STREQ(first.attribute("name").value(), "op/a/opencl/n:20");
  EXPECT_STREQ(first.attribute("classname").value(), "operation.variant");
  EXPECT_STREQ(first.attribute("time").value(), "0.001500000");
  EXPECT_STREQ(first.child("properties")
                   .find_child_by_attribute("name", "requested_peak_bytes")
                   .attribute("value")
                   .value(),
               "2048");
  EXPECT_TRUE(suite.find_child_by_attribute("name", "op/b/opencl/n:20").child("failure"));
  EXPECT_THAT(
      suite.find_child_by_attribute("name", "op/c/opencl/n:20").child("error").attribute("message").value(),
      HasSubstr("SIGSEGV & <gone>"));
  EXPECT_TRUE(suite.find_child_by_attribute("name", "op/d/opencl/n:20").child("skipped"));
}

TEST(Reports, MarkdownHasTheVerdictFirstAndTheWorstCaseOnTop) {
  const SampleRun sample = mixed();
  const std::string text = markdown(sample.run, judge(sample.run, {}));
  EXPECT_THAT(text, StartsWith("**Action needed.** 5 cases"));
  EXPECT_LT(text.find("op/c/"), text.find("op/b/"));
  EXPECT_LT(text.find("op/b/"), text.find("op/a/"));
  EXPECT_THAT(text, HasSubstr("no f64 \\| here"));
}

TEST(Reports, MarkdownHasTheWarningsOfTheRun) {
  SampleRun sample = mixed();
  EXPECT_THAT(markdown(sample.run, {}), Not(HasSubstr("Warnings")));
  sample.run.context.warnings = {"the load average is 3"};
  EXPECT_THAT(markdown(sample.run, {}), HasSubstr("\nWarnings of the run:\n\n- the load average is 3\n\n|"));
}

TEST(Reports, MarkdownOfDryNamesNoDriver) {
  SampleRun sample;
  sample.run.context.device = sample.run.context.backend = "dry";
  sample.run.context.driver = "";
  sample.add("op/a/dry/n:1", 1, 2048, 1, 2048);
  const std::string text = markdown(sample.run, judge(sample.run, {}));
  EXPECT_THAT(text, HasSubstr("Device: dry.\n"));
  EXPECT_THAT(text, HasSubstr("| `op/a/dry/n:1` | pass (granularity) | 2 KiB | – | – | 1.000 |  |"));
  EXPECT_THAT(markdown(mixed().run, {}), HasSubstr("Device: a device (opencl, driver 1.0).\n"));
}

TEST(Reports, TheTableExplainsGranularity) {
  SampleRun sample;
  sample.add("op/a/dry/n:1", 1, 2048, 1, 2048);
  const std::string note =
      "granularity: with fewer than 5 slices, only the bytes of an estimate are judged\n";
  EXPECT_THAT(console_table(sample.run, judge(sample.run, {})), HasSubstr(note));
  EXPECT_THAT(console_table(mixed().run, judge(mixed().run, {})), Not(HasSubstr("granularity:")));
}

TEST(Reports, TheEstimateOfACaseThatCannotBeIsNoError) {
  SampleRun sample;
  Observation& observation = sample.add_ended("op/a/opencl/n:20", Outcome::unsupported, "no f64 here");
  sample.run.context.planned.back().expected_outcome = "unsupported";
  observation.estimate.emplace().error = "no such dtype";
  const std::string text = console_table(sample.run, judge(sample.run, {}));
  EXPECT_THAT(text, HasSubstr("skipped (unsupported)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("error")));
}

TEST(Reports, MarkdownStaysUnderItsLimitAndReportsWhatItLeavesOut) {
  SampleRun sample;
  for (int i = 0; i < 20'000; ++i) sample.add(fmt::format("op/a/opencl/n:{}", i), 20, 2048, 20, 2048);
  const std::string text = markdown(sample.run, judge(sample.run, {}));
  EXPECT_LE(text.size(), kMarkdownLimit);
  EXPECT_THAT(text, StartsWith("**No action needed.** 20000 cases"));
  EXPECT_THAT(text, HasSubstr("more cases not shown"));
}

TEST(Reports, JsonHasNullsForWhatIsUnknown) {
  const SampleRun sample = mixed();
  const auto json = nlohmann::json(verdicts_json(sample.run, judge(sample.run, {})));
  EXPECT_EQ(json.at("exit_code"), 3);
  const auto& verdicts = json.at("verdicts");
  EXPECT_TRUE(verdicts.at(0).at("figure").is_null());
  EXPECT_EQ(verdicts.back().at("case"), "op/e/opencl/n:20");
  EXPECT_EQ(verdicts.back().at("judgement"), "failed_measurement");
}

}  // namespace
}  // namespace peakmark
