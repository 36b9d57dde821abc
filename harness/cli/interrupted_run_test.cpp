// When a run is killed or interrupted, or its disk is full, no measurement is lost or repeated.
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdlib>
#include <set>

#include "base/descriptor.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class InterruptedRun : public CommandTest {
 protected:
  /// Waits until a process that is not our child has ended.
  static bool ends(pid_t pid) {
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (process.get() < 0) return true;  // gone and forgotten
    pollfd watched{process.get(), POLLIN, 0};
    return ::poll(&watched, 1, 30'000) == 1;
  }
  /// Resumes without the FIFO, so `report_pid` is then a case like any other.
  Answer resume() {
    environment_.clear();
    return run({"--resume"});
  }
};

TEST_F(InterruptedRun, AKilledRunIsResumed) {
  suite({"ok", "ok", "report_pid", "ok"});
  const std::string fifo = make_fifo();
  pid_t worker = 0;
  {
    WorkerProcess supervisor(run_command());
    worker = read_pid(fifo);
    wait_for_lines(3);  // the context and two observations
    ::kill(supervisor.pid(), SIGKILL);
    EXPECT_EQ(rest_of(supervisor).end.signal, SIGKILL);
  }
  EXPECT_TRUE(ends(worker)) << "the worker outlived its supervisor";
  EXPECT_FALSE(std::filesystem::exists(run_file_));

  const Answer answer = resume();
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("2 cases are measured already"));
  std::set<std::string> names;
  for (const Observation& observation : read_run(run_file_).observations) names.insert(observation.case_name);
  EXPECT_EQ(names.size(), 4u);
  EXPECT_EQ(read_run(run_file_).observations.size(), 4u);

  const Answer again = resume();
  EXPECT_EQ(again.end.exit_code, 0);
  EXPECT_THAT(again.errors, HasSubstr("nothing to resume"));
}

TEST_F(InterruptedRun, TwoSupervisorsDoNotShareARunFile) {
  suite({"ok", "report_pid"});
  const std::string fifo = make_fifo();
  WorkerProcess first(run_command());
  const pid_t worker = read_pid(fifo);
  const Answer second = run();
  EXPECT_EQ(second.end.exit_code, 2);
  EXPECT_THAT(second.errors, HasSubstr("another peakmark measures into"));
  ::kill(first.pid(), SIGTERM);
  EXPECT_EQ(rest_of(first).end.exit_code, 130);
  EXPECT_TRUE(ends(worker));
}

TEST_F(InterruptedRun, SigintKeepsWhatWasMeasured) {
  suite({"ok", "ok", "report_pid", "ok"});
  const std::string fifo = make_fifo();
  WorkerProcess supervisor(run_command());
  const pid_t worker = read_pid(fifo);
  ::kill(supervisor.pid(), SIGINT);
  const Answer answer = rest_of(supervisor);
  EXPECT_EQ(answer.end.exit_code, 130);
  EXPECT_THAT(answer.errors, HasSubstr("interrupted: 2 cases are not measured"));
  EXPECT_TRUE(ends(worker));
  EXPECT_THAT(outcomes(), ElementsAre("ok", "ok"));
  EXPECT_FALSE(read_run(run_file_).context.complete);
  EXPECT_EQ(resume().end.exit_code, 0);
  EXPECT_THAT(outcomes(), ElementsAre("ok", "ok", "ok", "ok"));
  EXPECT_TRUE(read_run(run_file_).context.complete);
}

/// Returns what a person would see of the text sent to a terminal: each `\\r ESC [ K` clears the current
/// line.
std::string seen(const std::string& sent) {
  std::string screen;
  for (std::size_t at = 0; at < sent.size(); ++at) {
    if (sent.compare(at, 4, "\r\x1b[K") == 0) {
      screen.resize(screen.rfind('\n') + 1);
      at += 3;
    } else if (sent[at] != '\r') {
      screen += sent[at];
    }
  }
  return screen;
}

TEST_F(InterruptedRun, OnATerminalABarIsDrawnAndGoneAfterSigint) {
  if (!has_pseudo_terminals()) GTEST_SKIP() << "this system has no pseudo-terminals: is /dev/pts mounted?";
  suite({"ok", "wrong", "report_pid", "ok"});
  const std::string fifo = make_fifo();
  const std::string pid_file = folder_.path() / "pid";
  environment_.emplace_back("TERM=xterm");
  std::string line = "stty cols 120; echo $$ > '" + pid_file + "'; exec";
  const WorkerCommand whole = run_command();
  line += " '" + whole.program.string() + "'";
  for (const std::string& argument : whole.arguments) line += " '" + argument + "'";
  // script(1) gives the program a terminal, and writes its output where the test can read it.
  WorkerCommand terminal{"/usr/bin/script", {"-qec", line, "/dev/null"}, whole.environment, ""};
  WorkerProcess script(terminal);
  const pid_t worker = read_pid(fifo);
  pid_t supervisor = 0;
  std::ifstream(pid_file) >> supervisor;
  ASSERT_GT(supervisor, 0);
  ::kill(supervisor, SIGINT);
  std::string sent;
  for (;;) {
    const WorkerEvent event = script.next(WorkerProcess::Clock::now() + kLimit);
    if (event.kind == WorkerEvent::Kind::output) sent += event.text + "\n";
    if (event.kind == WorkerEvent::Kind::ended) break;
    ASSERT_NE(event.kind, WorkerEvent::Kind::late);
  }
  EXPECT_EQ(script.end().exit_code, 130);
  EXPECT_TRUE(ends(worker));
  EXPECT_THAT(sent, HasSubstr("[############............] 2/4 cases, 0:00"));
  EXPECT_THAT(sent, HasSubstr("1 failed  fake/case/dry/does:report_pid/n:3"));
  EXPECT_THAT(seen(sent), Not(HasSubstr("[#")));
  EXPECT_THAT(seen(sent), HasSubstr("interrupted: 2 cases are not measured"));
}

TEST_F(InterruptedRun, ResumingWithoutARunStartsOne) {
  suite({"ok"});
  EXPECT_EQ(run({"--resume"}).end.exit_code, 0);
  EXPECT_TRUE(read_run(run_file_).context.complete);
}

TEST_F(InterruptedRun, AnotherSuiteIsNotResumed) {
  suite({"ok", "ok"});
  EXPECT_EQ(run({"--filter", "n:2"}).end.exit_code, 0);
  EXPECT_EQ(run({"--resume"}).end.exit_code, 2);
  suite({"ok", "say"});
  const Answer answer = run({"--filter", "n:2", "--resume"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("another suite"));
}

TEST_F(InterruptedRun, AFullDiskKeepsWhatIsWritten) {
  suite(std::vector<std::string>(40, "ok"));
  // The planned cases alone take 9 kB, and all observations another 30 kB.
  std::string line = "ulimit -f 32; exec";
  const WorkerCommand whole = run_command();
  line += " '" + whole.program.string() + "'";
  for (const std::string& argument : whole.arguments) line += " '" + argument + "'";
  const Answer full = ask({"/bin/sh", {"-c", line}, current_environment(), ""}, kLimit);
  EXPECT_EQ(full.end.exit_code, 2) << full.errors;
  EXPECT_THAT(full.errors,
              AllOf(HasSubstr("run.json: cannot write run.json.partial next to it: File too large"),
                    HasSubstr("--resume")));
  EXPECT_FALSE(std::filesystem::exists(run_file_));
  const std::string written = read_text_file(partial_);
  EXPECT_EQ(written.back(), '\n');

  EXPECT_EQ(resume().end.exit_code, 0);
  EXPECT_EQ(outcomes(), std::vector<std::string>(40, "ok"));
}

TEST_F(InterruptedRun, AFolderThatCannotBeWrittenIsReportedBeforeAnythingIsMeasured) {
  suite({"ok"});
  // Nobody, not even root, may create files in the first two.
  for (const char* path :
       {"/proc/run.json", "/sys/kernel/run.json", "/no/such/folder/run.json", "/dev/null", "/"}) {
    const Answer answer = ask(command({"run", (folder_.path() / "suite.toml").string(), "--worker",
                                       PEAKMARK_FAKE_WORKER, "-o", path}),
                              kLimit);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, StartsWith("peakmark: " + std::string(path) + ": "))
        << "no device comes first";
  }
}

TEST_F(InterruptedRun, AFullFolderIsReportedBeforeAnythingIsMeasured) {
  suite({"ok"});
  std::string line = "ulimit -f 1; exec";
  const WorkerCommand whole = run_command();
  line += " '" + whole.program.string() + "'";
  for (const std::string& argument : whole.arguments) line += " '" + argument + "'";
  const Answer full = ask({"/bin/sh", {"-c", line}, current_environment(), ""}, kLimit);
  EXPECT_EQ(full.end.exit_code, 2);
  EXPECT_THAT(full.errors, StartsWith("peakmark: " + run_file_.string() + ": cannot write"));
  EXPECT_FALSE(std::filesystem::exists(partial_));
}

}  // namespace
}  // namespace peakmark
