#include "record/launch/program_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

constexpr char kVariable[] = "PEAKMARK_WATCH_TEST=1";

/// A program that has started and printed so, and that waits until it is ended.
class Waiting {
 public:
  explicit Waiting(std::vector<std::string> environment, const char* script = "echo; read line") {
    std::array<int, 2> out{};
    EXPECT_EQ(pipe(in_.data()), 0);
    EXPECT_EQ(pipe(out.data()), 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&files, in_[1]);
    std::string shell = "/bin/sh";
    std::string option = "-c";
    std::string text = script;
    std::array<char*, 4> words{shell.data(), option.data(), text.data(), nullptr};
    std::vector<char*> variables;
    for (std::string& variable : environment) variables.push_back(variable.data());
    variables.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&process_, "/bin/sh", &files, nullptr, words.data(), variables.data()), 0);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    char said = 0;
    EXPECT_EQ(read(out[0], &said, 1), 1);
    close(out[0]);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    close(in_[0]);
    close(in_[1]);
    waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  std::array<int, 2> in_{};
  pid_t process_ = -1;
};

TEST(ProgramWatch, SeesWhetherTheVariablesAreThere) {
  const Waiting with({"A=b", kVariable});
  ProgramWatch watch(with.process(), kVariable);
  EXPECT_FALSE(watch.scan());
  ASSERT_EQ(watch.seen().count(with.process()), 1U);
  const SeenProcess& seen = watch.seen().at(with.process());
  EXPECT_TRUE(seen.has_variables);
  EXPECT_FALSE(seen.is_static);
  EXPECT_FALSE(seen.has_recorder);
  EXPECT_TRUE(seen.loaders.empty());
  EXPECT_EQ(processes_with(kVariable).count(with.process()), 1U);

  const Waiting without({"A=b", "PEAKMARK_WATCH_TEST=12"});
  ProgramWatch other(without.process(), kVariable);
  other.scan();
  EXPECT_FALSE(other.seen().at(without.process()).has_variables);
  EXPECT_EQ(other.seen().at(without.process()).other_profile, "");
  EXPECT_EQ(processes_with(kVariable).count(without.process()), 0U);
}

TEST(ProgramWatch, AnEmptyEnvironmentLacksTheVariables) {
  const Waiting program({});
  ProgramWatch watch(program.process(), kVariable);
  watch.scan();
  EXPECT_FALSE(watch.seen().at(program.process()).has_variables);
}

TEST(ProgramWatch, AFileThatCannotBeReadIsNoError) {
  const TemporaryFolder folder;
  // The file opens, but the first read fails, as it does for a process that has just ended.
  EXPECT_EQ(read_proc_file(folder.path()), std::nullopt);
  EXPECT_EQ(read_proc_file(folder.path() / "none"), std::nullopt);
  EXPECT_THAT(read_proc_file("/proc/self/maps").value_or(""), testing::HasSubstr("[stack]"));
}

/// Processes start and end during the scan, as under a shell that starts many.
TEST(ProgramWatch, ProcessesMayEndDuringAScan) {
  const Waiting program({kVariable},
                        "echo; i=0; while [ $i -lt 300 ]; do /bin/true & i=$((i+1)); done; read line");
  ProgramWatch watch(program.process(), kVariable);
  for (int i = 0; i < 200; ++i) {
    ASSERT_NO_THROW(watch.scan());
    ASSERT_NO_THROW(processes_with(kVariable));
  }
  for (const auto& [process, seen] : watch.seen()) EXPECT_TRUE(seen.has_variables) << process;
}

TEST(ProgramWatch, SeesLoadersAndRecorders) {
  const TemporaryFolder folder;
  const std::string loader = folder.path() / "libOpenCL-wheel.so.1";
  const std::string recorder = folder.path() / "libpeakmark-opencl.so";
  std::filesystem::copy_file(PEAKMARK_FAKE_LAYER, loader);
  std::filesystem::copy_file(PEAKMARK_FAKE_LAYER, recorder);
  const Waiting with_loader({"LD_PRELOAD=" + loader});
  ProgramWatch watch(with_loader.process(), kVariable);
  EXPECT_FALSE(watch.scan());
  EXPECT_THAT(watch.seen().at(with_loader.process()).loaders, testing::ElementsAre(loader));
  EXPECT_FALSE(watch.seen().at(with_loader.process()).has_variables);
  // A program with marks loads the recorder without a loader. Nothing is recorded yet then.
  const Waiting marked({"LD_PRELOAD=" + recorder});
  EXPECT_FALSE(ProgramWatch(marked.process(), kVariable).scan());
  const Waiting recorded({"LD_PRELOAD=" + recorder + ":" + loader});
  EXPECT_TRUE(ProgramWatch(recorded.process(), kVariable).scan());
}

TEST(ProgramWatch, SeesChildren) {
  const Waiting parent({kVariable}, "/bin/sh -c 'echo; read line'; true");
  ProgramWatch watch(parent.process(), kVariable);
  watch.scan();
  EXPECT_EQ(watch.seen().size(), 2U);
}

TEST(ProgramWatch, WhatWasSeenStaysWhenTheProcessHasEnded) {
  pid_t process = 0;
  ProgramWatch watch(0, kVariable);
  {
    const Waiting program({kVariable});
    process = program.process();
    watch = ProgramWatch(process, kVariable);
    watch.scan();
  }
  EXPECT_FALSE(watch.scan());
  EXPECT_TRUE(watch.seen().at(process).has_variables);
}

TEST(ProgramFile, AStaticProgramHasNoInterpreter) {
  EXPECT_FALSE(is_static_program("/proc/self/exe"));
  EXPECT_FALSE(is_static_program("/etc/passwd"));
  EXPECT_FALSE(is_static_program("/nonexistent"));
#ifdef PEAKMARK_STATIC_PROGRAM
  EXPECT_TRUE(is_static_program(PEAKMARK_STATIC_PROGRAM));
#endif
}

}  // namespace
}  // namespace peakmark
