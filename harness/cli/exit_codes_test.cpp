// Exit codes and messages for each class of errors (base/error.hpp).
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class ExitCodes : public CommandTest {
 protected:
  /// Returns the last line that was printed: `peakmark: MESSAGE`.
  static std::string message(const Answer& answer) {
    std::string text = answer.errors;
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
  Answer run_with_worker_that(const char* does) {
    suite({"ok"});
    environment_ = {std::string("FAKE_WORKER=") + does};
    return run();
  }
  std::string file(const char* name) const { return (folder_.path() / name).string(); }
};

TEST_F(ExitCodes, AMissingSuiteIsTheUsersMistake) {
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_EQ(message(answer),
            "peakmark: cannot read suite '" + file("suite.toml") + "': check that it exists");
}

TEST_F(ExitCodes, AMissingFileIsNamedWithItsReason) {
  const Answer answer = peakmark({"check", file("absent.json")});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_EQ(message(answer),
            "peakmark: " + file("absent.json") + ": cannot open: No such file or directory; check the path");
}

TEST_F(ExitCodes, AnOutputThatCannotBeWrittenIsNamedWithItsReason) {
  suite({"ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  const Answer no_folder = peakmark({"check", run_file_, "--junit", file("absent/junit.xml")});
  EXPECT_EQ(no_folder.end.exit_code, 2);
  EXPECT_EQ(message(no_folder), "peakmark: " + file("absent/junit.xml") +
                                    ": cannot be written: No such file or directory; check the path");
  const Answer full = peakmark({"check", run_file_, "--junit", "/dev/full"});
  EXPECT_EQ(full.end.exit_code, 2);
  EXPECT_EQ(
      message(full),
      "peakmark: /dev/full: cannot be written: No space left on device; free space there, or name another "
      "place");
}

TEST_F(ExitCodes, AProgramThatIsNotInstalledIsNamed) {
  environment_ = {"PEAKMARK_PYTHON=/no/such/python"};
  const Answer answer = peakmark({"report", "--history", file("h.db"), "-o", file("report")});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(message(answer), AllOf(StartsWith("peakmark: /no/such/python"), HasSubstr("install it")));
}

TEST_F(ExitCodes, AWorkerOfAnotherProtocolIsRefused) {
  const Answer answer = run_with_worker_that("other_protocol");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(message(answer), AllOf(HasSubstr("speaks version 99 of the protocol"),
                                     EndsWith("build both from the same sources")));
}

TEST_F(ExitCodes, AMalformedLineOfAWorkerFailsItsCase) {
  suite({"ok", "other_case", "ok"});
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 3);
  EXPECT_THAT(outcomes(), ElementsAre("ok", "crashed", "ok"));
  EXPECT_THAT(read_run(run_file_).observations.at(1).message,
              HasSubstr("it reports the case another, which it has not started"));
}

TEST_F(ExitCodes, AMissingDeviceIsNothingMeasured) {
  const Answer answer = run_with_worker_that("exit_4");
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(message(answer), HasSubstr("ended before its first case: exit code 4"));
  environment_.clear();
  const Answer unknown = run({"--device", "97"});
  EXPECT_EQ(unknown.end.exit_code, 4);
  EXPECT_THAT(unknown.errors,
              AllOf(HasSubstr("peakmark: no device has the index 97"), HasSubstr("dry 0: dry")));
}

TEST_F(ExitCodes, AMissingRecorderHasACodeOfItsOwn) {
  EXPECT_EQ(run_with_worker_that("exit_5").end.exit_code, 5);
}

TEST_F(ExitCodes, ADatabaseThatIsNoneIsTheUsersMistake) {
#ifdef PEAKMARK_HAS_HISTORY
  std::ofstream(file("h.db")) << "no database";
  const Answer answer = peakmark({"history", "log", "--history", file("h.db")});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(message(answer), HasSubstr("h.db: not a history: not an SQLite file"));
#else
  const Answer answer = peakmark({"history", "log", "--history", file("h.db")});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(message(answer), HasSubstr("built without histories"));
#endif
}

}  // namespace
}  // namespace peakmark
