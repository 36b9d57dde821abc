// Profiles of processes that are killed, fork, and have several recorders or threads.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "record/profile/profile_files.hpp"
#include "record/profile/profile_testing.hpp"

namespace peakmark {
namespace {

TEST_F(Profile, KilledProgramLosesNoCompletedEvent) {
  struct Progress {
    std::atomic<std::uint64_t> done[2];
  };
  auto* const progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    if (!writer_.open(base().c_str(), "test 1")) _exit(1);
    const auto work = [&](int thread) {
      for (std::uint64_t i = 1;; ++i) {
        writer_.allocation(static_cast<std::uint64_t>(thread), static_cast<std::int64_t>(i),
                           MemoryKind::buffer);
        progress->done[thread].store(i);
      }
    };
    std::thread other(work, 1);
    work(0);
  }
  while (progress->done[0] < 20'000 || progress->done[1] < 20'000) sched_yield();
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  ProfileReader reader(base() + "." + std::to_string(child));
  EXPECT_FALSE(reader.complete());
  std::uint64_t seen[2] = {0, 0};
  for (const Event& event : reader.events()) {
    ASSERT_LT(event.address, 2U);
    ASSERT_EQ(event.amounts.bytes, static_cast<std::int64_t>(++seen[event.address]));
  }
  // The event in the making may have been committed, or not.
  for (int thread = 0; thread < 2; ++thread) {
    EXPECT_GE(seen[thread], progress->done[thread]);
    EXPECT_LE(seen[thread], progress->done[thread] + 1);
  }
  munmap(progress, sizeof(Progress));
}

TEST_F(Profile, ForkedChildWritesAFileOfItsOwn) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.release(1);
  pid_t child = fork();
  if (child == 0) {
    if (chdir("/") != 0) _exit(1);
    writer_.release(2);
    writer_.close();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  writer_.release(3);
  writer_.close();
  const auto mine = ProfileReader(own()).events();
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_EQ(mine[1].address, 3U);
  ProfileReader others(base() + "." + std::to_string(child));
  const auto theirs = others.events();
  ASSERT_EQ(theirs.size(), 1U);
  EXPECT_EQ(theirs[0].address, 2U);
  EXPECT_EQ(theirs[0].thread, static_cast<std::uint32_t>(child));
  EXPECT_EQ(others.header().parent_pid, getpid());
}

std::string phases_of(const std::string& path) {
  std::string phases;
  const auto events = ProfileReader(path).events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type == EventType::phase) phases += "[" + text_of(events, i) + "]";
  }
  return phases;
}

TEST_F(Profile, BeginsInThePhaseMarkedBeforeThereWasARecorder) {
  ASSERT_EQ(0, in_child([&] {
              setenv("PEAKMARK_PROFILE", base().c_str(), 1);
              setenv("PEAKMARK_PHASE", (std::to_string(getpid()) + ":setup: tables").c_str(), 1);
              if (!new_writer().open_from_environment("test")) _exit(1);
              if (phases_of(base() + "." + std::to_string(getpid())) != "[setup: tables]") _exit(2);
            }));
}

TEST_F(Profile, AParentsPhaseIsNoneOfItsChild) {
  for (const std::string& mark : {std::to_string(getpid()) + ":call", std::string("call"), std::string()}) {
    const int status = in_child([&] {
      setenv("PEAKMARK_PROFILE", base().c_str(), 1);
      setenv("PEAKMARK_PHASE", mark.c_str(), 1);
      if (!new_writer().open_from_environment("test")) _exit(1);
      if (!phases_of(base() + "." + std::to_string(getpid())).empty()) _exit(2);
    });
    EXPECT_EQ(0, status) << mark;
  }
}

TEST_F(Profile, ForkedChildWithoutEventsLeavesNoFile) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  ASSERT_EQ(in_child([this] { writer_.close(); }), 0);
  writer_.close();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
  EXPECT_TRUE(ProfileReader(own()).complete());
}

TEST_F(Profile, SecondRecorderOfAProcessDoesNotOverwriteTheFirst) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  writer_.release(1);
  writer_.close();
  ProfileWriter& second = new_writer();
  ASSERT_TRUE(second.open(base().c_str(), "test 2"));
  second.close();
  EXPECT_EQ(std::string(second.path()), own() + ".2");
  EXPECT_EQ(ProfileReader(own()).events().size(), 1U);
}

TEST_F(Profile, ThreadsThatWriteWhileItIsClosedDoNoHarm) {
  ASSERT_TRUE(writer_.open(base().c_str(), "test 1"));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) writer_.note("from a thread of the driver, over two slots");
    });
  }
  while (writer_.count() < 40'000) sched_yield();
  writer_.close();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ProfileReader reader(own());
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.events().size(), reader.header().end);
}

/// As `record` of another recording of the name would have it.
void write_id_of_recording(const std::string& name, char digit) {
  std::ofstream(name + ".peakmark-lock") << std::string(2 * sizeof(ProfileHeader::recording), digit);
}

TEST_F(Profile, AProcessThatOutlivedItsRecordingWritesNothingIntoAnother) {
  write_id_of_recording(base(), 'a');
  setenv("PEAKMARK_PROFILE", base().c_str(), 1);
  const std::string messages = folder_.path() / "messages";
  const auto open_in = [&](char digit, bool forks) {
    setenv("PEAKMARK_RECORDING", std::string(2 * sizeof(ProfileHeader::recording), digit).c_str(), 1);
    return in_child([&] {
      dup2(open(messages.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
      const bool is_open = writer_.open_from_environment("test 1");
      writer_.allocation(1, 100, MemoryKind::buffer);
      writer_.release(1);
      if (!forks) _exit(is_open ? 1 : 0);
      write_id_of_recording(base(), 'c');
      _exit(WEXITSTATUS(in_child([&] { writer_.allocation(2, 100, MemoryKind::buffer); })));
    });
  };
  EXPECT_EQ(open_in('b', false), 0);
  EXPECT_TRUE(profiles_beside(base()).empty());
  // The child has its own recording; processes that it forks after the end of that have no profile.
  EXPECT_EQ(open_in('a', true), 0);
  unsetenv("PEAKMARK_RECORDING");
  unsetenv("PEAKMARK_PROFILE");
  ASSERT_EQ(profiles_beside(base()).size(), 1U);
  const ProfileHeader header = ProfileReader(profiles_beside(base()).front()).header();
  EXPECT_THAT(header.recording, testing::Each(0xaa));
  EXPECT_EQ(std::filesystem::file_size(messages), 0U);
}

// The child opens the device before its parent.
TEST_F(Profile, TheProgramIsTheProcessWhoseParentHasNoProfile) {
  ASSERT_EQ(program_profile(base(), 0), std::nullopt);
  const auto write = [&](std::int64_t bytes) {
    ProfileWriter& writer = new_writer();
    if (!writer.open(base().c_str(), "opencl-layer 1")) _exit(1);
    writer.allocation(1, bytes, MemoryKind::buffer);
    writer.close();
  };
  ASSERT_EQ(in_child([&] {
              if (in_child([&] { write(7); }) != 0) _exit(2);
              write(5);
            }),
            0);
  const std::optional<std::filesystem::path> program = program_profile(base(), 0);
  ASSERT_TRUE(program);
  EXPECT_EQ(ProfileReader(*program).header().parent_pid, getpid());
  for (const std::filesystem::path& file : profiles_beside(base()))
    EXPECT_EQ(program_profile(base(), ProfileReader(file).header().pid), file);
}

}  // namespace
}  // namespace peakmark
