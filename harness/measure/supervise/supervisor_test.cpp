#include "measure/supervise/supervisor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <limits>
#include <map>

#include "base/error.hpp"
#include "measure/supervise/supervisor_testing.hpp"

namespace peakmark {

namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Supervisor : public testing::Test {
 protected:
  Supervisor() { options_.worker.program = PEAKMARK_FAKE_WORKER; }
  ~Supervisor() override { ::unsetenv("FAKE_WORKER"); }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Stop run(const std::vector<PlannedCase>& cases) { return supervise(options_, cases, listener_); }
  /// Measures a case that fails between two good ones.
  Observation failing(const std::string& deed) {
    EXPECT_EQ(run({planned_deed("ok", 1), planned_deed(deed, 2), planned_deed("ok", 3)}), Stop::done);
    EXPECT_EQ(listener_.observations_.size(), 3u);
    EXPECT_THAT(listener_.outcomes(), ElementsAre("ok", testing::_, "ok"));
    EXPECT_EQ(listener_.observations_.at(2).requested_peak_bytes, 3000);
    return listener_.observations_.at(1);
  }
  std::string start_error(const char* what) {
    ::setenv("FAKE_WORKER", what, 1);
    try {
      run({planned_deed("ok")});
    } catch (const Error& error) {
      code_ = exit_code_of(error);
      return error.what();
    }
    return "no error";
  }

  SupervisorOptions options_;
  RecordingListener listener_;
  ExitCode code_ = ExitCode::clean;
};

TEST_F(Supervisor, MeasuresEveryCaseInOrder) {
  EXPECT_EQ(run({planned_deed("ok", 1), planned_deed("ok", 2), planned_deed("say", 3)}), Stop::done);
  ASSERT_EQ(listener_.observations_.size(), 3u);
  EXPECT_EQ(listener_.observations_[1].requested_peak_bytes, 2000);
  EXPECT_EQ(listener_.started_.size(), 3u);
  EXPECT_THAT(listener_.said_, ElementsAre("something to read"));
}

TEST_F(Supervisor, ManyCasesDoNotFillAPipe) {
  std::vector<PlannedCase> cases;
  for (int n = 0; n < 5000; ++n) cases.push_back(planned_deed("ok", n));
  EXPECT_EQ(run(cases), Stop::done);
  EXPECT_EQ(listener_.observations_.size(), 5000u);
}

// Each start costs time, and so do the cases that are sent to a worker again after another worker died.
TEST_F(Supervisor, BatchesGrowUntilAWorkerDies) {
  std::vector<PlannedCase> cases;
  for (int n = 0; n < 4500; ++n) cases.push_back(planned_deed(n == 1500 ? "abort" : "ok", n));
  EXPECT_EQ(run(cases), Stop::done);
  EXPECT_EQ(listener_.observations_.size(), 4500u);
  EXPECT_EQ(listener_.observations_.at(1500).outcome, Outcome::crashed);
  EXPECT_THAT(listener_.batches_, ElementsAre(1000, 2000, 1000, 1999));
}

// A case's axes are in memory once.
TEST_F(Supervisor, AnObservationSharesTheAxesOfItsCase) {
  const std::vector<PlannedCase> cases{planned_deed("ok", 1), planned_deed("abort", 2)};
  EXPECT_EQ(run(cases), Stop::done);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(&listener_.observations_.at(i).axes.values(), &cases[i].sweep_case.parameters.values());
  }
}

TEST_F(Supervisor, ANullWriteIsACrash) {
  const Observation observation = failing("null_write");
  EXPECT_EQ(observation.outcome, Outcome::crashed);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_THAT(observation.message, HasSubstr("exit code"));  // the sanitizer reports the write, then exits
#else
  EXPECT_THAT(observation.message, HasSubstr("signal SIGSEGV"));
#endif
  EXPECT_EQ(observation.axes.integer("n"), 2);
  EXPECT_FALSE(observation.requested_peak_bytes);
}

TEST_F(Supervisor, AnAbortIsACrashWithItsLastWords) {
  const Observation observation = failing("abort");
  EXPECT_EQ(observation.outcome, Outcome::crashed);
  EXPECT_THAT(observation.message, AllOf(HasSubstr("signal SIGABRT"), HasSubstr("giving up")));
}

TEST_F(Supervisor, TheErrorOfAWorkerThatReportsStepsNamesTheStep) {
  const Observation observation = failing("abort_in_step");
  EXPECT_EQ(observation.outcome, Outcome::crashed);
  EXPECT_EQ(observation.message,
            "the worker ended in the middle of the case, in the estimator 'own' of fake/case: signal SIGABRT "
            "(Aborted)");
}

TEST_F(Supervisor, OnlyOutputBetweenMarksIsOfTimedCalls) {
  EXPECT_EQ(failing("prints").message, "");
  EXPECT_EQ(listener_.said_.size(), 5001u);
  EXPECT_EQ(listener_.said_.front(), "set up");
  listener_.observations_.clear();
  listener_.said_.clear();
  EXPECT_EQ(failing("prints_timed").message, "prints in its timed call: its times include that");
  EXPECT_EQ(listener_.observations_.at(2).message, "");
  EXPECT_EQ(listener_.said_.at(1), "half a line");
}

// Each of them costs only its own answer: not the peak, the time, or the answer before.
TEST_F(Supervisor, AnEstimatorThatEndsOrHoldsItsWorkerCostsOnlyItsAnswer) {
  options_.case_limit = {300ms, 0ms};
  const std::map<std::string, std::string> errors{{"estimator_aborts",
                                                   "died: the worker ended in the middle of the case, in the "
                                                   "estimator 'other' of fake/case: signal SIGABRT "
                                                   "(Aborted); its last message: no such card"},
                                                  {"estimator_closes",
                                                   "died: the worker ended in the middle of the case, in the "
                                                   "estimator 'other' of fake/case: exit code 2"},
                                                  {"estimator_hangs",
                                                   "no_answer_in_time: the estimator 'other' of fake/case "
                                                   "did not answer within 0.3 s; make it faster, or raise "
                                                   "the limit with --timeout"}};
  for (const auto& [deed, error] : errors) {
    listener_.observations_.clear();
    const Observation observation = failing(deed);
    EXPECT_EQ(observation.outcome, Outcome::ok) << deed;
    EXPECT_EQ(observation.requested_peak_bytes, 2000) << deed;
    EXPECT_EQ(observation.estimate->bytes_estimated, 1000) << deed;
    EXPECT_EQ(observation.other_estimates.at(0).error, error);
    EXPECT_TRUE(observation.other_estimates.at(0).is_asked);
  }
}

TEST_F(Supervisor, EstimatorsAnswerAfterTheirCaseIsMeasured) {
  const Observation observation = failing("estimators");
  EXPECT_EQ(observation.estimate->bytes_estimated, 1000);
  EXPECT_EQ(observation.other_estimates.at(0).estimator, "other");
  EXPECT_EQ(observation.other_estimates.at(0).error, std::nullopt);
  EXPECT_EQ(listener_.workers_, 1);
}

TEST_F(Supervisor, AStepAfterItsCaseHarmsNeitherThatNorTheNext) {
  EXPECT_EQ(run({planned_deed("late_step", 1), planned_deed("exit_0", 2)}), Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("ok", "crashed"));
  EXPECT_THAT(listener_.observations_.at(1).message, Not(HasSubstr("`verify`")));
}

TEST_F(Supervisor, ASilentExitIsACrash) {
  EXPECT_EQ(failing("exit_0").outcome, Outcome::crashed);
  EXPECT_THAT(listener_.observations_.at(1).message, HasSubstr("exit code 0"));
}

TEST_F(Supervisor, AnExitCodeIsNamed) {
  EXPECT_THAT(failing("exit_3").message, HasSubstr("exit code 3"));
}

TEST_F(Supervisor, AGrandchildThatHoldsThePipeDoesNotHoldTheRun) {
  EXPECT_EQ(failing("grandchild").outcome, Outcome::crashed);
}

TEST_F(Supervisor, GarbageIsACrash) {
  const Observation observation = failing("garbage");
  EXPECT_EQ(observation.outcome, Outcome::crashed);
  EXPECT_THAT(observation.message, HasSubstr("malformed output from worker"));
}

TEST_F(Supervisor, HalfALineIsACrash) {
  const Observation observation = failing("half_line");
  EXPECT_EQ(observation.outcome, Outcome::crashed);
  EXPECT_FALSE(observation.requested_peak_bytes);
}

TEST_F(Supervisor, AnObservationOfAnotherCaseIsACrash) {
  EXPECT_THAT(failing("other_case").message, HasSubstr("has not started"));
}

TEST_F(Supervisor, AStartInTheMiddleOfACaseIsACrash) {
  EXPECT_THAT(failing("restart").message, HasSubstr("in the middle of another"));
}

TEST_F(Supervisor, AHangIsATimeout) {
  options_.case_limit = {1000ms, 0ms};
  const Observation observation = failing("hang");
  EXPECT_EQ(observation.outcome, Outcome::timeout);
  EXPECT_THAT(observation.message, HasSubstr("after 1 s (--timeout), in the estimator 'own' of fake/case; "));
}

TEST_F(Supervisor, TheLimitGrowsWithTheBytesThatTheWorkerReports) {
  options_.case_limit = {500ms, 250ms};
  EXPECT_THAT(failing("hang_with_2_gib").message,
              HasSubstr("no result after 1 s (0.5 s and 0.25 s per GiB for 2 GiB; --timeout sets another "
                        "limit); the worker was killed"));
}

TEST_F(Supervisor, AnExactLimitStaysWhateverTheWorkerReports) {
  options_.case_limit = {1000ms, 0ms};
  EXPECT_THAT(failing("hang_with_2_gib").message, HasSubstr("no result after 1 s (--timeout); "));
}

TEST_F(Supervisor, IgnoringSigtermIsATimeout) {
  options_.case_limit = {1000ms, 0ms};
  EXPECT_EQ(failing("ignore_term").outcome, Outcome::timeout);
}

TEST_F(Supervisor, AFloodOfMessagesIsATimeout) {
  options_.case_limit = {1000ms, 0ms};
  EXPECT_EQ(failing("flood").outcome, Outcome::timeout);
}

TEST_F(Supervisor, AWorkerMayLeaveBetweenCases) {
  EXPECT_EQ(run({planned_deed("leave", 1), planned_deed("leave", 2), planned_deed("leave", 3),
                 planned_deed("leave", 4)}),
            Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("ok", "ok", "ok", "ok"));
}

TEST_F(Supervisor, ManyCrashesInARowAreNotFailedStarts) {
  std::vector<PlannedCase> cases;
  for (int n = 0; n < 8; ++n) cases.push_back(planned_deed("abort", n));
  EXPECT_EQ(run(cases), Stop::done);
  EXPECT_EQ(listener_.observations_.size(), 8u);
}

TEST_F(Supervisor, ARecorderThatDoesNotComeUpEndsTheRun) {
  EXPECT_EQ(start_error("exit_5"), "no recorder");
  EXPECT_EQ(code_, ExitCode::recorder);
}

TEST_F(Supervisor, AMistakeEndsTheRunAtOnce) {
  EXPECT_THAT(start_error("exit_2"), HasSubstr("its last message: a mistake of yours"));
  EXPECT_EQ(code_, ExitCode::usage);
  EXPECT_THAT(listener_.said_, ElementsAre("a mistake of yours")) << "without the worker's name before it";
}

TEST_F(Supervisor, AMissingDeviceEndsTheRunAtOnce) {
  start_error("exit_4");
  EXPECT_EQ(code_, ExitCode::nothing);
}

TEST_F(Supervisor, ThreeFailedStartsEndTheRun) {
  EXPECT_THAT(start_error("abort"), AllOf(HasSubstr("three workers in a row"), HasSubstr("SIGABRT")));
  EXPECT_EQ(code_, ExitCode::usage);
}

TEST_F(Supervisor, AHangBeforeTheFirstCaseEndsTheRun) {
  options_.start_limit = 200ms;
  EXPECT_THAT(start_error("hang"), HasSubstr("started no case within 0.2 s"));
}

TEST_F(Supervisor, AMissingProgramIsReported) {
  options_.worker.program = "/no/such/worker";
  EXPECT_THAT(start_error(""), HasSubstr("/no/such/worker: cannot be started: No such file or directory"));
  EXPECT_EQ(code_, ExitCode::usage);
}

TEST_F(Supervisor, AnInterruptStopsInTheMiddleOfACase) {
  const int interrupt = ::eventfd(0, 0);
  options_.interrupt = interrupt;
  listener_.at_start_ = [&] {
    if (listener_.started_.size() == 2) ::eventfd_write(interrupt, 1);
  };
  EXPECT_EQ(run({planned_deed("ok"), planned_deed("hang"), planned_deed("ok", 3)}), Stop::interrupted);
  EXPECT_EQ(listener_.observations_.size(), 1u);
  ::close(interrupt);
}

TEST_F(Supervisor, AWorkerThatTheSignalOfTheJobReachedFirstHasNotCrashed) {
  // Slurm signals every process of a job: here the worker ends 100 ms before the signal reaches the
  // supervisor.
  options_.interrupt = ::timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec in_100_ms{{}, {0, 100'000'000}};
  listener_.at_start_ = [&] {
    if (listener_.started_.size() == 2) ::timerfd_settime(options_.interrupt, 0, &in_100_ms, nullptr);
  };
  EXPECT_EQ(run({planned_deed("ok"), planned_deed("terminated"), planned_deed("ok", 3)}), Stop::interrupted);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("ok"));
  ::close(options_.interrupt);
}

TEST_F(Supervisor, AWorkerThatAloneWasTerminatedHasCrashed) {
  const int interrupt = ::eventfd(0, 0);
  options_.interrupt = interrupt;
  EXPECT_THAT(failing("terminated").message, HasSubstr("signal SIGTERM"));
  ::close(interrupt);
}

TEST_F(Supervisor, NoWorkerStartsAfterTheDeadline) {
  options_.deadline = WorkerProcess::Clock::now();
  EXPECT_EQ(run({planned_deed("ok")}), Stop::deadline);
}

TEST_F(Supervisor, TheDeadlineStopsInTheMiddleOfACase) {
  options_.deadline = WorkerProcess::Clock::now() + 1500ms;
  EXPECT_EQ(run({planned_deed("ok"), planned_deed("hang"), planned_deed("ok", 3)}), Stop::deadline);
  EXPECT_EQ(listener_.observations_.size(), 1u);
}

TEST_F(Supervisor, AnObservationThatCannotBeKeptEndsTheRun) {
  listener_.at_finish_ = [] { throw io_error("run.json", "cannot be written", ENOSPC); };
  EXPECT_THROW(run({planned_deed("ok"), planned_deed("ok", 2)}), IoError);
  EXPECT_EQ(listener_.started_.size(), 1u);
}

TEST_F(Supervisor, TheReferenceHasATime) {
  EXPECT_EQ(measure_reference(options_, listener_), (ReferenceTime{1000.0, 20.0}));
  ::setenv("FAKE_WORKER", "abort", 1);
  EXPECT_EQ(measure_reference(options_, listener_), ReferenceTime{});
  EXPECT_THAT(listener_.said_.back(), HasSubstr("SIGABRT"));
}

TEST_F(Supervisor, AWorkerTimesTheReferenceBetweenCases) {
  EXPECT_EQ(run({planned_deed("ok"), planned_deed("reference", 2), planned_deed("ok", 3)}), Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("ok", "ok", "ok"));
  EXPECT_THAT(listener_.references_, ElementsAre(ReferenceTime{1500, std::nullopt}));
}

TEST_F(Supervisor, AReferenceInTheMiddleOfACaseIsNotUnderstood) {
  EXPECT_THAT(failing("reference_within").message, HasSubstr("in the middle of a case"));
  EXPECT_THAT(listener_.references_, testing::IsEmpty());
}

TEST(WorkerProcess, DiesWithItsObject) {
  pid_t pid = 0;
  {
    WorkerCommand command;
    command.program = PEAKMARK_FAKE_WORKER;
    command.arguments = {"--cases", "-", "--observations-fd", "3"};
    command.input = planned_deed("ignore_term").name + "\n";
    WorkerProcess worker(command);
    EXPECT_THAT(worker.next(std::nullopt).text, HasSubstr("start"));
    pid = worker.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(WorkerProcess, Answers) {
  WorkerCommand command{"/bin/sh", {"-c", "cat; echo no >&2; exit 7"}, {}, "a question"};
  const Answer answer = ask(command, 60s);
  EXPECT_EQ(answer.output, "a question\n");
  EXPECT_EQ(answer.errors, "no\n");
  EXPECT_EQ(answer.end.exit_code, 7);
}

TEST(WorkerProcess, HasOnlyItsOwnDescriptorsAndDefaultSignals) {
  std::signal(SIGTERM, SIG_IGN);
  const int open_here = ::dup(1);
  WorkerCommand command{
      "/bin/sh", {"-c", "ls /proc/self/fd; grep SigIgn /proc/self/status"}, {"PATH=/usr/bin:/bin"}, ""};
  // Descriptor 3 is that of the observations, and 4 is the folder that ls reads.
  EXPECT_EQ(ask(command, 60s).output, "0\n1\n2\n3\n4\nSigIgn:\t0000000000000000\n");
  ::close(open_here);
  std::signal(SIGTERM, SIG_DFL);
}

using namespace std::chrono_literals;

TEST(CaseLimit, GrowsWithTheBytesOfTheCase) {
  const CaseLimit limit;
  EXPECT_EQ(limit.limit(std::nullopt), 60s);
  EXPECT_EQ(limit.limit(0), 60s);
  EXPECT_EQ(limit.limit(Size{1} << 30), 70s);
  EXPECT_EQ(limit.limit((Size{1} << 30) / 4), 62'500ms);
  EXPECT_EQ(limit.limit(Size{113} << 30), 1190s);
}

TEST(CaseLimit, AnExactOneDoesNot) {
  const CaseLimit limit{2500ms, 0ms};
  EXPECT_EQ(limit.limit(std::nullopt), 2500ms);
  EXPECT_EQ(limit.limit(Size{113} << 30), 2500ms);
}

TEST(CaseLimit, StaysATimeThatAClockHas) {
  EXPECT_EQ(CaseLimit{}.limit(std::numeric_limits<Size>::max()), 60s + 24h);
}

}  // namespace

}  // namespace peakmark
