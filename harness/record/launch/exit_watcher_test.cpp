#include "record/launch/exit_watcher.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/profile_writer.hpp"

namespace peakmark {
namespace {

ProfileWriter child_writer;  // in static storage, as in a recorder

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class ExitWatcherTest : public testing::Test {
 protected:
  /// A child that records under `name`. It calls _exit, or closes its profile before that.
  ProfileHeader child(const std::string& name, bool closes) const {
    const std::string path = folder_.path() / name;
    const pid_t process = fork();
    if (process == 0) {
      child_writer.open(path.c_str(), "test 1");
      child_writer.allocation(1, 100, MemoryKind::buffer);
      if (closes) child_writer.close();
      _exit(0);
    }
    EXPECT_EQ(waitpid(process, nullptr, 0), process);
    return header(path + "." + std::to_string(process));
  }
  static ProfileHeader header(const std::string& path) {
    path_ = path;
    return ProfileReader(path).header();
  }

  const TemporaryFolder folder_;
  static inline std::string path_;
};

TEST_F(ExitWatcherTest, WritesTheEndOfProcessesThatCouldNot) {
  {
    const ExitWatcher ends(folder_.path() / "p");
    child("p", false);
  }
  const ProfileHeader written = header(path_);
  EXPECT_EQ(written.closed, 0U);
  EXPECT_GE(written.end_monotonic_ns, written.start_monotonic_ns);
  EXPECT_LE(written.end_monotonic_ns, monotonic_ns());
}

TEST_F(ExitWatcherTest, KeepsTheEndThatTheRecorderWrote) {
  ProfileHeader closed{};
  {
    const ExitWatcher ends(folder_.path() / "p");
    closed = child("p", true);
  }
  EXPECT_EQ(closed.closed, 1U);
  EXPECT_NE(closed.end_monotonic_ns, 0);
  EXPECT_EQ(header(path_).end_monotonic_ns, closed.end_monotonic_ns);
}

TEST_F(ExitWatcherTest, IgnoresOtherProfiles) {
  {
    const ExitWatcher ends(folder_.path() / "p");
    child("q", false);
  }
  EXPECT_EQ(header(path_).end_monotonic_ns, 0);
}

}  // namespace
}  // namespace peakmark
