// The run file and its partial file when a run starts, fails or is judged.
#include <csignal>
#include <functional>

#include "base/text_file.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EarlierRun : public CommandTest {
 protected:
  /// Two cases measured and a third begun, when `signal` ends the run. Gives its last words.
  Answer end_within_the_third_case(
      int signal, const std::function<void()>& before = [] {}) {
    suite({"ok", "ok", "report_pid", "ok"});
    const std::string fifo = make_fifo();
    WorkerProcess supervisor(run_command());
    read_pid(fifo);
    wait_for_lines(3);  // the context and two observations
    before();
    ::kill(supervisor.pid(), signal);
    Answer answer = rest_of(supervisor);
    environment_.clear();
    return answer;
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
};

TEST_F(EarlierRun, SurvivesARunThatMeasuresNothing) {
  end_within_the_third_case(SIGKILL);
  const std::string before = read_text_file(partial_);

  environment_ = {"FAKE_WORKER=exit_5"};
  const Answer no_recorder = run();
  EXPECT_EQ(no_recorder.end.exit_code, 5);
  EXPECT_THAT(no_recorder.errors, AllOf(HasSubstr("--resume"), Not(HasSubstr("the results so far are in"))));
  EXPECT_EQ(read_text_file(partial_), before);
  environment_.clear();
  EXPECT_EQ(run({"--deadline", "0.001"}).end.exit_code, 4);
  EXPECT_EQ(read_text_file(partial_), before);

  const Answer resumed = run({"--resume"});
  EXPECT_EQ(resumed.end.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("2 cases are measured already"));
}

TEST_F(EarlierRun, IsKeptUnderAnotherNameForTheFirstNewObservation) {
  end_within_the_third_case(SIGKILL);
  const std::string before = read_text_file(partial_);
  const Answer again = run({"--filter", "n:2"});
  EXPECT_EQ(again.end.exit_code, 0);
  EXPECT_THAT(again.errors, HasSubstr("run.json.partial"));
  EXPECT_LT(again.errors.find("run.json.partial"), again.errors.find("1 case: 1 ok")) << "said after";
  EXPECT_FALSE(std::filesystem::exists(partial_));
  EXPECT_EQ(read_text_file(partial_.string() + ".1"), before);
  EXPECT_THAT(again.errors, HasSubstr("kept as run.json.partial.1"));
  EXPECT_THAT(outcomes(), ElementsAre("ok"));
}

TEST_F(EarlierRun, NoOtherFileIsReplaced) {
  const std::string path = suite({"ok"});
  const std::string before = read_text_file(path);
  const Answer answer = peakmark({"run", path, "--worker", PEAKMARK_FAKE_WORKER, "-o", path});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(StartsWith("peakmark: " + path + ": is not a run file of peakmark"),
                                   HasSubstr("choose another file")));
  EXPECT_EQ(read_text_file(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));

  ASSERT_EQ(run().end.exit_code, 0);
  const Answer merged = peakmark({"merge", run_file_.string(), "-o", path});
  EXPECT_EQ(merged.end.exit_code, 2);
  EXPECT_EQ(read_text_file(path), before);
}

TEST_F(EarlierRun, WhatCannotBecomeARunFileStaysToBeResumed) {
  const auto put_a_folder_there = [&] { std::filesystem::create_directory(run_file_); };
  const Answer answer = end_within_the_third_case(SIGINT, put_a_folder_there);
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("the results so far are in " + partial_.string()));
  std::filesystem::remove(run_file_);
  EXPECT_EQ(run({"--resume"}).end.exit_code, 0);
  EXPECT_THAT(outcomes(), ElementsAre("ok", "ok", "ok", "ok"));
}

TEST_F(EarlierRun, IsNotJudgedInSilence) {
  suite({"ok", "ok", "report_pid", "ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  EXPECT_EQ(peakmark({"check", run_file_.string()}).errors, "");
  end_within_the_third_case(SIGKILL);
  EXPECT_EQ(peakmark({"check", run_file_.string()}).end.exit_code, 2);
  std::filesystem::rename(path("run.json.previous"), run_file_);  // a user restores it
  const Answer answer = peakmark({"check", run_file_.string(), "--markdown", path("check.md")});
  const auto warning = AllOf(HasSubstr("run.json.partial"), HasSubstr("--resume"));
  EXPECT_THAT(answer.errors, warning);
  EXPECT_THAT(read_text_file(path("check.md")), warning);
}

// A CI job does the same with `if: always()`.
TEST_F(EarlierRun, IsNotTakenForTheResultOfARunThatFails) {
  suite({"ok", "ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  const std::string measured = read_text_file(run_file_);
  const std::string previous = path("run.json.previous");
  const auto is_kept_aside = [&](const Answer& answer, int code) {
    EXPECT_EQ(answer.end.exit_code, code) << answer.errors;
    EXPECT_EQ(answer.output, "") << "with --json too";
    EXPECT_FALSE(std::filesystem::exists(run_file_));
    EXPECT_EQ(read_text_file(previous), measured) << "nothing measured is lost";
    const Answer check = peakmark({"check", run_file_.string(), "--junit", path("junit.xml")});
    EXPECT_EQ(check.end.exit_code, 2);
    EXPECT_THAT(check.errors,
                AllOf(HasSubstr(run_file_.string()), HasSubstr("the run before is in " + previous)));
    EXPECT_FALSE(std::filesystem::exists(path("junit.xml")));
    std::filesystem::rename(previous, run_file_);
  };
  is_kept_aside(run({"--deadline", "0.001", "--json"}), 4);
  is_kept_aside(run({"--require", "cuda"}), 4);
  is_kept_aside(run({"--filter", "no such case"}), 2);
  environment_ = {"FAKE_WORKER=exit_5"};
  is_kept_aside(run(), 5);
  environment_.clear();
  is_kept_aside(peakmark({"merge", path("none.json"), "-o", run_file_.string()}), 2);

  EXPECT_EQ(run({"--require", "cuda"}).end.exit_code, 4);
  EXPECT_THAT(run({"--resume"}).errors, HasSubstr("is complete: nothing to resume"));
  EXPECT_EQ(read_text_file(run_file_), measured) << "--resume takes it back";

  EXPECT_EQ(run({"--no-such-option"}).end.exit_code, 2);
  EXPECT_EQ(read_text_file(run_file_), measured) << "the arguments were not understood";
  EXPECT_EQ(run({"--resume", "--require", "cuda"}).end.exit_code, 4);
  EXPECT_EQ(read_text_file(run_file_), measured) << "it is what is resumed";
  EXPECT_EQ(run().end.exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(previous));
}

TEST_F(EarlierRun, StaysIfTheCommandLineNamesAVariantOrAnAxisThatDoesNotExist) {
  suite({"ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  const std::string measured = read_text_file(run_file_);
  for (const std::string word : {"fake/no_such", "--axis=no_such=3"}) {
    const Answer answer = run({word});
    EXPECT_EQ(answer.end.exit_code, 2) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr("no_such"));
    EXPECT_EQ(read_text_file(run_file_), measured) << word;
    EXPECT_FALSE(std::filesystem::exists(path("run.json.previous")));
  }
}

TEST_F(EarlierRun, ALinkedRunFileIsSetAsideBesideItsTarget) {
  suite({"ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  std::filesystem::create_directory(path("kept"));
  std::filesystem::rename(run_file_, path("kept/run.json"));
  std::filesystem::create_symlink("kept/run.json", run_file_);
  EXPECT_EQ(run({"--require", "cuda"}).end.exit_code, 4);
  EXPECT_FALSE(std::filesystem::exists(run_file_));
  EXPECT_TRUE(std::filesystem::exists(path("kept/run.json.previous")));
}

TEST_F(EarlierRun, ThatIsUnfinishedIsNamedWhereTheRunFileIsMissing) {
  end_within_the_third_case(SIGKILL);
  const Answer answer = peakmark({"check", run_file_.string()});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors,
              AllOf(HasSubstr("cannot open"), HasSubstr("run.json.partial"), HasSubstr("--resume")));
}

TEST_F(EarlierRun, NothingMeasuredIsTheSameToRunAndCheck) {
  suite({"out_of_memory", "out_of_memory"});
  EXPECT_EQ(run().end.exit_code, 4);
  EXPECT_EQ(peakmark({"check", run_file_.string()}).end.exit_code, 4);
  suite({"out_of_memory", "ok"});
  EXPECT_EQ(run().end.exit_code, 0);
  suite({"out_of_memory"}, "expect = \"out_of_memory\"\n");
  EXPECT_EQ(run().end.exit_code, 0);
}

}  // namespace
}  // namespace peakmark
