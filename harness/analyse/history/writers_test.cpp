// Tests of several processes that use one history at the same time.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "analyse/history/sample_runs.hpp"
#include "analyse/history/test_databases.hpp"
#include "analyse/trend/pruning.hpp"

namespace peakmark::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Writers : public OnBothDatabases {
 protected:
  /// Does the work in another process, which prints what went wrong and then ends with 1.
  template <typename Work>
  static pid_t start(Work work) {
    const pid_t process = ::fork();
    if (process != 0) return process;
    const std::string error = message_of(work);
    if (error != "none") std::fprintf(stderr, "%s\n", error.c_str());
    ::_exit(error == "none" ? 0 : 1);
  }
  static int end_of(pid_t process) {
    int status = -1;
    ::waitpid(process, &status, 0);
    return status;
  }
};

INSTANTIATE_TEST_SUITE_P(, Writers, testing::Values(Address::Kind::sqlite, Address::Kind::postgresql),
                         kind_name);

TEST_P(Writers, TwoRunnersAddAtOnce) {
  constexpr int kRuns = 10;
  // Both processes also try to create the history.
  std::vector<pid_t> processes;
  for (const std::string device : {"one", "two"}) {
    processes.push_back(start([&] {
      for (int day = 1; day <= kRuns; ++day) open().add(sample_history_run(day, day, 1000, device).run);
    }));
  }
  for (const pid_t process : processes) EXPECT_EQ(end_of(process), 0);
  const auto devices = open_to_read().read();
  ASSERT_EQ(devices.size(), 2U);
  for (const trend::DeviceHistory& device : devices) {
    ASSERT_EQ(device.runs.size(), static_cast<std::size_t>(kRuns));
    const Values peaks = values_of(device, "op/b/opencl/n:2", "requested_peak_bytes");
    for (int day = 1; day <= kRuns; ++day) EXPECT_EQ(peaks.at(day - 1), 2 * day * kMiB);
    EXPECT_EQ(values_of(device, "op/a/opencl", "gpu_time_ns"), Values(kRuns, 2000));
  }
}

TEST_P(Writers, ALockThatIsHeldTooLongIsReported) {
  open().add(sample_history_run(1).run);
  // Another runner holds the history and never ends.
  std::array<int, 2> holds{};
  ASSERT_EQ(::pipe(holds.data()), 0);
  const pid_t process = start([&] { hold_lock(holds[1]); });
  char word = 0;
  ASSERT_EQ(::read(holds[0], &word, 1), 1);
  EXPECT_THAT(
      message_of([&] {
        History(address(), History::Purpose::write, std::chrono::milliseconds(20))
            .add(sample_history_run(2).run);
      }),
      testing::AllOf(HasSubstr("locked by another process for more than 20 ms"), HasSubstr("try again")));
  ::kill(process, SIGKILL);
  end_of(process);
  EXPECT_EQ(open().add(sample_history_run(2).run).runs_of_device, 2);
}

// Run 2 is added while the pruning waits. The changes in it and in run 3 must be kept.
TEST_P(Writers, APruningSeesWhatWasAddedWhileItWaited) {
  if (!is_postgresql()) GTEST_SKIP() << "SQLite does not report who waits";
  for (const std::string setting : {"", "&options=-cdefault_transaction_isolation%3Dserializable"}) {
    SetUp();
    address_ += setting;
    for (const int day : {1, 3, 4}) open().add(sample_history_run(day).run);
    std::array<int, 2> reported{};
    ASSERT_EQ(::pipe(reported.data()), 0);
    const auto next = [&] {
      char word = 0;
      return ::read(reported[0], &word, 1);
    };
    const pid_t holder = start([&] { hold_lock_until_two_wait(reported[1]); });
    ASSERT_EQ(next(), 1);
    const pid_t adder = start([&] { open().add(sample_history_run(2, 3).run, {}, Placement::date); });
    ASSERT_EQ(next(), 1);
    const std::string limit = "2026-01-04T00:00:00Z";
    trend::TrendOptions options;
    options.detector.baseline_runs = 1;
    const RunsToKeep keep = [&](const trend::DeviceHistory& device) {
      return trend::runs_to_keep(device, limit, options);
    };
    EXPECT_THAT(open().prune({.date = limit, .branch = {}}, keep).runs, IsEmpty()) << setting;
    EXPECT_EQ(end_of(adder), 0);
    EXPECT_EQ(end_of(holder), 0);
    EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-03", "run-04")) << setting;
    for (const int end : reported) ::close(end);
  }
}

}  // namespace
}  // namespace peakmark::history
