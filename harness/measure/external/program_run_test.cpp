#include "measure/external/program_run.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/stuck_process_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

ProgramEnd shell(const std::string& text) {
  return run_program({"sh", "-c", text}, {"PATH=/usr/bin:/bin"});
}

TEST(ProgramRun, ReportsHowItEnded) {
  EXPECT_TRUE(shell("exit 0").well());
  EXPECT_EQ(7, shell("exit 7").end.exit_code);
  EXPECT_EQ(SIGUSR1, shell("kill -USR1 $$").end.signal);
  EXPECT_EQ(SIGTERM, shell("kill -TERM $$").end.signal);
  EXPECT_GT(shell("exit 0").wall_ns, 0);
}

TEST(ProgramRun, IsNotReportedWhenTheSignalOfTheJobEndsThisProcessToo) {
  // The program ends at once, and this process gets its signal 100 ms later.
  const auto job = [] {
    const itimerval in_100_ms{{}, {0, 100'000}};
    ::setitimer(ITIMER_REAL, &in_100_ms, nullptr);
    shell("kill -TERM $$");
    ::_exit(0);
  };
  EXPECT_EXIT(job(), testing::KilledBySignal(SIGALRM), "");
}

TEST(ProgramRun, KeepsTheLastWords) {
  EXPECT_EQ("c / d / e", shell("printf 'a\\nb\\nc\\n\\n  d\\ne' >&2; echo out").last_words());
  EXPECT_EQ("out", shell("echo out").last_words());
  EXPECT_EQ("Error: no", shell("printf '\\033[1;35mError\\033[0m: no\\n\\033[0m\\n' >&2").last_words());
  EXPECT_EQ("", shell(":").last_words());
  EXPECT_LT(shell("head -c 100000 /dev/zero | tr '\\0' x >&2").last_words().size(), 1000U);
}

TEST(ProgramRun, AProgramThatWritesMuchIsNotHeldUp) {
  EXPECT_TRUE(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2").well());
}

TEST(ProgramRun, HasTheEnvironmentAndNothingToRead) {
  EXPECT_EQ("x", run_program({"sh", "-c", "cat; echo $A"}, {"PATH=/usr/bin:/bin", "A=x"}).last_words());
}

TEST(ProgramRun, WhatItLeavesBehindIsEnded) {
  adopt_orphans();
  const TemporaryFolder folder;
  const std::string file = folder.path() / "pid";
  // Neither a child in the group nor one in a separate session survives.
  const ProgramEnd end = shell("sleep 1000 & echo $! > " + file + "; setsid sleep 1000 & echo $! >> " + file);
  EXPECT_TRUE(end.well());
  std::ifstream pids(file);
  int seen = 0;
  for (pid_t pid = 0; pids >> pid; ++seen) EXPECT_NE(0, ::kill(pid, 0)) << pid;
  EXPECT_EQ(2, seen);
}

// The child leaves the group and holds the pipe of its parent, which has ended.
TEST(ProgramRun, AGrandchildThatWritesWithoutEndHoldsNobodyUp) {
  adopt_orphans();
  EXPECT_TRUE(shell("(while :; do echo more; done) & exit 0").well());
  EXPECT_TRUE(shell("setsid yes & setsid yes >&2 & exit 0").well());
}

TEST(ProgramRun, WithoutADescriptorOfTheProcessItsEndIsSeen) {
  const auto check = [] {
    if (!go_without_pidfd()) ::_exit(42);
    ::_exit(shell("exit 7").end.exit_code.value_or(1));
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(7), "") << "42: the system has no seccomp";
}

TEST(ProgramRun, WhatIsLeftInAGuardedGroupEndsWithItsLeader) {
  const TemporaryFolder profiles;
  int left[2];
  ASSERT_EQ(0, ::pipe(left));
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setpgid(0, 0);
    guard_group(profiles.path());
    // They hold the pipe as long as they live: one is in the group, and one in a separate session.
    if (::fork() == 0) ::execl("/bin/sleep", "sleep", "1000", nullptr);
    std::array<int, 2> started{};
    if (::pipe2(started.data(), O_CLOEXEC) != 0) ::_exit(1);
    if (::fork() == 0) {
      ::setsid();
      const std::string variable = "PEAKMARK_PROFILE=" + (profiles.path() / "first/program.profile").string();
      std::string name = "sleep";
      std::string seconds = "1000";
      std::array<char*, 3> words{name.data(), seconds.data(), nullptr};
      std::array<char*, 2> variables{const_cast<char*>(variable.c_str()), nullptr};
      ::execve("/bin/sleep", words.data(), variables.data());
      ::_exit(1);
    }
    ::close(started[1]);
    char byte = 0;
    if (::read(started[0], &byte, 1) != 0) ::_exit(1);  // until it executes sleep
    ::kill(::getpid(), SIGKILL);
  }
  ::close(left[1]);
  char byte = 0;
  EXPECT_EQ(0, ::read(left[0], &byte, 1));  // the end of the pipe: nobody is left
  ::close(left[0]);
  ::waitpid(leader, nullptr, 0);
}

TEST(ProgramRun, AFileThatIsNoProgramIsReported) {
  try {
    run_program({"no-such-program"}, {"PATH=/usr/bin:/bin"});
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_STREQ("no-such-program: no such program in the folders of PATH", error.what());
  }
  try {
    run_program({"/etc/passwd"}, {});
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("/etc/passwd: is not a program: "));
  }
}

}  // namespace
}  // namespace peakmark
