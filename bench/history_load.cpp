// How long a large history takes: a night added, all of it read for trends, exported for reports.
// --help lists the arguments.
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

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Times wobble, and half way one case in seven begins to need more.
SampleHistoryRun night(int number, int cases, int nights) {
  SampleHistoryRun night(
      fmt::format("night-{:04}", number),
      fmt::format("20{:02}-{:02}-{:02}T02:00:00Z", 10 + number / 336, 1 + number / 28 % 12, 1 + number % 28));
  for (int i = 0; i < cases; ++i) {
    const bool is_larger = i % 7 == 0 && number > nights / 2;
    night.add(fmt::format("operation/variant/opencl/mode:edge/n:20/nx:{}", i),
              1 + i % 50 + (is_larger ? 1 : 0), 1000 + i + (number * 7919 + i * 104729) % 97);
  }
  return night;
}

void measure(const std::string& name, int cases, int nights) {
  History history(peakmark::history::parse_address(name), History::Purpose::write);
  if (!history.log().empty()) throw peakmark::UsageError(name + ": is there already");
  double adding = 0;
  for (int number = 0; number < nights; ++number) {
    const SampleHistoryRun one = night(number, cases, nights);
    adding += seconds_of([&] { history.add(one.run); });
  }
  std::vector<peakmark::trend::DeviceHistory> devices;
  const double reading = seconds_of([&] { devices = history.read(); });
  std::size_t bytes = 0;
  const double exporting = seconds_of([&] { bytes = series_for_reports(devices, history.cases()).size(); });
  fmt::print(
      "{} cases, {} nights: adding {:.3f} s a night, reading {:.2f} s, export for reports {:.2f} s ({} MB)\n",
      cases, nights, adding / nights, reading, exporting, bytes / 1'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("How long a large history takes: a night added, all of it read, exported for reports");
  std::string place;
  int cases = 2000;
  int nights = 365;
  app.add_option("HISTORY", place, "File or URL; must not be there yet")->required();
  app.add_option("CASES", cases, "Cases of each night")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("NIGHTS", nights, "Nights, a run each")->check(CLI::Range(1, 10'000))->capture_default_str();
  try {
    app.parse(argc, argv);
    measure(place, cases, nights);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(peakmark::ExitCode::usage);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", peakmark::final_message(error));
    return static_cast<int>(peakmark::exit_code_of(error));
  }
}
