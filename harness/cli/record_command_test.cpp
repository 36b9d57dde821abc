// Tests of `peakmark record` as a user calls it, on an unchanged program.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "cli/record_command_testing.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(RecordCommand, CountsWhatAForeignProgramAllocates) {
  const Result result = record("-- $PROGRAM leak");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "said by the program\n");
  EXPECT_THAT(result.err, IsEmpty());
  const LedgerSummary summary = recorded(profile());
  EXPECT_EQ(summary.peak_bytes, 1000);
  EXPECT_EQ(summary.live_at_end_bytes, 500);
  EXPECT_EQ(summary.allocations, 2);
  ProfileReader reader(profile());
  EXPECT_TRUE(reader.complete());
  EXPECT_THAT(reader.command_line(), testing::ElementsAre(PEAKMARK_ALLOCATING_PROGRAM, "leak"));
  EXPECT_THAT(profiles_beside(profile()), IsEmpty());
}

TEST_F(RecordCommand, NothingAllocatedIsStillARecording) {
  EXPECT_EQ(record("-- $PROGRAM touch").code, 0);
  EXPECT_EQ(recorded(profile()).allocations, 0);
}

TEST_F(RecordCommand, ExitCodeIsTheProgramsOwn) {
  EXPECT_EQ(record("-- $PROGRAM exit 7").code, 7);
  EXPECT_EQ(recorded(profile()).peak_bytes, 100);
  EXPECT_EQ(record("-- sh -c 'kill -9 $$'").code, 128 + 9);
  const Result missing = record("-- no-such-program");
  EXPECT_EQ(missing.code, 127);
  EXPECT_THAT(missing.err, HasSubstr("no-such-program: no such program in the folders of PATH"));
}

TEST_F(RecordCommand, LoaderWithoutADriver) {
  const Result result = record("-- $PROGRAM touch", "export OCL_ICD_VENDORS=/nonexistent;");
  EXPECT_EQ(result.code, 96);
  EXPECT_THAT(result.err, HasSubstr("found no OpenCL driver"));
}

TEST_F(RecordCommand, ArgumentsReachTheProgramUntouched) {
  const Result result = record("-- printf '<%s>' -o '' -- --sync '[a,b]' '{}' check -h");
  EXPECT_EQ(result.out, "<-o><><--><--sync><[a,b]><{}><check><-h>");
}

TEST_F(RecordCommand, WhatFollowsTheProgramIsItsOwn) {
  EXPECT_EQ(record("printf '<%s>' -o result --json --no-such -- a").out,
            "<-o><result><--json><--no-such><--><a>");
  EXPECT_EQ(record("-- printf '<%s>' -- a").out, "<--><a>");
  EXPECT_FALSE(std::filesystem::exists("result"));
  EXPECT_EQ(record("--no-such printf").code, 2);
  EXPECT_EQ(record("").code, 2);
  EXPECT_EQ(record("--").code, 2);
}

TEST_F(RecordCommand, AProfileThatIsCalledLikeAProcessOfAnotherStays) {
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  const std::string own = file("p.4000000000");  // no process has that number
  std::filesystem::copy_file(profile(), own);
  std::filesystem::copy_file(profile(), file("p.1.2"));
  EXPECT_THAT(profiles_beside(profile()), IsEmpty());
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  EXPECT_EQ(recorded(own).peak_bytes, 1000);
  EXPECT_EQ(recorded(file("p.1.2")).peak_bytes, 1000);
}

TEST_F(RecordCommand, WhatIsShownIsNotWrittenOver) {
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  std::filesystem::create_hard_link(profile(), file("same"));
  std::filesystem::create_symlink(profile(), file("link"));
  const auto show = [this](const std::string& arguments) {
    const std::string line =
        PEAKMARK_COMMAND " show " + arguments + " " + profile() + " >" + file("out") + " 2>" + file("err");
    return WEXITSTATUS(std::system(line.c_str()));
  };
  for (const char* const option : {"--html ", "--trace "}) {
    for (const char* const name : {"p", "same", "link"}) {
      EXPECT_EQ(show(option + file(name)), 2);
      EXPECT_THAT(text(file("err")), HasSubstr("is the profile to be shown"));
    }
    EXPECT_EQ(recorded(profile()).peak_bytes, 1000);
    EXPECT_EQ(show(option + file("new")), 0);
    EXPECT_EQ(show(option + file("new")), 0);
    EXPECT_GT(std::filesystem::file_size(file("new")), 100U);
    EXPECT_EQ(show(std::string(option) + "/dev/full"), 2);
    EXPECT_EQ(show(option + file("none/new")), 2);
    EXPECT_THAT(text(file("err")), HasSubstr("cannot be written: No such file or directory"));
  }
  std::filesystem::resize_file(profile(), 4096);
  EXPECT_EQ(show("--json"), 0);
  EXPECT_THAT(text(file("out")), HasSubstr("\"complete\": false"));
  const std::string line =
      PEAKMARK_COMMAND " compare " + file("same") + " " + profile() + " 2>" + file("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 5);
  EXPECT_THAT(text(file("err")), HasSubstr("the file is cut short, 0 of its"));
}

TEST_F(RecordCommand, SyncMakesThePeakRepeat) {
  ASSERT_EQ(record("--sync -- $PROGRAM held").code, 0);
  EXPECT_EQ(recorded(profile()).peak_bytes, 1'000'000);
  EXPECT_EQ(recorded(profile()).allocations, 20);
  ASSERT_EQ(record("-- $PROGRAM held").code, 0);
  EXPECT_GE(recorded(profile()).peak_bytes, 1'000'000);
}

TEST_F(RecordCommand, FurtherProcessesKeepTheirFiles) {
  ASSERT_EQ(record("-- $PROGRAM fork").code, 0);
  EXPECT_EQ(recorded(profile()).peak_bytes, 300);
  const auto others = profiles_beside(profile());
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(recorded(others[0]).peak_bytes, 400);
  EXPECT_EQ(ProfileReader(others[0]).header().parent_pid, ProfileReader(profile()).header().pid);
  // The next recording with that name removes the profiles of this one.
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  EXPECT_THAT(profiles_beside(profile()), IsEmpty());
}

TEST_F(RecordCommand, ProgramsOfAScript) {
  ASSERT_EQ(record("-- sh -c '$PROGRAM leak; $PROGRAM exit 0; true'",
                   "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";")
                .code,
            0);
  EXPECT_EQ(recorded(profile()).peak_bytes, 1000);
  const auto others = profiles_beside(profile());
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(recorded(others[0]).peak_bytes, 100);
}

TEST_F(RecordCommand, SignalsReachTheProgramAndTheProfileIsWhole) {
  std::array<int, 2> out{};
  ASSERT_EQ(pipe(out.data()), 0);
  const pid_t command = fork();
  if (command == 0) {
    dup2(out[1], STDOUT_FILENO);
    execl(PEAKMARK_COMMAND, PEAKMARK_COMMAND, "record", "-o", profile().c_str(), "--",
          PEAKMARK_ALLOCATING_PROGRAM, "interrupt", nullptr);
    _exit(1);
  }
  close(out[1]);
  std::array<char, 6> said{};
  ASSERT_EQ(read(out[0], said.data(), said.size()), 6);
  close(out[0]);
  kill(command, SIGINT);
  int status = 0;
  waitpid(command, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 40 + SIGINT);
  EXPECT_TRUE(ProfileReader(profile()).complete());
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 700);
}

/// `record` on a program that prints when it is ready, and runs until its input ends or a signal comes.
class Waiting {
 public:
  explicit Waiting(const std::string& profile, const std::string& errors) {
    std::array<int, 2> out{};
    EXPECT_EQ(pipe2(in_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    command_ = fork();
    if (command_ == 0) {
      dup2(in_[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      execl(PEAKMARK_COMMAND, PEAKMARK_COMMAND, "record", "-o", profile.c_str(), "--", "sh", "-c",
            "ulimit -c 0; echo there; exec cat", nullptr);
      _exit(1);
    }
    close(out[1]);
    std::array<char, 6> said{};
    EXPECT_EQ(read(out[0], said.data(), said.size()), 6);
    close(out[0]);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    for (const int side : in_) close(side);
    if (command_ > 0) ended();
  }
  [[nodiscard]] pid_t command() const { return command_; }
  /// Ends the program's input, and returns the exit code of `record`.
  int end() {
    for (int& side : in_) close(std::exchange(side, -1));
    return ended();
  }
  /// Waits until `record` ends and returns its exit code, or a negative number if a signal ended `record`
  /// itself.
  int ended() {
    int status = 0;
    waitpid(std::exchange(command_, -1), &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  std::array<int, 2> in_{};
  pid_t command_ = -1;
};

TEST_F(RecordCommand, EverySignalIsPassedOn) {
  for (const int signal :
       {SIGALRM, SIGXCPU, SIGPROF, SIGUSR1, SIGABRT, SIGPIPE, SIGRTMIN, SIGRTMIN + 5, SIGRTMAX}) {
    Waiting waiting(profile(), file("err"));
    kill(waiting.command(), signal);
    EXPECT_EQ(waiting.ended(), 128 + signal);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_EQ(entry.path().filename(), "err");
}

TEST_F(RecordCommand, OneNameIsRecordedIntoOnce) {
  Waiting first(profile(), file("first"));
  for (const char* const how : {"-- $PROGRAM leak", "--repeat 2 -- $PROGRAM leak"}) {
    const Result second = record(how);
    EXPECT_EQ(second.code, 2);
    EXPECT_THAT(second.err,
                testing::AllOf(HasSubstr(profile() + ": another peakmark records into it; wait for it"),
                               HasSubstr("-o")));
    EXPECT_THAT(second.out, IsEmpty());
  }
  EXPECT_EQ(first.end(), 5);
  EXPECT_EQ(record("-- $PROGRAM leak").code, 0);
  EXPECT_EQ(record("--repeat 2 -- $PROGRAM leak").code, 0);
}

TEST_F(RecordCommand, AScriptWithoutAnInterpreterLineIsReported) {
  const std::string script = file("script");
  std::ofstream(script) << "echo ran\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const Result result = record("-- " + script);
  EXPECT_EQ(result.code, 126);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr(script + ": the system cannot start this file"),
                                         HasSubstr("-- sh " + script)));
  EXPECT_EQ(record("-- sh " + script).out, "ran\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_read);
  const Result forbidden = record("-- " + script);
  EXPECT_EQ(forbidden.code, 126);
  EXPECT_THAT(forbidden.err, HasSubstr(script + ": is not a program: "));
}

TEST_F(RecordCommand, AFileThatCannotBeStartedIsReportedWithTheReason) {
  const auto put = [&](const char* name, const char* text) {
    std::ofstream(file(name)) << text;
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
    return file(name);
  };
  const Result script = record("-- " + put("script", "#!/no/such/interpreter\n"));
  EXPECT_EQ(script.code, 127);
  EXPECT_THAT(script.err, HasSubstr("script: cannot be started: the interpreter after its #!"));
  const Result elsewhere = record("-- " + put("elsewhere", "\177ELF of another machine"));
  EXPECT_EQ(elsewhere.code, 126);
  EXPECT_THAT(elsewhere.err, HasSubstr("elsewhere: cannot be started: built for another machine"));
}

TEST_F(RecordCommand, ANameThatIsTooLongIsReported) {
  const std::string line = "PEAKMARK_LONG=$(printf %100000s | tr ' ' p); " PEAKMARK_COMMAND
                           " record -o $PEAKMARK_LONG -- true 2>" +
                           file("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
  EXPECT_THAT(text(file("err")), HasSubstr("File name too long; name a shorter one with -o"));
  EXPECT_LT(text(file("err")).size(), 400U);
}

TEST_F(RecordCommand, ARemovedWorkingFolderIsReported) {
  const std::string gone = file("gone");
  std::filesystem::create_directory(gone);
  const std::string line =
      "cd " + gone + " && rmdir " + gone + " && " PEAKMARK_COMMAND " record -- true 2>" + file("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
  EXPECT_THAT(text(file("err")), HasSubstr("the working folder was removed"));
}

TEST_F(RecordCommand, OnlyAProfileIsOverwritten) {
  std::ofstream(profile()) << "a letter";
  const Result result = record("-- $PROGRAM leak");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("not a profile"));
  EXPECT_EQ(text(profile()), "a letter");
}

/// A command that opened something that is not a file would wait for it.
TEST_F(RecordCommand, WhatIsNoFileIsNeitherRecordedIntoNorShown) {
  ASSERT_EQ(::mkfifo(profile().c_str(), 0600), 0);
  const auto peakmark = [this](const std::string& arguments) {
    const std::string line = PEAKMARK_COMMAND " " + arguments + " >" + file("out") + " 2>" + file("err");
    return WEXITSTATUS(std::system(line.c_str()));
  };
  const std::string folder = folder_.path().string();
  for (const auto& [name, what] :
       {std::pair(profile(), "is a pipe"), std::pair(folder, "is a folder"),
        std::pair(folder + "/new/", "is a folder"), std::pair(std::string("/dev/null"), "is a device")}) {
    EXPECT_EQ(peakmark("record -o " + name + " -- echo started"), 2);
    EXPECT_THAT(text(file("err")), testing::AllOf(HasSubstr(name + ": " + what), HasSubstr("name a file")));
    EXPECT_THAT(text(file("out")), IsEmpty());
    EXPECT_EQ(peakmark("record --repeat 2 -o " + name + " -- echo started"), 2);
    EXPECT_THAT(text(file("out")), IsEmpty());
    if (name.ends_with('/')) continue;
    EXPECT_EQ(peakmark("show " + name), 2);
    EXPECT_THAT(text(file("err")), HasSubstr(name + ": " + what + ", neither a profile nor a run file"));
    EXPECT_EQ(peakmark("compare " + name + " " + name), 2);
    EXPECT_THAT(text(file("err")), HasSubstr(name + ": " + what));
  }
}

TEST_F(RecordCommand, WhatIsNeitherAProfileNorARunIsReported) {
  std::ofstream(file("letter")) << "a letter";
  std::ofstream(file("empty")) << "";
  std::ofstream(file("other.json")) << "{}";
  const auto show = [this](const std::string& arguments) {
    const std::string line = PEAKMARK_COMMAND " show " + arguments + " 2>" + file("err");
    EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
    return text(file("err"));
  };
  EXPECT_THAT(show(file("letter")), HasSubstr("letter: is neither a profile nor a run file of peakmark\n"));
  EXPECT_THAT(show(file("empty")), HasSubstr("nor a run file of peakmark: it is empty"));
  EXPECT_THAT(show(file("other.json")), HasSubstr("it is JSON, but not a run of peakmark"));
  EXPECT_THAT(show(file("nothing")), HasSubstr("nothing: no such profile"));
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  EXPECT_THAT(show("--html " + folder_.path().string() + " " + profile()),
              HasSubstr("is a folder; name a file in it"));
  EXPECT_THAT(show("--trace " + file("new/") + " " + profile()), HasSubstr("is a folder; name a file in it"));
}

TEST_F(RecordCommand, FolderMustExist) {
  const std::string line = PEAKMARK_COMMAND " record -o " + file("none/p") + " -- true 2>" + file("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
  EXPECT_THAT(text(file("err")), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace peakmark
