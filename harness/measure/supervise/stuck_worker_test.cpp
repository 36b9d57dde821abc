// Tests of workers that do not end, or not as others do: no run may hang because of them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "measure/supervise/supervisor_testing.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"
#include "record/subprocess/stuck_process_testing.hpp"

namespace peakmark {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class StuckWorker : public testing::Test {
 protected:
  StuckWorker() : fifo_(folder_.path() / "fifo") {
    options_.worker.program = PEAKMARK_FAKE_WORKER;
    ::mkfifo(fifo_.c_str(), 0600);
    writer_ = ::open(fifo_.c_str(), O_RDWR | O_CLOEXEC);
    ::setenv("FAKE_WORKER_FIFO", fifo_.c_str(), 1);
  }
  ~StuckWorker() override {
    ::close(writer_);  // what holds them ends, and they do
    while (!given_up_children().empty()) ::usleep(1000);
    ::unsetenv("FAKE_WORKER_FIFO");
    ::unsetenv("FAKE_WORKER");
  }
  StuckWorker(const StuckWorker&) = delete;
  StuckWorker& operator=(const StuckWorker&) = delete;

  WorkerCommand command(const std::string& deed) const {
    WorkerCommand command = options_.worker;
    command.arguments = {"--cases", "-", "--observations-fd", "3"};
    command.input = planned_deed(deed).name + "\n";
    return command;
  }

  const TemporaryFolder folder_;
  std::string fifo_;
  int writer_ = -1;
  SupervisorOptions options_;
  RecordingListener listener_;
};

TEST_F(StuckWorker, ThatCannotBeReapedIsLeftBehind) {
  ::setenv("FAKE_WORKER", "traced_once", 1);
  options_.case_limit = {500ms, 0ms};
  options_.kill_limit = 100ms;
  EXPECT_EQ(supervise(options_, {planned_deed("hang"), planned_deed("ok", 2)}, listener_), Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("timeout", "ok"));
  EXPECT_THAT(listener_.observations_.at(0).message,
              AllOf(HasSubstr("no result after 0.5 s"), HasSubstr("cannot be killed"),
                    HasSubstr("the run continues without it")));
  EXPECT_EQ(given_up_children().size(), 1U);
  EXPECT_THAT(end_orphans(), testing::IsEmpty()) << "and nobody waits for it again";
}

TEST_F(StuckWorker, ThatCannotBeReapedDoesNotHoldAnInterrupt) {
  ::setenv("FAKE_WORKER", "traced_once", 1);
  const int interrupt = ::eventfd(0, EFD_CLOEXEC);
  options_.interrupt = interrupt;
  options_.kill_limit = 100ms;
  listener_.at_start_ = [&] { ::eventfd_write(interrupt, 1); };
  EXPECT_EQ(supervise(options_, {planned_deed("hang")}, listener_), Stop::interrupted);
  EXPECT_THAT(listener_.said_, testing::Contains(HasSubstr("cannot be killed")));
  ::close(interrupt);
}

TEST_F(StuckWorker, InUninterruptibleSleepIsLeftBehind) {
  WorkerProcess worker(command("sleep_uninterruptibly"));
  EXPECT_THAT(worker.next(std::nullopt).text, HasSubstr("start"));
  const WorkerEvent event = worker.next(std::nullopt);
  if (event.kind != WorkerEvent::Kind::observation) {
    GTEST_SKIP() << "no uninterruptible sleep can be made here: " << event.text;
  }
  ASSERT_THAT(event.text, HasSubstr("sleeps"));
  EXPECT_FALSE(worker.kill(100ms));
  EXPECT_THAT(given_up_children(), ElementsAre(worker.pid()));
  EXPECT_FALSE(worker.kill()) << "at once: it was given up";
}

// A process that waits for its vfork() child is in uninterruptible sleep too, but SIGKILL can end it.
TEST_F(StuckWorker, InVforkIsATimeout) {
  options_.case_limit = {500ms, 0ms};
  EXPECT_EQ(supervise(options_, {planned_deed("vfork"), planned_deed("ok", 2)}, listener_), Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("timeout", "ok"));
  EXPECT_THAT(listener_.observations_.at(0).message, HasSubstr("the worker was killed"));
}

TEST_F(StuckWorker, ThatIsStoppedIsATimeout) {
  options_.case_limit = {500ms, 0ms};
  EXPECT_EQ(supervise(options_, {planned_deed("stop"), planned_deed("ok", 2)}, listener_), Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("timeout", "ok"));
}

// The worker writes to the descriptor of observations, and each observation must be read, however late.
TEST_F(StuckWorker, ThatWritesStepsWithoutEndIsATimeout) {
  options_.case_limit = {500ms, 0ms};
  EXPECT_EQ(supervise(options_, {planned_deed("flood_steps"), planned_deed("ok", 2)}, listener_), Stop::done);
  EXPECT_THAT(listener_.outcomes(), ElementsAre("timeout", "ok"));
}

TEST_F(StuckWorker, ThatWritesStepsWithoutEndCanBeInterrupted) {
  const int interrupt = ::eventfd(0, EFD_CLOEXEC);
  options_.interrupt = interrupt;
  listener_.at_start_ = [&] { ::eventfd_write(interrupt, 1); };
  EXPECT_EQ(supervise(options_, {planned_deed("flood_steps")}, listener_), Stop::interrupted);
  ::close(interrupt);
}

TEST(Ask, AnAnswerWithoutEndIsGivenUp) {
  const WorkerCommand endless{"/bin/sh", {"-c", "tr '\\0' x </dev/zero"}, {"PATH=/usr/bin:/bin"}, ""};
  try {
    ask(endless, 600s);
    FAIL();
  } catch (const NoAnswer& error) {
    EXPECT_THAT(error.what(), HasSubstr("/bin/sh writes without end"));
  }
}

TEST(ChildWatch, WithoutADescriptorOfTheProcessItsEndIsSeen) {
  const auto check = [] {
    if (!go_without_pidfd()) ::_exit(42);
    const Answer answer = ask({"/bin/sh", {"-c", "echo here; exit 7"}, {"PATH=/usr/bin:/bin"}, ""}, 600s);
    if (answer.output != "here\n" || answer.end.exit_code != 7) ::_exit(1);
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    if (!end_orphans().empty() || ::kill(child, 0) == 0) ::_exit(2);
    ::_exit(0);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "") << "42: the system has no seccomp";
}

TEST(SignalWatch, ASecondInterruptEndsAProcessThatDoesNotAnswer) {
  // A new process: in a fork of one with threads, which other tests may leave, TSan starts no thread.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    const SignalWatch signals;
    const pid_t self = ::getpid();
    if (::fork() == 0) {
      // One key press may come twice: only one a second later counts. No wait of a fixed time is long enough.
      while (::getppid() == self) {
        ::kill(self, SIGINT);
        ::usleep(50'000);
      }
      ::_exit(0);
    }
    for (;;) ::pause();
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(130), "interrupted twice");
}

}  // namespace
}  // namespace peakmark
