#include "measure/builds/commit_worktree.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "measure/git/git_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

class CommitWorktreeTest : public TwoCommitsTest {
 protected:
  CommitWorktreeTest() { ::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1); }
  ~CommitWorktreeTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  std::size_t worktrees() const {
    const std::string list = repository_->output({"worktree", "list"}) + "\n";
    return static_cast<std::size_t>(std::count(list.begin(), list.end(), '\n'));
  }
  std::unique_ptr<CommitWorktree> build_kept(const std::string& commit, const std::string& command) const {
    auto built = build_commit(*repository_, commit, command, -1);
    built->keep(command);
    return built;
  }
};

TEST_F(CommitWorktreeTest, FilesThatWereBuiltStayFromCommitToCommit) {
  {
    CommitWorktree worktree(*repository_, folder_.path() / "tried", -1);
    worktree.check_out(one_);
    EXPECT_EQ(read_text_file(worktree.top() / "number"), "1\n");
    worktree.build("cp number built && echo changed >> number");
    worktree.check_out(two_);
    EXPECT_EQ(read_text_file(worktree.top() / "number"), "2\n");
    EXPECT_EQ(read_text_file(worktree.top() / "built"), "1\n");
    EXPECT_EQ(worktrees(), 2U);
  }
  EXPECT_EQ(worktrees(), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "tried"));
}

TEST_F(CommitWorktreeTest, AKeptBuildIsOfOneCommand) {
  build_kept(one_, "echo a >> made").reset();
  EXPECT_EQ(read_text_file(build_kept(one_, "echo a >> made")->top() / "made"), "a\n") << "not built again";
  EXPECT_EQ(read_text_file(build_kept(one_, "echo b >> made")->top() / "made"), "b\n");
  EXPECT_EQ(worktrees(), 3U);
}

TEST_F(CommitWorktreeTest, ABuildThatFailsIsRemovedAndItsOutputKept) {
  try {
    build_commit(*repository_, one_, "echo first; echo last >&2; echo; exit 7", -1);
    FAIL();
  } catch (const MeasurementError& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not build: exit code 7: last; its output is in "));
  }
  EXPECT_EQ(worktrees(), 1U);
  EXPECT_EQ(read_text_file(commit_cache(*repository_) / (one_.substr(0, 12) + ".log")), "first\nlast\n\n");
}

TEST_F(CommitWorktreeTest, TheOldestBuildsAreRemovedAndThoseOfKilledProcesses) {
  build_kept(one_, "true").reset();
  const auto in_use = build_kept(two_, "true");
  build_kept(two_, "exit 0").reset();
  {
    CommitWorktree killed(*repository_, commit_cache(*repository_) / "bisect-1", -1);
    killed.check_out(one_);
    killed.keep("");
    std::filesystem::remove(commit_cache(*repository_) / "bisect-1" / "built");
  }
  EXPECT_EQ(worktrees(), 5U);
  remove_builds(*repository_, 3);
  EXPECT_EQ(worktrees(), 4U);
  EXPECT_FALSE(std::filesystem::exists(commit_cache(*repository_) / "bisect-1"));
  remove_builds(*repository_, 0);
  EXPECT_EQ(worktrees(), 2U) << "one is in use";
  EXPECT_TRUE(std::filesystem::exists(in_use->top()));
}

TEST_F(CommitWorktreeTest, WhatAKilledCheckoutHasLeftIsReplaced) {
  const std::filesystem::path folder = folder_.path() / "tried";
  std::filesystem::create_directories(folder / "worktree" / "project");
  std::ofstream(folder / "worktree" / "project" / "number") << "half\n";
  CommitWorktree worktree(*repository_, folder, -1);
  worktree.check_out(one_);
  EXPECT_EQ(read_text_file(worktree.top() / "number"), "1\n");
}

}  // namespace
}  // namespace peakmark
