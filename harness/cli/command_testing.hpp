#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "base/text_file.hpp"
#include "measure/runfile/run_file.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// Runs the program `peakmark` in tests, with the fake worker and suites for it.
class CommandTest : public testing::Test {
 protected:
  /// Writes a suite of cases of the fake worker on `dry`: case number i (from 1) does deeds[i − 1].
  std::filesystem::path suite(const std::vector<std::string>& deeds, const std::string& more = "") const {
    std::string does;
    std::string n;
    for (std::size_t i = 0; i < deeds.size(); ++i) {
      does += (i == 0 ? "\"" : ", \"") + deeds[i] + "\"";
      n += (i == 0 ? "" : ", ") + std::to_string(i + 1);
    }
    const std::filesystem::path path = folder_.path() / "suite.toml";
    std::ofstream(path) << "name = \"fake\"\n[[sweep]]\nvariants = \"fake/case\"\nbackend = \"dry\"\n"
                        << more << "zip = [{ does = [" << does << "], n = [" << n << "] }]\n";
    return path;
  }

  WorkerCommand command(std::vector<std::string> arguments) const {
    std::vector<std::string> environment = current_environment();
    // The branch of the CI job that runs the tests must not become the branch of their runs.
    for (const char* const ci : {"GITHUB_ACTIONS=", "GITLAB_CI=", "JENKINS_URL="})
      std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(ci); });
#ifdef PEAKMARK_TESTS_WITHOUT_OPENCL
    // No driver is loaded: threads of PoCL sometimes make LeakSanitizer itself fail.
    set_variable(environment, "OCL_ICD_VENDORS", folder_.path().string());
#endif
    for (const std::string& entry : environment_) {
      const std::size_t equals = entry.find('=');
      set_variable(environment, entry.substr(0, equals), entry.substr(equals + 1));
    }
    return {PEAKMARK_PROGRAM, std::move(arguments), std::move(environment), ""};
  }
  WorkerCommand run_command(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"run",      (folder_.path() / "suite.toml").string(),
                                       "-o",       run_file_.string(),
                                       "--worker", PEAKMARK_FAKE_WORKER};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return command(arguments);
  }
  Answer peakmark(std::vector<std::string> arguments) const {
    return ask(command(std::move(arguments)), kLimit);
  }
  Answer run(const std::vector<std::string>& more = {}) const {
    return ask(run_command(more), kLimit);
  }

  std::vector<std::string> outcomes() const {
    std::vector<std::string> outcomes;
    for (const Observation& observation : read_run(run_file_).observations) {
      outcomes.emplace_back(to_string(observation.outcome));
    }
    return outcomes;
  }

  /// Creates the FIFO to which the deed `report_pid` writes the worker's process id before it waits to be
  /// killed. A test that reads it knows that all earlier cases have been measured.
  std::string make_fifo() {
    const std::filesystem::path path = folder_.path() / "fifo";
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    environment_.push_back("FAKE_WORKER_FIFO=" + path.string());
    return path;
  }
  static pid_t read_pid(const std::string& fifo) {
    // If a worker never comes, the test must not hang: opening a FIFO for reading would wait for a writer.
    const Descriptor opened(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    pollfd watched{opened.get(), POLLIN, 0};
    char text[32] = {};
    if (::poll(&watched, 1, 30'000) != 1 || ::read(opened.get(), text, sizeof text - 1) <= 0) {
      ADD_FAILURE() << "no worker has written its process id";
      return -1;
    }
    return std::stoi(text);
  }

  /// Waits until the partial run file has this many lines.
  void wait_for_lines(std::ptrdiff_t lines) const {
    const Descriptor changes(::inotify_init1(IN_CLOEXEC));
    ASSERT_GE(::inotify_add_watch(changes.get(), partial_.c_str(), IN_MODIFY), 0);
    for (;;) {
      const std::string text = read_text_file(partial_);
      if (std::count(text.begin(), text.end(), '\n') >= lines) return;
      pollfd watched{changes.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&watched, 1, 30'000), 1) << "no line comes";
      char events[4096];
      ASSERT_GT(::read(changes.get(), events, sizeof events), 0);
    }
  }
  /// Returns the remaining output of a process, up to its end.
  static Answer rest_of(WorkerProcess& process) {
    Answer answer;
    for (;;) {
      const WorkerEvent event = process.next(WorkerProcess::Clock::now() + kLimit);
      if (event.kind == WorkerEvent::Kind::error) answer.errors += event.text + "\n";
      if (event.kind == WorkerEvent::Kind::late) ADD_FAILURE() << "it does not end";
      if (event.kind == WorkerEvent::Kind::ended || event.kind == WorkerEvent::Kind::late) break;
    }
    answer.end = process.end();
    return answer;
  }

  static constexpr std::chrono::seconds kLimit{120};
  const TemporaryFolder folder_;
  const std::filesystem::path run_file_ = folder_.path() / "run.json";
  const std::filesystem::path partial_ = folder_.path() / "run.json.partial";
  std::vector<std::string> environment_;
};

}  // namespace peakmark
