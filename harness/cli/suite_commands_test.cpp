// Tests of the commands that go with `run`: list, merge and estimate.
#include "base/text_file.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SuiteCommands : public CommandTest {
 protected:
  Answer with_worker(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--worker", PEAKMARK_FAKE_WORKER});
    return peakmark(std::move(arguments));
  }
};

TEST_F(SuiteCommands, ListNamesTheCases) {
  const std::string path = suite({"ok", "abort"});
  const Answer answer = with_worker({"list", path});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(answer.output, "fake/case/dry\nfake/case/dry/does:abort/n:2\n");
  EXPECT_EQ(with_worker({"list", path, "--filter", "abort"}).output, "fake/case/dry/does:abort/n:2\n");
  EXPECT_EQ(with_worker({"list", path, "--shard", "1/2"}).output, "fake/case/dry\n");
}

TEST_F(SuiteCommands, ListPrintsFullNamesAndFiltersSeeThem) {
  const std::string path = suite({"ok", "abort"});
  const Answer answer = with_worker({"list", path, "--full-names"});
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("fake/case/dry/does:ok/n:1"), HasSubstr("fake/case/dry/does:abort/n:2")));
  EXPECT_EQ(with_worker({"list", path, "--filter", "does:ok"}).output, "fake/case/dry\n");
}

TEST_F(SuiteCommands, ListAsJson) {
  const Answer answer = with_worker({"list", suite({"ok", "abort"}), "--json"});
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("\"suite\": \"fake\""), HasSubstr("\"expected_outcome\": \"ok\""),
                    HasSubstr("\"does\": \"abort\"")));
}

TEST_F(SuiteCommands, ACaseThatCannotBeIsAMistakeOfTheSuite) {
  environment_ = {"FAKE_WORKER_CHECKS=1"};
  const std::string path = suite({"ok", "overflow"});
  const auto mistake =
      HasSubstr(path + ":2: sweep: gives the case fake/case/dry/does:overflow/n:2: n * 4 does");
  const Answer list = with_worker({"list", path});
  EXPECT_EQ(list.end.exit_code, 2);
  EXPECT_THAT(list.errors, mistake);
  const Answer run = with_worker({"run", path, "-o", run_file_.string(), "--filter", "n:1"});
  EXPECT_EQ(run.end.exit_code, 2);
  EXPECT_THAT(run.errors, mistake);
  EXPECT_FALSE(std::filesystem::exists(partial_));
  EXPECT_EQ(with_worker({"list", suite({"ok", "ok"})}).end.exit_code, 0);
}

TEST_F(SuiteCommands, ListWithoutALoaderLeavesTheBackendOpen) {
  const std::filesystem::path path = folder_.path() / "open.toml";
  std::ofstream(path) << "[[sweep]]\nvariants = \"fake/case\"\naxes.n = [2]\n";
  // There is no OpenCL vendor and no visible GPU, as on a machine without devices.
  environment_ = {"OCL_ICD_VENDORS=" + folder_.path().string(), "CUDA_VISIBLE_DEVICES="};
  const Answer answer = with_worker({"list", path.string()});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(answer.output, "fake/case/auto/n:2\n");
  const Answer run = with_worker({"run", path.string(), "-o", run_file_.string()});
  EXPECT_EQ(run.end.exit_code, 4) << run.errors;
}

TEST_F(SuiteCommands, MergeMakesOneRunOfItsShards) {
  suite({"ok", "ok", "ok"});
  const std::string one = folder_.path() / "1.json";
  const std::string two = folder_.path() / "2.json";
  const std::string all = folder_.path() / "all.json";
  const std::string path = folder_.path() / "suite.toml";
  EXPECT_EQ(with_worker({"run", path, "--shard", "1/2", "-o", one}).end.exit_code, 0);
  EXPECT_EQ(with_worker({"run", path, "--shard", "2/2", "-o", two}).end.exit_code, 0);
  const Answer over_a_shard = peakmark({"merge", two, one, "-o", folder_.path() / "." / "2.json"});
  EXPECT_EQ(over_a_shard.end.exit_code, 2);
  EXPECT_THAT(over_a_shard.errors, HasSubstr("2.json: is one of the shards and would be overwritten"));
  EXPECT_EQ(peakmark({"merge", two, one, "-o", all}).end.exit_code, 0);
  const peakmark::Run merged = read_run(all);
  ASSERT_EQ(merged.observations.size(), 3u);
  EXPECT_EQ(merged.observations[1].axes.integer("n"), 2);
  const Answer gap = peakmark({"merge", two, "-o", all});
  EXPECT_EQ(gap.end.exit_code, 3);
  EXPECT_THAT(gap.errors, AllOf(HasSubstr("1 case of 1 shard; "),
                                HasSubstr("partial: shard 1 of 2 is missing (2 cases: fake/case/")));
  EXPECT_EQ(read_run(all).observations.size(), 1u);
  const Answer check = peakmark({"check", all});
  EXPECT_EQ(check.end.exit_code, 3);
  EXPECT_THAT(check.output,
              AllOf(HasSubstr("shard 1 of 2 is missing (2 cases: "), HasSubstr("cases are lost")));
  EXPECT_THAT(read_text_file(all), HasSubstr("\"lost_cases\": ["));
  std::ofstream(one, std::ios::trunc) << "{";
  const Answer damaged = peakmark({"merge", one, two, "-o", all});
  EXPECT_EQ(damaged.end.exit_code, 3);
  EXPECT_THAT(damaged.errors, HasSubstr("; its shard counts as missing\n"));
  const Answer none = peakmark({"merge", one, "-o", all});
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("nothing to merge"));
  EXPECT_FALSE(std::filesystem::exists(all)) << "the earlier run is not the result of a refused merge";
  EXPECT_EQ(read_run(all + ".previous").observations.size(), 1u) << "and is not lost";
}

TEST_F(SuiteCommands, MergeWarnsOfAClockThatIsAhead) {
  const std::string path = suite({"ok", "ok"});
  const std::string one = folder_.path() / "1.json";
  const std::string two = folder_.path() / "2.json";
  const std::string all = folder_.path() / "all.json";
  EXPECT_EQ(with_worker({"run", path, "--shard", "1/2", "-o", one}).end.exit_code, 0);
  EXPECT_EQ(with_worker({"run", path, "--shard", "2/2", "-o", two}).end.exit_code, 0);
  peakmark::Run ahead = read_run(two);
  ahead.context.date = "2099-01-31T02:00:00Z";
  write_run(ahead, two);
  const Answer merged = peakmark({"merge", one, two, "-o", all});
  EXPECT_EQ(merged.end.exit_code, 0);
  EXPECT_THAT(merged.errors, HasSubstr("2.json: measured at 2099-01-31T02:00:00Z, and now it is"));
  EXPECT_THAT(read_run(all).context.warnings, testing::Contains(HasSubstr("the clocks of the two machines")));
}

// A job in a CI matrix of shards does not fail because the cases of its shard cannot run there; the merged
// run has the verdict.
TEST_F(SuiteCommands, AShardWithoutAMeasurementIsHarmlessAndTheMergedRunIsJudged) {
  const auto run_shard = [&](const std::string& path, int index) {
    const std::string file = folder_.path() / (std::to_string(index) + ".json");
    const Answer answer = with_worker({"run", path, "--shard", std::to_string(index) + "/3", "-o", file});
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    const Answer check = peakmark({"check", file});
    EXPECT_EQ(check.end.exit_code, 0) << check.output << check.errors;
    return answer.errors;
  };
  const auto merge = [&] {
    const auto file = [&](const char* name) { return (folder_.path() / name).string(); };
    return peakmark({"merge", file("1.json"), file("2.json"), file("3.json"), "-o", file("all.json")});
  };
  std::string path = suite({"ok", "out_of_memory"});
  run_shard(path, 1);
  EXPECT_THAT(run_shard(path, 2), HasSubstr("nothing was measured in this shard: every case was skipped"));
  EXPECT_THAT(run_shard(path, 3),
              HasSubstr("no case is left for this shard: there are fewer cases than shards"));
  EXPECT_EQ(merge().end.exit_code, 0);
  EXPECT_EQ(peakmark({"check", folder_.path() / "all.json"}).end.exit_code, 0);
  EXPECT_EQ(read_run(folder_.path() / "all.json").observations.size(), 2U);

  path = suite({"out_of_memory", "out_of_memory"});
  for (const int index : {1, 2, 3}) run_shard(path, index);
  const Answer merged = merge();
  EXPECT_EQ(merged.end.exit_code, 4);
  EXPECT_THAT(merged.errors, HasSubstr("nothing was measured: every case was skipped"));
  EXPECT_EQ(peakmark({"check", folder_.path() / "all.json"}).end.exit_code, 4);
}

TEST_F(SuiteCommands, ShowOfARunReportsWhatBecameOfItsCases) {
  const std::string path = suite({"ok", "exit_3"});
  EXPECT_EQ(with_worker({"run", path, "-o", run_file_.string()}).end.exit_code, 3);
  const Answer shown = peakmark({"show", run_file_.string()});
  EXPECT_EQ(shown.end.exit_code, 0) << shown.errors;
  EXPECT_THAT(shown.output,
              AllOf(HasSubstr("fake/case/dry  ok  peak "),
                    HasSubstr("  crashed  peak unknown\n  the worker ended in the middle of the case")));
}

TEST_F(SuiteCommands, EstimateNamesItsTerms) {
  const Answer answer = with_worker({"estimate", "fake/case", "n=3", "--available", "14450"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("slices along n: 9"), HasSubstr("(14400 B)"),
                                   HasSubstr("  input              800         7200\n")));
  EXPECT_THAT(with_worker({"estimate", "fake/case", "n=3", "--json"}).output,
              AllOf(HasSubstr("\"per_slice_bytes\": 800"), HasSubstr("\"available_bytes\": null")));
}

TEST_F(SuiteCommands, EstimateReportsWhatIsWrong) {
  const Answer unlucky = with_worker({"estimate", "fake/case", "n=13"});
  EXPECT_EQ(unlucky.end.exit_code, 2);
  EXPECT_THAT(unlucky.errors, HasSubstr("unlucky"));
  EXPECT_EQ(with_worker({"estimate", "fake/cas"}).end.exit_code, 2);
  EXPECT_EQ(with_worker({"estimate", "fake/case", "m=1"}).end.exit_code, 2);
  EXPECT_EQ(with_worker({"estimate", "fake/case", "--available", "much"}).end.exit_code, 2);
  for (const char* const slices : {"0", "-1", "two", "1e30"}) {
    const Answer answer = peakmark({"estimate", "command:true", "--dimensions", "1,1", "--slices", slices});
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors,
                HasSubstr(std::string("'") + slices + "' is not a count: write a whole number"));
    EXPECT_LT(answer.errors.size(), 200U);
  }
}

}  // namespace
}  // namespace peakmark
