#include "measure/supervise/commit_worktree.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

/// A repository with the commits `one` and `two` of a file `number`.
class CommitWorktreeTest : public testing::Test {
 protected:
  CommitWorktreeTest() {
    ::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
    std::filesystem::create_directories(top_);
    const std::string commit =
        "git -c user.name=a -c user.email=a@b commit --quiet -a -m commit && git rev-parse HEAD > ../";
    sh("git init --quiet . && echo 1 > number && git add number && " + commit + "one && echo 2 > number && " +
       commit + "two");
    repository_.emplace(top_);
    one_ = read_text_file(folder_.path() / "one").substr(0, 40);
    two_ = read_text_file(folder_.path() / "two").substr(0, 40);
  }
  ~CommitWorktreeTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  void sh(const std::string& script) const {
    const Answer answer = ask(
        {"/bin/sh", {"-e", "-c", "cd '" + top_.string() + "' && " + script}, environment_without_git(), ""},
        std::chrono::minutes(1));
    EXPECT_EQ(answer.end.exit_code, 0) << script << answer.errors;
  }
  std::size_t worktrees() const {
    const std::string list = repository_->output({"worktree", "list"}) + "\n";
    return static_cast<std::size_t>(std::count(list.begin(), list.end(), '\n'));
  }
  std::unique_ptr<CommitWorktree> build_kept(const std::string& commit, const std::string& command) const {
    auto built = build_commit(*repository_, commit, command, -1);
    built->keep(command);
    return built;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path top_ = folder_.path() / "project";
  std::optional<GitRepository> repository_;
  std::string one_;
  std::string two_;
};

TEST_F(CommitWorktreeTest, AProgramOfAnotherCommitThanHeadIsAWarning) {
  const auto warning = [&](const std::string& commit, const std::filesystem::path& folder) {
    return other_commit_warning("blur", commit, {"/", folder});
  };
  const std::filesystem::path build = top_ / "build";
  std::filesystem::create_directories(build);
  EXPECT_EQ(warning(two_, build), "");
  EXPECT_EQ(warning(two_ + "+", build), "");
  EXPECT_EQ(warning(one_, build), "blur was built from commit " + one_.substr(0, 12) + ", and HEAD is " +
                                      two_.substr(0, 12) + ": build it again to measure HEAD");
  EXPECT_NE(warning(one_ + "+", top_), "");
  EXPECT_EQ(warning("", build), "");
  EXPECT_EQ(warning(std::string(40, '1'), build), "") << "of another project";
  EXPECT_EQ(warning(one_, folder_.path()), "") << "no repository";
}

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

TEST_F(CommitWorktreeTest, VariablesOfAHookDoNotNameTheRepository) {
  ::setenv("GIT_DIR", "/nowhere", 1);
  EXPECT_EQ(GitRepository(top_).commit("HEAD"), two_);
  ::unsetenv("GIT_DIR");
}

}  // namespace
}  // namespace peakmark
