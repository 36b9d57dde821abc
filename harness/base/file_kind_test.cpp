#include "base/file_kind.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

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

TEST(FileKind, TellsWhatIsNoFile) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  const auto pipe = folder.path() / "pipe";
  std::ofstream(file) << "text";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, folder.path() / "link");
  EXPECT_EQ(kind_of_other_than_file(file), "");
  EXPECT_EQ(kind_of_other_than_file(folder.path() / "nothing"), "");
  EXPECT_EQ(kind_of_other_than_file(folder.path()), "a folder");
  EXPECT_EQ(kind_of_other_than_file(pipe), "a pipe");
  EXPECT_EQ(kind_of_other_than_file(folder.path() / "link"), "a pipe");
  EXPECT_EQ(kind_of_other_than_file("/dev/null"), "a device");
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
  const NewFile live = create_file_beside(file);
  const std::filesystem::path left = folder.path() / "run.json.new-0123456789abcdef";
  const std::filesystem::path note = folder.path() / "run.json.new-notes";
  const std::filesystem::path other = folder.path() / "other.json.new-0123456789abcdef";
  for (const std::filesystem::path& one : {left, note, other}) std::ofstream(one) << "text";
  const std::filesystem::path link = folder.path() / "run.json.new-0123456789abcde0";
  std::filesystem::create_symlink(note, link);

  const NewFile second = create_file_beside(file);
  EXPECT_FALSE(std::filesystem::exists(left));
  for (const std::filesystem::path& one : {live.path, second.path, note, other, link}) {
    EXPECT_TRUE(std::filesystem::exists(one)) << one;
  }
  ::close(live.descriptor);
  ::close(second.descriptor);
  ::close(create_file_beside(file).descriptor);
  EXPECT_FALSE(std::filesystem::exists(live.path));
}

}  // namespace
}  // namespace peakmark
