#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_testing.hpp"

namespace peakmark {

/// A generated Git repository of a project with a worker. The worker of a commit is its file `worker.sh`,
/// which runs the fake worker with an environment. A commit with a file `broken` does not build.
class CommitsTest : public CommandTest {
 protected:
  void SetUp() override {
    for (const std::string& entry : {"HOME=" + folder_.path().string(), "XDG_CACHE_HOME=" + cache_.string(),
                                     std::string("GIT_CONFIG_NOSYSTEM=1"), std::string("GIT_AUTHOR_NAME=a"),
                                     std::string("GIT_AUTHOR_EMAIL=a@b"), std::string("GIT_COMMITTER_NAME=a"),
                                     std::string("GIT_COMMITTER_EMAIL=a@b")})
      environment_.push_back(entry);
    std::filesystem::create_directories(project_ / "suites");
    sh("git init --quiet --initial-branch=main . && echo /build > .gitignore");
    std::ofstream(project_ / "suites" / "stencil.toml")
        << "worker = \"../build/worker\"\n[[sweep]]\nvariants = \"fake/case\"\nbackend = \"dry\"\n"
           "axes = { does = [\"timed\"], n = [1, 3] }\n";
  }

  /// Runs a script in the project, and returns its output.
  std::string sh(const std::string& script) const {
    const Answer answer = in_project({"/bin/sh", "-e", "-c", script});
    EXPECT_EQ(answer.end.exit_code, 0) << script << "\n" << answer.errors;
    return answer.output;
  }

  Answer in_project(std::vector<std::string> words) const { return ask(project_command(words), kLimit); }
  WorkerCommand project_command(const std::vector<std::string>& words) const {
    WorkerCommand started = command({"-c", R"(cd -- "$1" && shift && exec "$@")", "sh", project_.string()});
    started.program = "/bin/sh";
    started.arguments.insert(started.arguments.end(), words.begin(), words.end());
    return started;
  }
  static std::vector<std::string> peakmark_words(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{PEAKMARK_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }

  /// Writes the worker, which sets an environment such as `FAKE_WORKER_EXTRA_BYTES=256`.
  void write_worker(const std::string& environment) const {
    std::ofstream(project_ / "worker.sh") << "#!/bin/sh\n"
                                          << environment << " exec " PEAKMARK_FAKE_WORKER " \"$@\"\n";
  }
  /// Commits every file. The subject is `commit NUMBER`.
  void commit(int number) const {
    std::ofstream(project_ / "number") << number << "\n";
    sh("git add -A && git commit --quiet -m 'commit " + std::to_string(number) + "'");
  }
  /// Makes the commits 1 to `count`, tagged v1, v2 …. From commit `planted` on, the worker has this
  /// environment. The commits in `broken` do not build.
  void commits(int count, int planted, const std::string& environment,
               const std::vector<int>& broken = {}) const {
    for (int number = 1; number <= count; ++number) {
      write_worker(number >= planted ? environment : "");
      const bool is_broken = std::ranges::find(broken, number) != broken.end();
      if (is_broken)
        std::ofstream(project_ / "broken") << "\n";
      else
        std::filesystem::remove(project_ / "broken");
      commit(number);
      sh("git tag v" + std::to_string(number));
    }
  }

  std::string worktrees() const { return sh("git worktree list"); }
  static std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

  const std::filesystem::path project_ = folder_.path() / "project";
  const std::filesystem::path cache_ = folder_.path() / "cache";
  const std::string suite_ = "suites/stencil.toml";
  const std::string case_ = "fake/case/dry/does:timed/n:3";
  const std::string build_ =
      "test ! -e broken || { echo cannot; exit 1; }; mkdir -p build && cp worker.sh build/worker && chmod +x "
      "build/worker";
};

}  // namespace peakmark
