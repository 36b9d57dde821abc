#include "measure/git/git_repository.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "measure/git/git_testing.hpp"

namespace peakmark {
namespace {

using GitRepositoryTest = TwoCommitsTest;

TEST_F(GitRepositoryTest, AProgramOfAnotherCommitThanHeadIsAWarning) {
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

TEST_F(GitRepositoryTest, VariablesOfAHookDoNotNameTheRepository) {
  ::setenv("GIT_DIR", "/nowhere", 1);
  EXPECT_EQ(GitRepository(top_).commit("HEAD"), two_);
  ::unsetenv("GIT_DIR");
}

}  // namespace
}  // namespace peakmark
