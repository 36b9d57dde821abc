// Tests of `record --repeat N`, `record --json`, and `compare` with their profiles.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/record_command_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

class RecordRepeat : public RecordCommand {
 protected:
  Result compare(const std::string& arguments) const {
    const std::string line =
        PEAKMARK_COMMAND " compare " + arguments + " >" + file("out") + " 2>" + file("err");
    const int status = std::system(line.c_str());
    return {WEXITSTATUS(status), text(file("out")), text(file("err"))};
  }
};

TEST_F(RecordRepeat, PeaksThatAgree) {
  const Result result = record("--repeat 3 -- $PROGRAM leak");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "said by the program\nsaid by the program\nsaid by the program\n");
  EXPECT_THAT(result.err, HasSubstr("3 of 3 runs recorded; the peaks agree: 1000 B"));
  for (const char* const run : {".run1", ".run2", ".run3"})
    EXPECT_EQ(recorded(profile() + run).peak_bytes, 1000);
  // No runs of the earlier recording are left over.
  EXPECT_EQ(record("--repeat 2 -- $PROGRAM leak").code, 0);
  EXPECT_FALSE(std::filesystem::exists(profile() + ".run3"));
}

TEST_F(RecordRepeat, AllocationsThatMovedAreReported) {
  const Result result = record("--repeat 3 --json -- $PROGRAM grows " + file("runs"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the peaks differ"));
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["peaks_agree"], false);
  EXPECT_EQ(json["min_bytes"], 1000);
  EXPECT_EQ(json["max_bytes"], 3000);
  ASSERT_EQ(json["moved"].size(), 1U);
  EXPECT_EQ(json["moved"][0]["bytes"], 1000);
  EXPECT_EQ(json["moved"][0]["counts"], nlohmann::json({1, 2, 3}));

  const Result grown = compare(profile() + ".run1 " + profile() + ".run2");
  EXPECT_EQ(grown.code, 1) << grown.err;
  EXPECT_THAT(grown.out, HasSubstr("the peak grew by 1000 B"));
  EXPECT_EQ(compare(profile() + ".run2 " + profile() + ".run1").code, 0);
  const Result same = compare("--json " + profile() + ".run2 " + profile() + ".run2");
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(nlohmann::json::parse(same.out)["cases"][0]["verdict"], "same");
}

TEST_F(RecordRepeat, AProgramThatWasKilledIsNoProofThatThePeakDidNotGrow) {
  EXPECT_EQ(record("-- $PROGRAM leak").code, 0);
  std::filesystem::rename(profile(), file("base"));
  EXPECT_EQ(record("-- $PROGRAM killed").code, 137);
  const Result shrunk = compare(file("base") + " " + profile());
  EXPECT_EQ(shrunk.code, 5);
  EXPECT_THAT(shrunk.out, HasSubstr("the peak shrank by 900 B"));
  EXPECT_THAT(shrunk.err, HasSubstr("the program was killed"));
  EXPECT_EQ(compare(profile() + " " + file("base")).code, 5);
}

/// The killed run is the last one. What it held until then says nothing about the other runs.
TEST_F(RecordRepeat, ARunThatWasKilledIsNotCompared) {
  const std::string twice = "n=$(cat " + file("runs") + " | wc -c); printf x >>" + file("runs") +
                            "; test $n -lt 2 && exec $PROGRAM leak; exec $PROGRAM killed";
  std::ofstream(file("runs")) << "";
  const Result direct =
      record("--repeat 5 --json -- sh -c '" + twice + "'", "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";");
  EXPECT_EQ(direct.code, 137);
  EXPECT_THAT(direct.err, testing::AllOf(HasSubstr("2 of 3 runs recorded; the peaks agree: 1000 B"),
                                         HasSubstr("run 3 ended early, its peak is not compared: "
                                                   "signal 9 (Killed)")));
  const auto json = nlohmann::json::parse(direct.out);
  EXPECT_EQ(json["peaks_agree"], true);
  EXPECT_EQ(json["runs"][2]["requested_peak_bytes"], 100);
  EXPECT_EQ(json["runs"][2]["error"], "signal 9 (Killed)");
  // A shell that waits for it reports the signal in its exit code.
  const Result by_shell = record("--repeat 2 -- sh -c '$PROGRAM killed; exit $?'",
                                 "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";");
  EXPECT_EQ(by_shell.code, 137);
  EXPECT_THAT(by_shell.err, testing::AllOf(HasSubstr("0 of 1 run recorded: too few"),
                                           HasSubstr("run 1 ended early, its peak is not compared")));
}

TEST_F(RecordRepeat, TheFirstCodeThatIsNotZero) {
  const Result result = record("--repeat 2 --json -- sh -c '$PROGRAM exit 0; test -e " + file("mark") +
                                   " && exit 7; touch " + file("mark") + "; echo kept >&1; exit 6'",
                               "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";");
  EXPECT_EQ(result.code, 6);
  const auto json = nlohmann::json::parse(result.out);  // the program's own output is not in it
  EXPECT_EQ(json["runs"][0]["exit_code"], 6);
  EXPECT_EQ(json["runs"][1]["exit_code"], 7);
  EXPECT_THAT(result.err, HasSubstr("kept"));
}

TEST_F(RecordRepeat, WithoutARecorderThereIsNothingToCompare) {
  const Result result = record("--repeat 2 --json -- true");
  EXPECT_EQ(result.code, 5);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_TRUE(json["peaks_agree"].is_null());
  EXPECT_TRUE(json["runs"][1]["requested_peak_bytes"].is_null());
}

TEST_F(RecordRepeat, AProgramThatIsNotThereIsTriedOnce) {
  const Result result = record("--repeat 5 -- no-such-program");
  EXPECT_EQ(result.code, 127);
  EXPECT_THAT(result.err, HasSubstr("0 of 1 run recorded"));
}

TEST_F(RecordRepeat, CompareRefusesWhatIsNoProfile) {
  std::ofstream(file("run.json")) << "{\n}";
  std::ofstream(file("letter")) << "a letter";
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  EXPECT_THAT(compare(file("run.json") + " " + profile()).err, HasSubstr("is a run file and"));
  EXPECT_EQ(compare(file("run.json") + " " + profile()).code, 2);
  EXPECT_EQ(compare(profile() + " " + file("letter")).code, 2);
  EXPECT_EQ(compare(profile() + " " + file("nothing")).code, 2);
  EXPECT_EQ(compare(profile()).code, 2);
}

}  // namespace
}  // namespace peakmark
