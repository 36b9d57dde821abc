// Tests of programs that no signal ends: `record` must not wait for them for ever.
#include "record/launch/record_program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "base/files_testing.hpp"
#include "record/launch/program_watch.hpp"

namespace peakmark {
namespace {

constexpr int kNotPossible = 42;

class StuckProgram : public testing::TestWithParam<const char*> {
 protected:
  StuckProgram() : fifo_(folder_.path() / "fifo") {
    ::mkfifo(fifo_.c_str(), 0600);
    writer_ = ::open(fifo_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~StuckProgram() override { ::close(writer_); }  // releases the program, which then ends

  /// Records the program in a child process. Returns 0 if it was abandoned with an error.
  int record(const std::function<void(pid_t recording, pid_t program)>& stop) const {
    std::array<int, 2> output{};
    EXPECT_EQ(::pipe(output.data()), 0);
    const pid_t recording = ::fork();
    if (recording == 0) {
      ::dup2(output[1], STDOUT_FILENO);
      ::close(output[0]);
      ::close(output[1]);
      RecordRequest request;
      request.command = {PEAKMARK_STUCK_PROGRAM, GetParam(), fifo_};
      request.profile = folder_.path() / "p";
      request.stuck_limit = std::chrono::milliseconds(100);
      request.kill_limit = std::chrono::milliseconds(100);
      const Recording recorded = record_program(request, {});
      if (recorded.program_code == kNotPossible) ::_exit(kNotPossible);
      ::_exit(recorded.error.find("cannot be ended") == std::string::npos ? 1 : 0);
    }
    ::close(output[1]);
    std::string said;
    char sign = 0;
    while (said.find('\n') == std::string::npos && ::read(output[0], &sign, 1) == 1) said += sign;
    if (said.starts_with("ready ")) stop(recording, std::stoi(said.substr(6)));
    int status = 0;
    EXPECT_EQ(::waitpid(recording, &status, 0), recording);
    ::close(output[0]);
    return WEXITSTATUS(status);
  }

  const TemporaryFolder folder_;
  std::string fifo_;
  int writer_ = -1;
};

TEST_P(StuckProgram, IsAbandonedAfterTwoRequests) {
  const int code = record([](pid_t recording, pid_t) {
    // Two signals of the same kind could be merged into one.
    ::kill(recording, SIGINT);
    ::kill(recording, SIGTERM);
  });
  if (code == kNotPossible) GTEST_SKIP() << "this system allows no such program";
  EXPECT_EQ(code, 0);
}

TEST_P(StuckProgram, IsAbandonedAfterAKill) {
  const int code = record([](pid_t, pid_t program) { ::kill(program, SIGKILL); });
  if (code == kNotPossible) GTEST_SKIP() << "this system allows no such program";
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Held, StuckProgram, testing::Values("traced", "uninterruptible"));

TEST(RecordProgram, EndsAlthoughAnotherThreadTakesTheSignalOfTheEnd) {
  const TemporaryFolder folder;
  const pid_t recording = ::fork();
  if (recording == 0) {
    sigset_t ends{};
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    std::thread([&ends] {
      const timespec at_once{};
      for (;;) sigtimedwait(&ends, nullptr, &at_once);
    }).detach();
    RecordRequest request;
    request.command = {"/bin/sh", "-c", "exit 7"};
    request.profile = folder.path() / "p";
    request.kill_limit = std::chrono::milliseconds(100);
    ::_exit(record_program(request, {}).program_code);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(recording, &status, 0), recording);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(IsStuck, FalseForASleepingProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  // Until the process sleeps, it may briefly be in another state.
  while (is_stuck(child)) {
  }
  EXPECT_FALSE(is_being_killed(child));
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(IsStuck, FalseIfOnlyTheMainThreadHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] {
      for (;;) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // the thread alone; pthread_exit() would unwind through GoogleTest
  }
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  const auto main_thread_has_ended = [&] {
    std::ifstream file(stat);
    return std::string(std::istreambuf_iterator<char>(file), {}).find(") Z ") != std::string::npos;
  };
  while (!main_thread_has_ended() || is_stuck(child)) {
  }
  EXPECT_FALSE(is_being_killed(child));
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace peakmark
