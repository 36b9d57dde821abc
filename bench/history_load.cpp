// Measures a large history: adding the newest run, reading everything, trends, exporting it for reports. See
// --help.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "history/exports.hpp"
#include "history/history.hpp"
#include "history/sample_runs.hpp"
#include "trend/trends.hpp"

namespace {

using peakmark::history::History;
using peakmark::history::SampleHistoryRun;

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns a run with noisy times. In the second half of the runs, one case in seven needs more memory.
SampleHistoryRun sample_run(int number, int cases, int runs, int device) {
  SampleHistoryRun run(
      fmt::format("run-{:04}-{}", number, device),
      fmt::format("20{:02}-{:02}-{:02}T02:00:00Z", 10 + number / 336, 1 + number / 28 % 12, 1 + number % 28),
      fmt::format("device {}", device));
  for (int i = 0; i < cases; ++i) {
    const bool is_larger = i % 7 == 0 && number > runs / 2;
    run.add(fmt::format("operation/variant/opencl/mode:edge/n:20/nx:{}", i), 1 + i % 50 + (is_larger ? 1 : 0),
            1000 + i + (number * 7919 + i * 104729 + device * 31) % 97);
  }
  return run;
}

/// Returns the largest resident memory of this process so far, in MB; 0 if the system does not report it.
std::int64_t max_memory_mb() {
  rusage used{};
  return ::getrusage(RUSAGE_SELF, &used) == 0 ? used.ru_maxrss / 1024 : 0;
}

struct Load {
  std::string history;
  int cases = 2000;
  int runs = 365;
  int devices = 1;
};

void measure(const Load& load) {
  const peakmark::history::Address address = peakmark::history::parse_address(load.history);
  double last = 0;
  double all = 0;
  {
    History history(address, History::Purpose::write);
    if (!history.log().empty())
      throw peakmark::UsageError("history exists: " + load.history + "; give a new name");
    for (int number = 0; number + 1 < load.runs; ++number) {
      for (int device = 0; device < load.devices; ++device) {
        const SampleHistoryRun one = sample_run(number, load.cases, load.runs, device);
        all += seconds([&] { history.add(one.run); });
      }
    }
  }
  // As `history add` does: with opening the history.
  for (int device = 0; device < load.devices; ++device) {
    const SampleHistoryRun one = sample_run(load.runs - 1, load.cases, load.runs, device);
    last = seconds([&] { History(address, History::Purpose::write).add(one.run); });
    all += last;
  }
  const std::int64_t filled = max_memory_mb();
  History history(address, History::Purpose::read);
  std::vector<peakmark::trend::DeviceHistory> devices;
  const double reading = seconds([&] { devices = history.read(); });
  std::size_t changes = 0;
  const double judging = seconds([&] {
    for (const peakmark::trend::DeviceHistory& device : devices)
      changes += peakmark::trend::find_trends(device).changes.size();
  });
  const std::int64_t judged = max_memory_mb();
  std::size_t bytes = 0;
  const double exporting = seconds([&] { bytes = series_for_reports(devices, history.cases()).size(); });
  std::error_code none;
  const auto size = std::filesystem::file_size(address.file, none);
  fmt::print(
      "| cases | runs | devices | observations | add all | add the last run | read | trends | changes | "
      "export | MB "
      "exported | memory to add | memory of trends | database |\n|{}\n",
      "---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  fmt::print(
      "| {} | {} | {} | {} | {:.1f} s | {:.2f} s | {:.2f} s | {:.2f} s | {} | {:.2f} s | {} | {} MB | {} MB "
      "| {} |\n",
      load.cases, load.runs, load.devices, std::int64_t{load.cases} * load.runs * load.devices, all, last,
      reading, judging, changes, exporting, bytes / 1'000'000, filled, judged,
      none ? std::string("–") : fmt::format("{} MB", size / 1'000'000));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures a large history: adding runs, reading everything, trends, exporting it for reports");
  Load load;
  app.add_option("HISTORY", load.history, "File or URL; must not exist")->required();
  app.add_option("CASES", load.cases, "Cases of each run")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("RUNS", load.runs, "Number of runs of each device")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("DEVICES", load.devices, "Number of devices")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    measure(load);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(peakmark::ExitCode::usage);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", peakmark::final_message(error));
    return static_cast<int>(peakmark::exit_code_of(error));
  }
}
