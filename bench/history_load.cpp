// Measures a large history: adding a run, reading everything for trends, exporting it for reports. See
// --help.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "history/exports.hpp"
#include "history/history.hpp"
#include "history/sample_runs.hpp"

namespace {

using peakmark::history::History;
using peakmark::history::SampleHistoryRun;

double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns a run with noisy times. In the second half of the runs, one case in seven needs more memory.
SampleHistoryRun sample_run(int number, int cases, int runs) {
  SampleHistoryRun run(
      fmt::format("run-{:04}", number),
      fmt::format("20{:02}-{:02}-{:02}T02:00:00Z", 10 + number / 336, 1 + number / 28 % 12, 1 + number % 28));
  for (int i = 0; i < cases; ++i) {
    const bool is_larger = i % 7 == 0 && number > runs / 2;
    run.add(fmt::format("operation/variant/opencl/mode:edge/n:20/nx:{}", i), 1 + i % 50 + (is_larger ? 1 : 0),
            1000 + i + (number * 7919 + i * 104729) % 97);
  }
  return run;
}

void measure(const std::string& name, int cases, int runs) {
  History history(peakmark::history::parse_address(name), History::Purpose::write);
  if (!history.log().empty()) throw peakmark::UsageError("history exists: " + name + "; give a new name");
  double adding = 0;
  for (int number = 0; number < runs; ++number) {
    const SampleHistoryRun one = sample_run(number, cases, runs);
    adding += seconds([&] { history.add(one.run); });
  }
  std::vector<peakmark::trend::DeviceHistory> devices;
  const double reading = seconds([&] { devices = history.read(); });
  std::size_t bytes = 0;
  const double exporting = seconds([&] { bytes = series_for_reports(devices, history.cases()).size(); });
  fmt::print(
      "{} cases, {} runs: adding {:.3f} s per run, reading {:.2f} s, export for reports {:.2f} s ({} MB)\n",
      cases, runs, adding / runs, reading, exporting, bytes / 1'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures a large history: adding a run, reading everything, exporting it for reports");
  std::string address;
  int cases = 2000;
  int runs = 365;
  app.add_option("HISTORY", address, "File or URL; must not exist")->required();
  app.add_option("CASES", cases, "Cases of each run")->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("RUNS", runs, "Number of runs")->check(CLI::Range(1, 10'000))->capture_default_str();
  try {
    app.parse(argc, argv);
    measure(address, cases, runs);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(peakmark::ExitCode::usage);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", peakmark::final_message(error));
    return static_cast<int>(peakmark::exit_code_of(error));
  }
}
