#include "base/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::filesystem::path& path) {
  try {
    check_replaceable(path);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(FileKind, DistinguishesFilesFromOthers) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  const auto pipe = folder.path() / "pipe";
  std::ofstream(file) << "text";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, folder.path() / "link");
  EXPECT_EQ(non_file_kind(file), "");
  EXPECT_EQ(non_file_kind(folder.path() / "nothing"), "");
  EXPECT_EQ(non_file_kind(folder.path()), "a folder");
  EXPECT_EQ(non_file_kind(pipe), "a pipe");
  EXPECT_EQ(non_file_kind(folder.path() / "link"), "a pipe");
  EXPECT_EQ(non_file_kind("/dev/null"), "a device");
}

TEST(FileKind, OnlyAFileIsReplaced) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "text";
  EXPECT_EQ(refusal_of(folder.path() / "file"), "");
  EXPECT_EQ(refusal_of(folder.path() / "nothing"), "");
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("is a folder; name a file in it"));
  EXPECT_THAT(refusal_of(folder.path() / "nothing/"), HasSubstr("is a folder; name a file in it"));
  EXPECT_THAT(refusal_of("/dev/null"), HasSubstr("/dev/null: is a device, not a file that can be replaced"));
}

TEST(FileKind, WhatAKilledProcessLeftIsRemoved) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "run.json";
  NewFile live = create_file_beside(file);
  const std::filesystem::path left = folder.path() / "run.json.new-0123456789abcdef";
  const std::filesystem::path note = folder.path() / "run.json.new-notes";
  const std::filesystem::path other = folder.path() / "other.json.new-0123456789abcdef";
  for (const std::filesystem::path& one : {left, note, other}) std::ofstream(one) << "text";
  const std::filesystem::path link = folder.path() / "run.json.new-0123456789abcde0";
  std::filesystem::create_symlink(note, link);

  NewFile second = create_file_beside(file);
  EXPECT_FALSE(std::filesystem::exists(left));
  for (const std::filesystem::path& one : {live.path, second.path, note, other, link}) {
    EXPECT_TRUE(std::filesystem::exists(one)) << one;
  }
  live.descriptor.close();
  second.descriptor.close();
  create_file_beside(file);
  EXPECT_FALSE(std::filesystem::exists(live.path));
}

class ScratchFolderTest : public testing::Test {
 protected:
  ScratchFolderTest() { ::setenv("TMPDIR", where_.path().c_str(), 1); }
  ~ScratchFolderTest() override { ::unsetenv("TMPDIR"); }
  ScratchFolderTest(const ScratchFolderTest&) = delete;
  ScratchFolderTest& operator=(const ScratchFolderTest&) = delete;

  /// A process that owns a folder with a file in it until it is killed.
  struct Owner {
    pid_t pid = 0;
    std::filesystem::path folder;
    void kill() const {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  };
  static Owner start_owner() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    Owner owner;
    owner.pid = ::fork();
    if (owner.pid == 0) {
      const ScratchFolder folder;
      std::ofstream(folder.path() / "worker.profile") << "bytes";
      const std::string path = folder.path().string() + "\n";
      if (::write(ends[1], path.data(), path.size()) > 0) ::pause();
      ::_exit(1);
    }
    ::close(ends[1]);
    char letter = 0;
    std::string path;
    while (::read(ends[0], &letter, 1) == 1 && letter != '\n') path += letter;
    ::close(ends[0]);
    owner.folder = path;
    return owner;
  }

  const TemporaryFolder where_;
};

TEST_F(ScratchFolderTest, IsGoneWithItsOwner) {
  std::optional<ScratchFolder> folder(std::in_place);
  const std::filesystem::path path = folder->path();
  EXPECT_EQ(path.parent_path(), where_.path());
  std::ofstream(path / "file") << "bytes";
  folder.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ScratchFolderTest, OneOfAKilledOwnerGoesWithTheNext) {
  const Owner killed = start_owner();
  const Owner living = start_owner();
  EXPECT_TRUE(std::filesystem::exists(killed.folder)) << "its owner lives";
  killed.kill();
  EXPECT_TRUE(std::filesystem::exists(killed.folder));
  {
    const ScratchFolder next;
    EXPECT_FALSE(std::filesystem::exists(killed.folder));
    EXPECT_TRUE(std::filesystem::exists(living.folder / "worker.profile"));
  }
  living.kill();
  const ScratchFolder last;
  EXPECT_FALSE(std::filesystem::exists(living.folder));
}

/// Another process that removes old folders may find a folder after it is made and before it is locked.
TEST_F(ScratchFolderTest, ManyAtOnceLeaveEachOtherAlone) {
  constexpr int kThreads = 8;
  std::atomic<int> lost = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&lost] {
        for (int i = 0; i < 200; ++i) {
          const ScratchFolder folder;
          if (!std::ofstream(folder.path() / "worker.profile")) ++lost;
        }
      });
    }
  }
  EXPECT_EQ(lost, 0);
}

TEST_F(ScratchFolderTest, WhatOnlyHasTheNameStays) {
  const std::filesystem::path file = where_.path() / "peakmark-run-notes";
  std::ofstream(file) << "mine";
  const std::filesystem::path target = where_.path() / "target";
  std::filesystem::create_directory(target);
  std::filesystem::create_directory_symlink(target, where_.path() / "peakmark-run-link");
  const ScratchFolder folder;
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(std::filesystem::exists(target));
}

TEST_F(ScratchFolderTest, AMissingFolderIsReported) {
  ::setenv("TMPDIR", "/proc", 1);
  try {
    const ScratchFolder folder;
    FAIL() << folder.path();
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("/proc: cannot create a folder for profiles"),
              std::string::npos);
  }
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_THROW(ScratchFolder(), IoError);
}

}  // namespace
}  // namespace peakmark
