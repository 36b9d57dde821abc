#pragma once

// A git repository for tests.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "measure/git/git_repository.hpp"

namespace peakmark {

/// A repository with the commits `one` and `two` of a file `number`.
class TwoCommitsTest : public testing::Test {
 protected:
  TwoCommitsTest() {
    std::filesystem::create_directories(top_);
    const std::string commit =
        "git -c user.name=a -c user.email=a@b commit --quiet -a -m commit && git rev-parse HEAD > ../";
    sh("git init --quiet . && echo 1 > number && git add number && " + commit + "one && echo 2 > number && " +
       commit + "two");
    repository_.emplace(top_);
    one_ = read_text_file(folder_.path() / "one").substr(0, 40);
    two_ = read_text_file(folder_.path() / "two").substr(0, 40);
  }

  void sh(const std::string& script) const {
    const Answer answer = ask(
        {"/bin/sh", {"-e", "-c", "cd '" + top_.string() + "' && " + script}, environment_without_git(), ""},
        std::chrono::minutes(1));
    EXPECT_EQ(answer.end.exit_code, 0) << script << answer.errors;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path top_ = folder_.path() / "project";
  std::optional<GitRepository> repository_;
  std::string one_;
  std::string two_;
};

}  // namespace peakmark
