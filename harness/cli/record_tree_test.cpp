// Programs with several processes, signals, and a terminal.
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/files_testing.hpp"
#include "cli/record_command_testing.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RecordTree : public RecordCommand {
 protected:
  nlohmann::json shown() const {
    const std::string line = PEAKMARK_COMMAND " show --json " + profile() + " >" + file("json");
    EXPECT_EQ(std::system(line.c_str()), 0);
    return nlohmann::json::parse(text(file("json")));
  }
};

TEST_F(RecordTree, ParentForkedChildAndWhatItStarts) {
  ASSERT_EQ(record("-- $PROGRAM tree").code, 0);
  const auto tree = shown();
  EXPECT_EQ(tree["requested"]["peak_bytes"], 300);
  ASSERT_EQ(tree["processes"].size(), 2U);
  EXPECT_EQ(tree["processes"][0]["requested"]["peak_bytes"], 400);
  EXPECT_EQ(tree["processes"][0]["program"], nlohmann::json({PEAKMARK_ALLOCATING_PROGRAM, "tree"}));
  EXPECT_EQ(tree["processes"][1]["requested"]["peak_bytes"], 1000);
  EXPECT_EQ(tree["processes"][1]["program"], nlohmann::json({PEAKMARK_ALLOCATING_PROGRAM, "leak"}));
  // All three hold memory at one moment: two keep theirs while they wait for the third.
  EXPECT_EQ(tree["tree_peak_bytes"], 1700);
}

TEST_F(RecordTree, OnlyAForkedChildUsesADevice) {
  ASSERT_EQ(record("-- $PROGRAM child").code, 0);
  const auto tree = shown();
  EXPECT_EQ(tree["requested"]["peak_bytes"], 400);
  EXPECT_EQ(tree["processes"].size(), 0U);
}

TEST_F(RecordTree, PeaksOneAfterTheOtherAreNotAdded) {
  ASSERT_EQ(record("-- sh -c '$PROGRAM exit 0; $PROGRAM exit 0; true'",
                   "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";")
                .code,
            0);
  const auto tree = shown();
  EXPECT_EQ(tree["processes"].size(), 1U);
  EXPECT_EQ(tree["requested"]["live_at_end_bytes"], 100);  // never released, but its process has ended
  EXPECT_EQ(tree["tree_peak_bytes"], 100);
}

TEST_F(RecordTree, NorAreThoseOfProcessesThatAreKilled) {
  // The workers of a Python pool end like that. The recorder in them cannot write when they ended, so
  // `record` notices it and writes the time into the last bytes of the header. The script continues once that
  // is done.
  ASSERT_EQ(record("-- sh -c '$PROGRAM killed; while cmp -s -i 4088:0 -n 8 " + profile() +
                       ".[0-9]* /dev/zero; do :; done; $PROGRAM exit 0; true'",
                   "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";")
                .code,
            0);
  const auto tree = shown();
  EXPECT_EQ(tree["complete"], false);
  ASSERT_EQ(tree["processes"].size(), 1U);
  EXPECT_EQ(tree["requested"]["live_at_end_bytes"], 100);
  EXPECT_EQ(tree["tree_peak_bytes"], 100);
}

TEST_F(RecordTree, AProcessOfAnEarlierRecordingIsNotMixedIn) {
  const std::string earlier = "PEAKMARK_RECORDING=" + std::string(32, '0');
  ASSERT_EQ(record("-- sh -c '" + earlier + " $PROGRAM leak; $PROGRAM exit 0; true'",
                   "export PROGRAM=" PEAKMARK_ALLOCATING_PROGRAM ";")
                .code,
            0);
  const auto tree = shown();
  EXPECT_EQ(tree["processes"].size(), 0U);
  EXPECT_EQ(tree["requested"]["peak_bytes"], 100);
}

TEST_F(RecordTree, CompactShowsTheSameFigures) {
  ASSERT_EQ(record("--compact -- $PROGRAM many 200000").code, 0);
  auto compact = shown();
  EXPECT_EQ(compact["compact"], true);
  EXPECT_FALSE(std::filesystem::exists(profile() + ".folded")) << "the profile has all of its events";
  ASSERT_EQ(record("-- $PROGRAM many 200000").code, 0);
  auto full = shown();
  EXPECT_EQ(full["compact"], false);
  EXPECT_TRUE(compact["repetitions"].is_null()) << "they are found in events";
  EXPECT_TRUE(full["repetitions"].is_array());
  for (auto* const tree : {&compact, &full}) {
    for (const char* const key : {"compact", "pid", "parent_pid", "repetitions"}) tree->erase(key);
  }
  EXPECT_EQ(compact, full);
}

TEST_F(RecordTree, AProgramThatExecutesAnotherInItsPlace) {
  ASSERT_EQ(record("-- $PROGRAM replace").code, 0);
  const auto tree = shown();
  ASSERT_EQ(tree["processes"].size(), 1U);
  EXPECT_EQ(tree["processes"][0]["pid"], tree["pid"]);
  EXPECT_EQ(tree["tree_peak_bytes"], 1000);
}

TEST_F(RecordTree, StreamsPassThrough) {
  const Result result = record("-- sh -c 'cat; echo to stderr >&2; exit 3' <" + file("in"),
                               "printf 'a\\0b\\nlast' >" + file("in") + ";");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, std::string("a\0b\nlast", 8));
  EXPECT_THAT(result.err, testing::StartsWith("to stderr\n"));
}

/// Runs `peakmark record` on a separate terminal.
class Terminal {
 public:
  explicit Terminal(const std::vector<const char*>& command) {
    process_ = forkpty(&master_, nullptr, nullptr, nullptr);
    if (process_ == 0) {
      std::vector<char*> words;
      for (const char* const word : command) words.push_back(const_cast<char*>(word));
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(1);
    }
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { close(master_); }

  /// Reads until `text` has arrived.
  std::string until(const std::string& text) const {
    std::string all;
    char sign = 0;
    while (all.find(text) == std::string::npos && read(master_, &sign, 1) == 1) all += sign;
    return all;
  }
  void type(const std::string& text) const {
    EXPECT_EQ(write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  int status() const {
    until("never said");  // or its output would keep it from ending
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return status;
  }

 private:
  int master_ = -1;
  pid_t process_ = -1;
};

class RecordOnATerminal : public RecordTree {
 protected:
  void SetUp() override {
    if (!has_pseudo_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals: is /dev/pts mounted?";
  }
};

TEST_F(RecordOnATerminal, CtrlCReachesTheProgramAndTheProfileIsWhole) {
  const std::string name = profile();
  const Terminal terminal(
      {PEAKMARK_COMMAND, "record", "-o", name.c_str(), "--", PEAKMARK_ALLOCATING_PROGRAM, "interrupt"});
  terminal.until("ready");
  terminal.type("\x03");
  EXPECT_EQ(WEXITSTATUS(terminal.status()), 40 + SIGINT);
  EXPECT_TRUE(ProfileReader(profile()).complete());
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 700);
}

TEST_F(RecordOnATerminal, CtrlZStopsBothAndFgGoesOn) {
  const std::string line = std::string("set -m; ") + PEAKMARK_COMMAND + " record -o " + profile() +
                           " -- " PEAKMARK_ALLOCATING_PROGRAM
                           " interrupt; echo stopped $?; fg; echo ended $?";
  const Terminal terminal({"/bin/sh", "-c", line.c_str()});
  terminal.until("ready");
  terminal.type("\x1a");
  EXPECT_THAT(terminal.until("stopped 148"), HasSubstr("stopped 148"));  // 128 + SIGTSTP
  EXPECT_THAT(terminal.until("goes on"), HasSubstr("goes on"));
  terminal.type("\x03");
  EXPECT_THAT(terminal.until("ended 42"), HasSubstr("ended 42"));
  terminal.status();
  EXPECT_TRUE(ProfileReader(profile()).complete());
}

TEST_F(RecordOnATerminal, AProgramReadsTheTerminal) {
  const std::string name = profile();
  const Terminal terminal(
      {PEAKMARK_COMMAND, "record", "-o", name.c_str(), "--", "sh", "-c",
       "test -t 0 && test -t 1 && echo ready && read line </dev/tty && echo \"got $line\""});
  terminal.until("ready");
  terminal.type("a line\n");
  EXPECT_THAT(terminal.until("got a line"), HasSubstr("got a line"));
  EXPECT_EQ(WEXITSTATUS(terminal.status()), 5);  // no recorder in a shell
}

}  // namespace
}  // namespace peakmark
