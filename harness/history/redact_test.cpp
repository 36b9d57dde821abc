#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "history/sample_runs.hpp"
#include "history/test_databases.hpp"

namespace peakmark::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class HistoryRedact : public OnBothDatabases {
 protected:
  /// Two runs that differ in the path of a message only, as an earlier version and other machines wrote
  /// them.
  void SetUp() override {
    OnBothDatabases::SetUp();
    if (IsSkipped()) return;
    for (int day = 1; day <= 2; ++day) {
      SampleHistoryRun sample = sample_history_run(day);
      sample.run.context.host_name = "planted-host";
      sample.run.observations[0].message =
          day == 1 ? "no /home/planted-ada/x.py" : "no /home/planted-bob/x.py";
      runs_.push_back(sample.run);
      open().add(sample.run);
    }
    execute(
        "UPDATE runs SET context = replace(context, '\"kernel\":\"Linux\"', "
        "'\"NVIDIA_API_KEY\":\"nvapi-planted\",\"kernel\":\"Linux\"');\n"
        "UPDATE runs SET digest = 'of the file with its variables'");
    open().add_acceptance({"op/a/opencl", "", "night-01", "planted-ada", "2026-01-02T00:00:00Z",
                           "planted-host: seen by planted-ada"});
  }

  std::vector<peakmark::Run> runs_;
};

TEST_P(HistoryRedact, RemovesWhatIsPrivateAndKeepsTheRest) {
  EXPECT_EQ(open().redact({}), 2);
  EXPECT_EQ(open().redact({}), 0);
  EXPECT_THAT(ids_of(open()), ElementsAre("night-01", "night-02"));
  for (const peakmark::Run& before : runs_) {
    const peakmark::Run after = open().run(before.context.id);
    EXPECT_EQ(after.context.host_name, "");
    EXPECT_EQ(after.context.environment, before.context.environment);
    EXPECT_EQ(after.observations[0].message, "no x.py");
    EXPECT_EQ(after.observations[0].requested_peak_bytes, before.observations[0].requested_peak_bytes);
    EXPECT_EQ(after.observations[0].gpu_time->median_ns, before.observations[0].gpu_time->median_ns);
  }
  for (const LoggedRun& run : open().log()) EXPECT_EQ(run.host_name, "");
  const trend::Acceptance acceptance = open().acceptances().at(0);
  EXPECT_EQ(acceptance.who, "");
  EXPECT_EQ(acceptance.reason, "HOST: seen by USER");
  if (is_postgresql()) return;
  std::stringstream bytes;
  bytes << std::ifstream(address_, std::ios::binary).rdbuf();
  EXPECT_THAT(bytes.str(), Not(HasSubstr("planted"))) << "also in free pages";
}

TEST_P(HistoryRedact, RemovesNamesFromBranches) {
  PrivateTexts texts;
  texts.words = {{"planted-ada", "USER"}};
  open().add(sample_history_run(3).run, {"planted-ada-main", "planted-ada-main", {}});
  open().add(sample_history_run(4).run, {"planted-ada/topic", "planted-ada-main", {"c-night-03"}});
  open().redact(texts);
  EXPECT_EQ(open().log().at(3).branch, "USER/topic");
  EXPECT_EQ(open().log().at(2).branch, open().settings().base_branch);
  EXPECT_EQ(open().read().at(0).runs.size(), 3U) << "the base branch is the base branch still";
}

TEST_P(HistoryRedact, RemovesNamesFromCommits) {
  PrivateTexts texts;
  texts.words = {{"planted-ada", "USER"}};
  RunOrigin origin{"main", "main", {}};
  origin.commit = {"Pad rows for planted-ada", "planted-ada", 7};
  open().add(sample_history_run(3).run, origin);
  const auto commit_text = [&] { return open().read().at(0).runs.at(2).commit_text; };
  EXPECT_EQ(commit_text().subject, "Pad rows for planted-ada");
  EXPECT_EQ(commit_text().author, "planted-ada");
  EXPECT_EQ(open().read().at(0).runs.at(1).commit_text.number, std::nullopt);
  open().redact(texts);
  EXPECT_EQ(commit_text().subject, "Pad rows for USER");
  EXPECT_EQ(commit_text().author, "");
  EXPECT_EQ(commit_text().number, 7);
}

TEST_P(HistoryRedact, TheSameRunIsThereBeforeAndAfter) {
  // Its variables are no longer read.
  EXPECT_TRUE(open().add(runs_[0]).was_there);
  open().redact({});
  EXPECT_TRUE(open().add(runs_[0]).was_there);
}

INSTANTIATE_TEST_SUITE_P(, HistoryRedact, testing::Values(Address::Kind::sqlite, Address::Kind::postgresql),
                         kind_name);

}  // namespace
}  // namespace peakmark::history
