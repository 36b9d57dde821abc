#include "record/profile/profile_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "record/recorders/profile_writer.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of_name(const std::filesystem::path& name) {
  try {
    const RecordingName taken(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(RecordingName, IsTakenOnce) {
  const TemporaryFolder folder;
  const auto name = folder.path() / "p";
  {
    const RecordingName taken(name);
    EXPECT_THAT(refusal_of_name(name),
                AllOf(HasSubstr("p: another peakmark records into it; wait for it"), HasSubstr("-o")));
    EXPECT_EQ("taken", refusal_of_name(folder.path() / "p2"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ("taken", refusal_of_name(name));
}

TEST(RecordingName, WritesTheIdOfItsRecording) {
  const TemporaryFolder folder;
  const RecordingName taken(folder.path() / "p");
  const std::string id = taken.write_id();
  EXPECT_EQ(id.size(), 2 * sizeof(ProfileHeader::recording));
  std::ifstream file(folder.path() / "p.peakmark-lock");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), id);
  EXPECT_NE(taken.write_id(), id);
}

TEST(RecordingName, OneOfManyAtATimeHasIt) {
  const TemporaryFolder folder;
  std::atomic<int> held{0};
  const auto hold_and_give_back = [&] {
    for (int turn = 0; turn < 200; ++turn) {
      try {
        const RecordingName taken(folder.path() / "p");
        EXPECT_EQ(++held, 1);
        --held;
      } catch (const UsageError&) {
      }
    }
  };
  std::vector<std::thread> others;
  for (int one = 0; one < 4; ++one) others.emplace_back(hold_and_give_back);
  for (std::thread& other : others) other.join();
}

TEST(RecordingName, IsFreeAgainWhenItsProcessIsKilled) {
  const TemporaryFolder folder;
  const pid_t process = fork();
  if (process == 0) {
    const RecordingName taken(folder.path() / "p");
    raise(SIGKILL);
  }
  ASSERT_EQ(waitpid(process, nullptr, 0), process);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "p.peakmark-lock"));
  EXPECT_EQ("taken", refusal_of_name(folder.path() / "p"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RecordingName, ReportsWhyItCannotBeWrittenAndWhatToDo) {
  EXPECT_THAT(refusal_of_name("/proc/p"), AllOf(HasSubstr("/proc/p: cannot be written: "), HasSubstr("-o")));
  const std::string refusal = refusal_of_name("/tmp/" + std::string(100'000, 'p'));
  EXPECT_THAT(refusal, AllOf(HasSubstr("File name too long"), HasSubstr("name a shorter one")));
  EXPECT_LT(refusal.size(), 300U);
}

TEST(RecordingName, WhatAKilledRecordingLeftIsRemoved) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "p.error.77") << "said";
  std::ofstream(folder.path() / "p.error.mine");
  std::ofstream(folder.path() / "pp.error.77");
  remove_earlier_recording(folder.path() / "p");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "p.error.77"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "p.error.mine"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "pp.error.77"));
}

std::string refusal_to_remove(const std::filesystem::path& name) {
  try {
    remove_earlier_recording(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "removed";
}

ProfileWriter outliving_writer;  // in static storage, as in a recorder

TEST(RecordingName, AProfileThatIsStillWrittenIsNotRemoved) {
  const TemporaryFolder folder;
  const auto name = folder.path() / "p";
  for (const bool closes_descriptors : {false, true}) {
    std::array<int, 2> to_parent{};
    std::array<int, 2> to_child{};
    ASSERT_EQ(pipe(to_parent.data()), 0);
    ASSERT_EQ(pipe(to_child.data()), 0);
    const pid_t process = fork();
    if (process == 0) {
      outliving_writer.open(name.c_str(), "test 1");
      outliving_writer.release(1);
      close(to_child[1]);
      dup2(to_child[0], 0);
      dup2(to_parent[1], 1);
      if (closes_descriptors) syscall(SYS_close_range, 3U, ~0U, 0U);
      char byte = 0;
      if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 0) _exit(1);
      _exit(0);  // without closing its profile
    }
    close(to_parent[1]);
    close(to_child[0]);
    char byte = 0;
    ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
    const std::filesystem::path file = name.string() + "." + std::to_string(process);
    EXPECT_THAT(refusal_to_remove(name),
                AllOf(HasSubstr("process " + std::to_string(process)), HasSubstr("-o")));
    EXPECT_TRUE(std::filesystem::exists(file));
    // As `record` names the profile of a program that has gone to the background.
    std::filesystem::rename(file, name);
    EXPECT_THAT(refusal_to_remove(name), HasSubstr("process " + std::to_string(process)));
    close(to_child[1]);
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(refusal_to_remove(name), "removed");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    close(to_parent[0]);
  }
}

TEST(RecordingName, WhatKilledRecordingsOfOtherNamesLeftIsRemoved) {
  const TemporaryFolder folder;
  const auto make = [&](const char* file, std::chrono::hours age) {
    std::ofstream(folder.path() / file) << "";
    std::filesystem::last_write_time(folder.path() / file,
                                     std::filesystem::file_time_type::clock::now() - age);
  };
  const RecordingName held(folder.path() / "held");
  make("held.peakmark-lock", std::chrono::hours(1));
  make("killed.peakmark-lock", std::chrono::hours(1));
  make("killed.error.77", std::chrono::hours(1));
  make("begins.peakmark-lock", std::chrono::hours(0));
  remove_earlier_recording(folder.path() / "p");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "held.peakmark-lock"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "begins.peakmark-lock"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "killed.peakmark-lock"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "killed.error.77"));
}

TEST(RecordingName, KnowsThatItsFolderIsGone) {
  const TemporaryFolder folder;
  const auto inner = folder.path() / "inner";
  for (const bool is_replaced : {false, true}) {
    std::filesystem::create_directory(inner);
    const RecordingName taken(inner / "p");
    EXPECT_FALSE(taken.has_lost_its_folder());
    std::filesystem::rename(inner, folder.path() / (is_replaced ? "second" : "first"));
    if (is_replaced) std::filesystem::create_directory(inner);
    EXPECT_TRUE(taken.has_lost_its_folder());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "first")) << "a lock was left behind";
}

}  // namespace
}  // namespace peakmark
