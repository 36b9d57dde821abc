// Measures the time and peak memory (RSS) of find_trends() for 2,000 cases × 365 runs × 3 metrics.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "bench/trend/simulation.hpp"
#include "harness/trend/trends.hpp"

int main() {
  using namespace peakmark;
  constexpr std::size_t kCases = 2000;
  constexpr std::size_t kRuns = 365;
  trend::DeviceHistory history;
  for (std::size_t index = 0; index < kRuns; ++index) {
    trend::HistoryRun& run = history.runs.emplace_back();
    run.id = fmt::format("run{}", index);
    run.date = fmt::format("2026-01-01T{:05}", index);
    run.reference_copy_ns = 1e5 + static_cast<double>(index % 7);
  }
  for (std::size_t index = 0; index < kCases; ++index) {
    const std::string name = fmt::format("operation/variant/opencl/n:{}", index);
    bench::NoiseSource source(bench::kFamilies[index % 6], 9'000'000'000 + index);
    trend::Series times{name, std::string(trend::metric::gpu_time_ns), {}, {}};
    trend::Series bytes{name, std::string(trend::metric::requested_peak_bytes), {}, {}};
    for (std::size_t run = 0; run < kRuns; ++run) {
      const bool is_slower = index % 50 == 0 && run >= 200;
      times.values.emplace_back(1e6 * source.next_run() * (is_slower ? 1.1 : 1));
      times.confirmations.emplace_back(1e6 * source.again() * (is_slower ? 1.1 : 1));
      bytes.values.emplace_back(1e9 + (index % 100 == 0 && run >= 300 ? 256 : 0));
    }
    trend::Series setup = bytes;
    setup.metric = trend::metric::setup_bytes;
    history.series.push_back(std::move(times));
    history.series.push_back(std::move(bytes));
    history.series.push_back(std::move(setup));
  }
  const auto start = std::chrono::steady_clock::now();
  const trend::Trends trends = trend::find_trends(history);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} cases, {} runs, 3 metrics: {:.2f} s, peak {} MiB, {} changes\n", kCases, kRuns, seconds,
             usage.ru_maxrss / 1024, trends.changes.size());
}
