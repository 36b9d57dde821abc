// Tests of starting processes when the system does not answer or has no free descriptor.
#include "record/subprocess/spawn.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>

#include "base/descriptor.hpp"
#include "base/files_testing.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

// A process that opens a file waits as long as another holds a lease of it. This is like a file system that
// does not answer.
TEST(Spawn, AProgramThatTheSystemDoesNotBeginIsATimeout) {
  const TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "program";
  std::filesystem::copy_file("/bin/true", program);
  const Descriptor leased(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  std::signal(SIGIO, SIG_IGN);  // the signal that another process waits
  if (::fcntl(leased.get(), F_SETLEASE, F_WRLCK) != 0) {
    GTEST_SKIP() << "no lease of a file is given here: " << std::strerror(errno);
  }
  try {
    spawn({program, {}, {"PATH=/usr/bin:/bin"}, ""}, {-1, -1, -1, -1}, {.limit = 100ms});
    FAIL() << "it was begun";
  } catch (const StartTimeout& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("program: cannot be started: the system has not started it after 0.1 s"));
  }
  EXPECT_THAT(given_up_children(), IsEmpty());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "it is killed and reaped";
  std::signal(SIGIO, SIG_DFL);
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Makes and destroys an object with at most 0, 1, 2 … free descriptors until it succeeds. Returns how often
/// it failed; a failure must not leave a descriptor open.
int failures_without_a_leak(const std::function<void()>& make) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const std::ptrdiff_t open_before = open_descriptors();
  int failures = 0;
  for (rlim_t limit = 3; limit < 100; ++limit) {
    const rlimit lower{limit, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lower);
    bool is_made = true;
    try {
      make();
    } catch (const Error&) {
      is_made = false;
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(open_descriptors(), open_before) << "left open at a limit of " << limit;
    if (is_made) return failures;
    ++failures;
  }
  ADD_FAILURE() << "it cannot be made at all";
  return failures;
}

TEST(Descriptors, NoneIsLeftOpenByAWorkerThatCannotBeMade) {
  EXPECT_GE(failures_without_a_leak([] {
              WorkerProcess({"/bin/true", {}, {"PATH=/usr/bin:/bin"}, "input"});
            }),
            8);
}

TEST(Descriptors, NoneIsLeftOpenByAWatchOfSignalsThatCannotBeMade) {
  sigset_t before{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  EXPECT_GE(failures_without_a_leak([] { const SignalWatch signals; }), 3);
  sigset_t after{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < SIGRTMAX; ++signal) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

}  // namespace
}  // namespace peakmark
