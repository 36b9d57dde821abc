// Failures of `record`: each has its exit code and a message that says what to do.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

#include "cli/record_command_testing.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RecordFailures : public RecordCommand {
 protected:
  static void expect_one_line(const Result& result) {
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  std::string library_folder() const {
    return "export PEAKMARK_LIBRARY_DIR=" + folder_.path().string() + ";";
  }
};

TEST_F(RecordFailures, TheLayerIsMissing) {
  const Result result = record("-- $PROGRAM leak", "export PEAKMARK_LIBRARY_DIR=" + file("none") + ";");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("missing from " + file("none")), HasSubstr("reinstall peakmark")));
  expect_one_line(result);
}

TEST_F(RecordFailures, TheLayerIsNoLibrary) {
  const std::string library = file("libpeakmark-opencl.so");
  std::ofstream(library) << "no library";
  const Result result = record("-- $PROGRAM leak", library_folder());
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("the recorder " + library + " cannot be loaded"));
  EXPECT_THAT(result.err, Not(HasSubstr("made no call")));
  expect_one_line(result);
}

TEST_F(RecordFailures, TheLayerIsAnotherLibrary) {
  const std::string library = file("libpeakmark-opencl.so");
  std::filesystem::copy_file(PEAKMARK_UNLAYERED_LOADER, library);
  const Result result = record("-- $PROGRAM leak", library_folder());
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr(library + " is not a recorder: it does not export clInitLayer"));
  expect_one_line(result);
}

#ifdef PEAKMARK_STATIC_PROGRAM
TEST_F(RecordFailures, TheProgramIsLinkedStatically) {
  const Result result = record("-- " PEAKMARK_STATIC_PROGRAM);
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr(PEAKMARK_STATIC_PROGRAM " is linked statically"));
  expect_one_line(result);
}
#endif

TEST_F(RecordFailures, NoDevice) {
  const Result result =
      record("-- sh -c '$PROGRAM touch; true'",
             "export OCL_ICD_VENDORS=/nonexistent PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("found no OpenCL driver"), HasSubstr("clinfo -l")));
  expect_one_line(result);
}

TEST_F(RecordFailures, TheFolderCannotBeWritten) {
  const std::string line =
      PEAKMARK_COMMAND " record -o /proc/p -- echo started >" + file("out") + " 2>" + file("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
  EXPECT_THAT(text(file("err")), AllOf(HasSubstr("/proc/p: cannot be written"), HasSubstr("-o")));
  EXPECT_THAT(text(file("out")), IsEmpty());
}

TEST_F(RecordFailures, AFullDiskIsReportedAsTheOnlyCause) {
  const Result result = record("-- $PROGRAM leak", "ulimit -f 100;");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("the limit on file sizes (ulimit -f) is reached"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("the recorder could not write"),
                                HasSubstr("raise the limit on file sizes (ulimit -f)")));
  EXPECT_THAT(result.err, Not(HasSubstr("no recorder came up")));
  expect_one_line(result);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("out", "err"));
}

TEST_F(RecordFailures, TheDiskBecomesFull) {
  const Result result = record("-- $PROGRAM many", "ulimit -f 3000;");  // blocks of 512 bytes: one extent
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the recording stopped early"), HasSubstr("(ulimit -f) is reached"),
                                HasSubstr("raise the limit on file sizes")));
  expect_one_line(result);
  EXPECT_GT(ProfileReader(profile()).header().lost, 0U);
  EXPECT_FALSE(ProfileReader(profile()).complete());
  EXPECT_EQ(recorded(profile()).peak_bytes, 100);
}

TEST_F(RecordFailures, TheProfileHasItsMaximumSize) {
  const Result result = record("--max-size '1.5 MiB' -- $PROGRAM many");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("events are lost: it has its maximum size (--max-size"),
                                HasSubstr("raise --max-size")));
  expect_one_line(result);
  EXPECT_EQ(std::filesystem::file_size(profile()), std::uintmax_t{1} << 20);
  EXPECT_EQ(recorded(profile()).peak_bytes, 100);
  EXPECT_EQ(record("--max-size 1000 -- $PROGRAM many").code, 2);
}

/// A disk of 1.5 MiB in separate namespaces.
TEST_F(RecordFailures, TheDiskIsFull) {
  const std::string disk = file("disk");
  std::filesystem::create_directory(disk);
  const std::string mount = "unshare -Urm sh -c 'mount -t tmpfs -o size=1500k none " + disk;
  if (std::system((mount + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "this system mounts no tmpfs in a user namespace";
  const std::string line = "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM "; " + mount +
                           " && { " PEAKMARK_COMMAND " record -o " + disk +
                           "/p -- $PROGRAM many; echo $?; " PEAKMARK_COMMAND " show --json " + disk +
                           "/p; }' >" + file("out") + " 2>" + file("err");
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_THAT(text(file("out")), testing::StartsWith("5\n"));
  EXPECT_THAT(text(file("out")), AllOf(HasSubstr("\"complete\": false"), HasSubstr("\"peak_bytes\": 100"),
                                       Not(HasSubstr("\"lost_events\": 0"))));
  EXPECT_THAT(text(file("err")),
              AllOf(HasSubstr("the recording stopped early"), HasSubstr("the disk is full"),
                    HasSubstr("free space there, or write elsewhere with -o")));
}

TEST_F(RecordFailures, TheProfileHasAHole) {
  ASSERT_EQ(record("-- $PROGRAM leak").code, 0);
  std::fstream file(profile(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(ProfileHeader::kBytes + sizeof(Event));
  file << std::string(sizeof(Event), '\0');
  file.close();
  const std::string line = PEAKMARK_COMMAND " show --json " + profile() + " >" + this->file("out") + " && " +
                           PEAKMARK_COMMAND " show " + profile() + " >" + this->file("err");
  ASSERT_EQ(std::system(line.c_str()), 0);
  EXPECT_THAT(text(this->file("out")),
              AllOf(HasSubstr("\"complete\": false"), HasSubstr("\"lost_events\": 1")));
  EXPECT_THAT(text(this->file("err")), HasSubstr("1 event is missing: the file has a hole"));
}

/// Returns the profile p.<pid> in the folder, and its process, once the profile holds `events` events.
std::pair<std::string, pid_t> profile_with_events(const std::filesystem::path& folder, std::size_t events,
                                                  pid_t recording) {
  while (waitpid(recording, nullptr, WNOHANG) == 0) {
    for (const std::filesystem::path& file : profiles_beside(folder / "p")) {
      ProfileReader reader(file);
      if (reader.events().size() >= events) return {file, reader.header().pid};
    }
    sched_yield();
  }
  return {"", -1};
}

TEST_F(RecordFailures, RecordIsKilledAndItsProgramGoesOn) {
  const pid_t recording = fork();
  if (recording == 0) {
    const int nothing = open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) dup2(nothing, stream);
    execl(PEAKMARK_COMMAND, "peakmark", "record", "-o", profile().c_str(), "--", PEAKMARK_ALLOCATING_PROGRAM,
          "interrupt", nullptr);
    _exit(127);
  }
  const auto [own, program] = profile_with_events(folder_.path(), 1, recording);
  ASSERT_GT(program, 0) << "the recording ended by itself";
  const int end_of_program = static_cast<int>(syscall(SYS_pidfd_open, program, 0));
  ASSERT_GE(end_of_program, 0);
  kill(recording, SIGKILL);
  ASSERT_EQ(waitpid(recording, nullptr, 0), recording);

  const Result refused = record("-- $PROGRAM leak");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("process " + std::to_string(program)), HasSubstr("still writes")));
  EXPECT_EQ(recorded(own).peak_bytes, 700);

  kill(program, SIGINT);
  pollfd end{end_of_program, POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, -1), 1);
  close(end_of_program);
  EXPECT_EQ(record("-- $PROGRAM leak").code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("out", "err", "p"));
}

TEST_F(RecordFailures, TheFolderIsRemovedWhileTheProgramRuns) {
  const std::string folder = file("folder");
  for (const std::string& away : {"rm -r " + folder, "mv " + folder + " " + folder + "2"}) {
    std::filesystem::create_directory(folder);
    const std::string line =
        "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM "; " PEAKMARK_COMMAND " record -o " + folder +
        "/p -- sh -c '$PROGRAM leak; " + away + "' >" + file("out") + " 2>" + file("err");
    const Result result{WEXITSTATUS(std::system(line.c_str())), "", text(file("err"))};
    EXPECT_EQ(result.code, 5);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr(folder + ": the folder was removed or renamed"), HasSubstr("-o")));
    expect_one_line(result);
  }
}

TEST_F(RecordFailures, TheProfileIsRemovedWhileTheProgramRuns) {
  const std::string program = "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";";
  const Result lost = record("-- sh -c '$PROGRAM leak; rm " + profile() + ".[0-9]*'", program);
  EXPECT_EQ(lost.code, 5);
  EXPECT_THAT(lost.err, AllOf(HasSubstr("the profile was removed while the program ran"),
                              HasSubstr("record it again")));
  expect_one_line(lost);
  // The profile of another process does not belong to the removed one: it is kept, but does not count as the
  // whole recording.
  const Result in_part =
      record("-- sh -c '$PROGRAM exit 0; rm " + profile() + ".[0-9]*; $PROGRAM leak'", program);
  EXPECT_EQ(in_part.code, 5);
  EXPECT_THAT(in_part.err, HasSubstr("the profile was removed while the program ran"));
  EXPECT_EQ(recorded(profile()).peak_bytes, 1000);
}

TEST_F(RecordFailures, TheProgramCrashes) {
  const Result result = record("-- $PROGRAM crash", "ulimit -c 0;");
  EXPECT_GT(result.code, 128);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("the program was ended by signal"), HasSubstr("complete to the last event")));
  EXPECT_EQ(recorded(profile()).peak_bytes, 100);
}

TEST_F(RecordFailures, TheProgramIsKilled) {
  const Result result = record("-- $PROGRAM killed");
  EXPECT_EQ(result.code, 128 + 9);
  EXPECT_THAT(result.err, HasSubstr("signal 9 (Killed)"));
  expect_one_line(result);
  EXPECT_FALSE(ProfileReader(profile()).complete());
  EXPECT_EQ(recorded(profile()).peak_bytes, 100);
}

TEST_F(RecordFailures, TheProgramGoesToTheBackground) {
  // The process that it left behind waits for its standard input to end, which happens after `record` has
  // ended.
  std::array<int, 2> in{};
  ASSERT_EQ(pipe(in.data()), 0);
  const Result result =
      record("-- $PROGRAM background <&" + std::to_string(in[0]) + " " + std::to_string(in[1]) + ">&-");
  close(in[0]);
  close(in[1]);
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("is still running"), HasSubstr("keep it in the foreground")));
  expect_one_line(result);
}

TEST_F(RecordFailures, AScriptWithMarksFindsTheModuleOrGetsAdvice) {
  std::ofstream(file("mean.py")) << "import peakmark\nprint(peakmark.__file__)\n";
  const Result found = record("-- python3 " + file("mean.py"));
  EXPECT_THAT(found.out, HasSubstr("/share/peakmark/python/peakmark/"));
  EXPECT_THAT(found.err, HasSubstr("no recorder came up")) << "it allocates nothing";
  const Result missing = record("-- python3 -I " + file("mean.py"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr(file("mean.py") + " imports the Python module peakmark"),
                                 HasSubstr("pip install"), Not(HasSubstr("no recorder came up"))));
}

TEST_F(RecordFailures, NoLoaderIsLoaded) {
  const Result result = record("-- true");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no recorder came up"), HasSubstr("libOpenCL")));
  expect_one_line(result);
  EXPECT_FALSE(std::filesystem::exists(profile()));
  const Result failing = record("-- false");
  EXPECT_EQ(failing.code, 1);
  EXPECT_THAT(failing.err, HasSubstr("no recorder came up"));
}

}  // namespace
}  // namespace peakmark
