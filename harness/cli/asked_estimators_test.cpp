// External estimators of a run are asked after all measurements, so their failures lose no measurement.
#include <csignal>

#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class AskedEstimators : public CommandTest {
 protected:
  AskedEstimators() { environment_.push_back("ESTIMATOR_FIFO=" + make_fifo_of_estimator()); }

  /// Writes a suite with three cases and an estimator: a script whose output is the answer.
  void suite_with(const std::string& script) const {
    const auto file = folder_.path() / "estimate";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    const auto path = suite({"ok", "ok", "ok"}, "estimators = [\"mine\"]\n");
    std::ofstream(path, std::ios::app) << "[[estimator]]\nname = \"mine\"\ncall = \"command:./estimate\"\n"
                                          "other_dimensions = [10, 20]\n";
  }
  std::vector<std::string> errors() const {
    std::vector<std::string> errors;
    for (const Observation& observation : read_run(run_file_).observations) {
      EXPECT_EQ(observation.other_estimates.size(), 1U);
      for (const auto& one : observation.other_estimates) errors.push_back(one.error.value_or("none"));
    }
    return errors;
  }
  /// Answers the first question and waits for ever at the second. The test learns of the second question
  /// through the FIFO.
  static constexpr const char* kHangsAtTheSecond =
      "cd \"$(dirname \"$0\")\"; mkdir first 2>/dev/null && echo '{\"slices\": 1, \"bytes\": 7}' && exit\n"
      "echo $$ > \"$ESTIMATOR_FIFO\"; exec tail -f /dev/null";
  static constexpr const char* kAnswers = "echo '{\"slices\": 1, \"bytes\": 7}'";

  std::string fifo_;

 private:
  std::string make_fifo_of_estimator() {
    fifo_ = folder_.path() / "asked";
    EXPECT_EQ(::mkfifo(fifo_.c_str(), 0600), 0);
    return fifo_;
  }
};

TEST_F(AskedEstimators, WhenAllIsMeasured) {
  suite_with(
      "lines=$(grep -c requested_peak_bytes \"$(dirname \"$0\")/run.json.partial\")\n"
      "echo \"{\\\"slices\\\": 1, \\\"bytes\\\": $lines}\"");
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("the suite's estimators are asked about 3 cases"));
  std::vector<Size> measured_before;
  for (const Observation& observation : read_run(run_file_).observations) {
    measured_before.push_back(observation.other_estimates.at(0).bytes_estimated.value_or(0));
  }
  EXPECT_THAT(measured_before, ElementsAre(3, 4, 5));  // an answer is a line more
  EXPECT_TRUE(read_run(run_file_).context.complete);
}

/// One process is in the estimator's group, the other in its own session.
TEST_F(AskedEstimators, WhatTheyStartEndsWithTheAnswer) {
  const std::string pids = folder_.path() / "pids";
  suite_with("sleep 1000 & echo $! > " + pids + "; setsid sleep 1000 & echo $! >> " + pids + "\n" + kAnswers);
  const auto count_left = [&] {
    std::ifstream file(pids);
    int left = 0;
    int seen = 0;
    for (pid_t pid = 0; file >> pid; ++seen) left += ::kill(pid, 0) == 0 ? 1 : 0;
    EXPECT_EQ(seen, 2);
    return left;
  };
  const Answer answer = peakmark({"estimate", "command:" + (folder_.path() / "estimate").string(),
                                  "--dimensions", "1,1", "--slices", "1"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(count_left(), 0);
  EXPECT_EQ(run().end.exit_code, 0);
  EXPECT_EQ(count_left(), 0);
}

TEST_F(AskedEstimators, AnAskingThatIsInterruptedLeavesNobody) {
  suite_with("echo $$ > \"$ESTIMATOR_FIFO\"; exec tail -f /dev/null");
  WorkerProcess asking(command({"estimate", "command:" + (folder_.path() / "estimate").string(),
                                "--dimensions", "1,1", "--slices", "1"}));
  const pid_t estimator = read_pid(fifo_);
  ::kill(asking.pid(), SIGINT);
  EXPECT_EQ(rest_of(asking).end.exit_code, 130);
  EXPECT_NE(::kill(estimator, 0), 0);
}

TEST_F(AskedEstimators, InterruptedLoseNothing) {
  suite_with(kHangsAtTheSecond);
  WorkerProcess supervisor(run_command());
  const pid_t estimator = read_pid(fifo_);
  ::kill(supervisor.pid(), SIGINT);
  const Answer interrupted = rest_of(supervisor);
  EXPECT_EQ(interrupted.end.exit_code, 130);
  EXPECT_NE(::kill(estimator, 0), 0);
  EXPECT_THAT(interrupted.errors,
              HasSubstr("interrupted: 0 cases are not measured, estimators of 2 not asked; --resume"));
  EXPECT_THAT(outcomes(), ElementsAre("ok", "ok", "ok"));
  EXPECT_FALSE(read_run(run_file_).context.complete);
  EXPECT_THAT(errors(), ElementsAre("none", StartsWith("not_asked: "), StartsWith("not_asked: ")));

  suite_with(kAnswers);
  const Answer resumed = run({"--resume"});
  EXPECT_EQ(resumed.end.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors,
              AllOf(HasSubstr("3 cases are measured already"), HasSubstr("are asked about 2 cases")));
  EXPECT_THAT(errors(), Each("none"));
  EXPECT_TRUE(read_run(run_file_).context.complete);
  EXPECT_THAT(run({"--resume"}).errors, HasSubstr("nothing to resume"));
}

// An estimator may answer with the same words that the run writes for estimators it did not ask.
TEST_F(AskedEstimators, AnAnswerIsNotTakenForAQuestionThatIsLeft) {
  suite_with("echo '{\"error\": \"not_asked: says the estimator\"}'");
  ASSERT_EQ(run().end.exit_code, 0);
  EXPECT_THAT(errors(), Each("not_asked: says the estimator"));
  const Answer resumed = run({"--resume"});
  EXPECT_EQ(resumed.end.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("nothing to resume"));
}

TEST_F(AskedEstimators, KilledLoseNothing) {
  suite_with(kHangsAtTheSecond);
  {
    WorkerProcess supervisor(run_command());
    read_pid(fifo_);
    ::kill(supervisor.pid(), SIGKILL);
    rest_of(supervisor);
  }
  suite_with(kAnswers);
  EXPECT_THAT(run({"--resume"}).errors, HasSubstr("are asked about 2 cases"));
  EXPECT_THAT(errors(), Each("none"));
}

// The fake worker's peaks are 1000 bytes per slice.
TEST_F(AskedEstimators, ARunIsJudgedByAnotherEstimatorWithoutMeasuringAgain) {
  suite({"ok", "ok", "ok"});
  ASSERT_EQ(run().end.exit_code, 0);
  const std::string before = read_text_file(run_file_);
  const auto file = folder_.path() / "estimate";
  std::ofstream(file) << "#!/bin/sh\n"
                         "read line; n=${line##*\\\"slices\\\":}; n=${n%%,*}\n"
                         "echo \"{\\\"slices\\\": $n, \\\"bytes\\\": ${n}000}\"\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  const std::string call = "command:" + file.string();
  const auto asking = folder_.path() / "asking.toml";
  std::ofstream(asking) << "[[estimator]]\nname = \"mine\"\ncall = \"" << call
                        << "\"\nother_dimensions = [10, 20]\n[[sweep]]\nvariants = \"fake/case\"\n"
                        << "backend = \"dry\"\n";
  const auto with = [&](std::vector<std::string> words) {
    if (std::ranges::find(words, "--suite") == words.end())
      words.insert(words.end(), {"--suite", asking.string()});
    words.insert(words.end(), {"--worker", PEAKMARK_FAKE_WORKER});
    return peakmark(words);
  };
  const Answer checked = with({"check", run_file_.string(), "--estimator", "mine"});
  EXPECT_EQ(checked.end.exit_code, 0) << checked.output << checked.errors;
  EXPECT_THAT(checked.errors, HasSubstr("asked mine about 3 recorded cases\n"));
  EXPECT_THAT(checked.output, HasSubstr("3/3 1.000  pass"));
  EXPECT_EQ(
      with({"check", "--estimator", "mine", "--suite", asking.string(), run_file_.string()}).end.exit_code,
      0);

  const std::vector<std::string> by_call{"check", run_file_.string(), "--estimator",
                                         call,    "--worker",         PEAKMARK_FAKE_WORKER};
  EXPECT_THAT(peakmark(by_call).errors, HasSubstr("has fewer than two integer axes"));
  std::vector<std::string> with_dimensions = by_call;
  with_dimensions.insert(with_dimensions.end(), {"--other-dimensions", "2*n,7"});
  EXPECT_EQ(peakmark(with_dimensions).end.exit_code, 0);
  with_dimensions.back() = "n";
  EXPECT_THAT(peakmark(with_dimensions).errors, HasSubstr("--other-dimensions: 'n' is not two formulas"));

  const Answer printed = with({"estimate", "--run", run_file_.string(), "--estimator", "mine"});
  EXPECT_EQ(printed.end.exit_code, 0) << printed.errors;
  EXPECT_THAT(printed.output, HasSubstr("mine       3000     3/3      3000            1.000\n"));
  EXPECT_THAT(with({"estimate", "fake/case", "--run", run_file_.string(), "--json"}).output,
              HasSubstr("\"estimator\": \"fake/case\""));

  std::ofstream(file) << "#!/bin/sh\necho '{\"slices\": 9, \"bytes\": 1}'\n";
  EXPECT_EQ(with({"check", run_file_.string(), "--estimator", "mine"}).end.exit_code, 1);
  std::ofstream(file) << "#!/bin/sh\necho '{\"slices\": -1, \"bytes\": 1}'\n";
  const Answer failed = with({"estimate", "--run", run_file_.string(), "--estimator", "mine"});
  EXPECT_EQ(failed.end.exit_code, 2);
  EXPECT_THAT(failed.output, HasSubstr("n:3: negative: slices is -1, for 3000 bytes of available memory"));
  EXPECT_EQ(with({"check", run_file_.string(), "--estimator", "mine"}).end.exit_code, 1);
  EXPECT_EQ(read_text_file(run_file_), before) << "the run file is a record";
}

TEST_F(AskedEstimators, ARecordedCaseHasItsAxesAndItsPeak) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"estimate"},
        {"estimate", "a/b", "n=3", "--run", "run.json"},
        {"estimate", "a/b", "--available", "1KiB", "--run", "run.json"},
        {"check", "run.json", "--form", "module"}}) {
    EXPECT_EQ(peakmark(words).end.exit_code, 2) << words.back();
  }
}

TEST_F(AskedEstimators, OneThatFailsIsReportedOnceAndFailsTheVerdict) {
  suite_with("echo first >&2; echo no such card >&2; exit 3");
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const std::string line =
      "fake/case/dry: the estimator 'mine' failed: died: its process ended with exit code 3; its last "
      "message: no "
      "such card; `check` fails each such case of fake/case\n";
  EXPECT_THAT(answer.errors, HasSubstr(line));
  EXPECT_EQ(answer.errors.find("the estimator 'mine' failed"),
            answer.errors.rfind("the estimator 'mine' failed"));
  const Answer checked = peakmark({"check", run_file_.string()});
  EXPECT_EQ(checked.end.exit_code, 1);
  EXPECT_THAT(checked.output,
              AllOf(HasSubstr("3 fail (3 estimator)"),
                    HasSubstr("estimator of mine: the estimator failed: died: its process ended")));
}

TEST_F(AskedEstimators, OneThatHangsIsAskedThreeTimesAndCostsNoPeak) {
  suite_with("exec tail -f /dev/null");
  const auto path = folder_.path() / "suite.toml";
  std::string text = read_text_file(path);
  text.replace(text.find("[\"ok\", \"ok\", \"ok\"], n = [1, 2, 3]"), 33,
               "[\"ok\", \"ok\", \"ok\", \"ok\"], n = [1, 2, 3, 4]");
  std::ofstream(path) << text << "seconds = 0.2\n";
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const std::string late =
      "no_answer_in_time: estimator 'mine' did not answer within 0.2 s; make it faster, or raise the limit "
      "with "
      "`seconds` in its [[estimator]]";
  EXPECT_THAT(errors(),
              ElementsAre(late, late, late,
                          "no_answer_in_time: estimator 'mine' was not asked: it did not answer in time 3 "
                          "times in a row"));
  for (const Observation& one : read_run(run_file_).observations) EXPECT_TRUE(one.requested_peak_bytes);
  const Answer checked = peakmark({"check", run_file_.string(), "--estimator", "mine", "--suite",
                                   path.string(), "--worker", PEAKMARK_FAKE_WORKER, "--seconds", "0.1"});
  EXPECT_EQ(checked.end.exit_code, 1);
  EXPECT_THAT(checked.output,
              HasSubstr("did not answer within 0.1 s; make it faster, or raise the limit with --seconds"));
}

// The estimator cannot be asked, so nothing is measured for it.
TEST_F(AskedEstimators, OneThatIsMissingIsReportedBeforeAnythingIsMeasured) {
  suite_with("");
  const auto file = folder_.path() / "estimate";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const Answer answer = run();
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("suite.toml:"), HasSubstr("estimator 'mine': "),
                                   HasSubstr("estimate: is not executable; run: chmod +x")));
  EXPECT_FALSE(std::filesystem::exists(run_file_));
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  suite_with(kAnswers);
  ASSERT_EQ(run().end.exit_code, 0);
  std::filesystem::remove(file);
  const std::vector<std::string> suite{"--suite", (folder_.path() / "suite.toml").string(), "--worker",
                                       PEAKMARK_FAKE_WORKER};
  for (std::vector<std::string> words :
       {std::vector<std::string>{"check", run_file_.string(), "--estimator", "mine"},
        {"estimate", "--run", run_file_.string(), "--estimator", "mine"}}) {
    words.insert(words.end(), suite.begin(), suite.end());
    const Answer asked = peakmark(words);
    EXPECT_EQ(asked.end.exit_code, 2) << words.front();
    EXPECT_THAT(asked.errors, HasSubstr("no such program")) << words.front();
    EXPECT_EQ(asked.output, "");
  }
}

TEST_F(AskedEstimators, KeepTheDeadline) {
  suite_with("exec tail -f /dev/null");
  const Answer answer = run({"--deadline", "4"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("stopped by the deadline: 0 cases are not measured, estimators of 3"));
  EXPECT_THAT(errors(), Each(StartsWith("not_asked: ")));
  EXPECT_FALSE(read_run(run_file_).context.complete);
}

}  // namespace
}  // namespace peakmark
