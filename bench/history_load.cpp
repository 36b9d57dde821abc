// Measures a large history: the time to add the newest run, and to read each device and find its trends. See
// --help.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "analyse/history/database.hpp"
#include "analyse/history/history.hpp"
#include "analyse/history/sample_runs.hpp"
#include "analyse/trend/trends.hpp"
#include "base/error.hpp"

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
  bool is_kept = false;  ///< only measure, with the history of an earlier call
};

/// Copies a run of a device to another date in SQL: History::add() would take hours for many millions. Times
/// have noise of ±5 %. One case in 50 is slower by 10 % for a fifth of the runs, one in 100 since 30 runs.
class Copies {
 public:
  Copies(soci::session& sql, const Load& load) : sql_(sql), load_(load) {
    sql_ << "SELECT max(number) FROM runs", soci::into(last_);
  }

  void add(int number, int device) {
    const bool is_larger = number > load_.runs / 2;
    const SampleHistoryRun first = sample_run(0, 0, load_.runs, device);
    const SampleHistoryRun with_facts = sample_run(is_larger ? load_.runs / 2 + 1 : 0, 0, load_.runs, device);
    const SampleHistoryRun copy = sample_run(number, 0, load_.runs, device);
    const auto& from = with_facts.run.context;
    const auto& to = copy.run.context;
    ++last_;
    // The middle run exists already.
    const std::string before =
        is_larger ? "NULL"
                  : fmt::format("(SELECT number FROM runs WHERE id = '{}')",
                                sample_run(load_.runs / 2 + 1, 0, load_.runs, device).run.context.id);
    const auto replaced = [&](const char* column) {
      return fmt::format("replace(replace({}, '{}', '{}'), '{}', '{}')", column, from.id, to.id, from.date,
                         to.date);
    };
    sql_ << fmt::format(
        "INSERT INTO runs (number, id, date, suite, commit_id, branch, base_commits, device, backend, "
        "driver, build, "
        "host_name, cases, ok, plan_number, context, digest, placed_before) SELECT {}, '{}', '{}', suite, "
        "{}, "
        "branch, base_commits, device, "
        "backend, driver, build, host_name, cases, ok, plan_number, {}, digest, {} FROM runs WHERE id = '{}'",
        last_, to.id, to.date, replaced("commit_id"), replaced("context"), before, from.id);
    const bool is_slow = number > load_.runs * 3 / 5 && number <= load_.runs * 4 / 5;
    const bool is_newly_slow = number >= load_.runs - 30;
    sql_ << fmt::format(
        "INSERT INTO observations (run_number, case_number, facts_number, gpu_time_ns, median_ns, min_ns, "
        "max_ns, kernel_ns, "
        "again_ns) SELECT {0}, case_number, facts_number, ns, ns, ns - 2, ns + 5, kernel_ns, null FROM "
        "(SELECT f.case_number, "
        "f.facts_number, f.kernel_ns, t.gpu_time_ns * (952 + ({1} * 7919 + f.case_number * 104729 + {1} * "
        "f.case_number * 31 "
        "+ {2} * 53) % 97) / 1000.0 * (CASE WHEN f.case_number % 50 = 0 THEN {3} WHEN f.case_number % 100 = "
        "7 THEN {4} ELSE 1 "
        "END) AS ns FROM observations f JOIN observations t ON t.case_number = f.case_number WHERE "
        "f.run_number = (SELECT "
        "number FROM runs WHERE id = '{5}') AND t.run_number = (SELECT number FROM runs WHERE id = '{6}')) "
        "AS copied",
        last_, number, device, is_slow ? 1.1 : 1.0, is_newly_slow ? 1.1 : 1.0, from.id, first.run.context.id);
  }

 private:
  soci::session& sql_;
  const Load& load_;
  std::int64_t last_ = 0;
};

void fill(const peakmark::history::Address& address, const Load& load) {
  using peakmark::history::Access;
  using peakmark::history::Transaction;
  const std::array added{0, load.runs / 2 + 1};
  {
    History history(address, History::Purpose::write);
    if (!history.log().empty())
      throw peakmark::UsageError("history exists: " + load.history + "; give a new name");
    for (const int number : added) {
      for (int device = 0; device < load.devices; ++device)
        history.add(sample_run(number, load.cases, load.runs, device).run);
    }
  }
  peakmark::history::Database database(address, Access::write, std::chrono::seconds(30));
  if (!database.is_postgresql()) database.sql() << "PRAGMA synchronous = OFF";
  Copies copies(database.sql(), load);
  for (int number = 1; number + 1 < load.runs; ++number) {
    if (number == added[1]) continue;
    Transaction transaction(database, Access::write);
    for (int device = 0; device < load.devices; ++device) copies.add(number, device);
    transaction.commit();
  }
}

void measure(const Load& load) {
  const peakmark::history::Address address = peakmark::history::parse_address(load.history);
  const double filling = seconds([&] {
    if (!load.is_kept) fill(address, load);
  });
  const auto known = static_cast<int>(History(address, History::Purpose::read).log().size());
  // Like `history add`, this includes opening the history.
  std::vector<double> adding;
  for (int device = 0; device < load.devices; ++device) {
    const SampleHistoryRun one = sample_run(known / load.devices, load.cases, load.runs, device);
    adding.push_back(seconds([&] { History(address, History::Purpose::write).add(one.run); }));
  }
  History history(address, History::Purpose::read);
  std::vector<double> reading;
  std::vector<double> judging;
  std::size_t changes = 0;
  for (const peakmark::history::DeviceBackend& one : history.devices()) {
    peakmark::trend::DeviceHistory device;
    reading.push_back(seconds([&] { device = history.read_device(one); }));
    judging.push_back(seconds([&] { changes += peakmark::trend::find_trends(device).changes.size(); }));
  }
  const auto sum = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  std::error_code none;
  const auto size = std::filesystem::file_size(address.file, none);
  fmt::print(
      "| cases | runs | devices | observations | fill | add a run | read a device | its trends | read all | "
      "all trends | "
      "changes | memory | database |\n|{}\n",
      "---|---|---|---|---|---|---|---|---|---|---|---|---|");
  fmt::print(
      "| {} | {} | {} | {} | {:.0f} s | {:.2f} s | {:.2f} s | {:.2f} s | {:.1f} s | {:.1f} s | {} | {} MB | "
      "{} |\n",
      load.cases, load.runs, load.devices, std::int64_t{load.cases} * load.runs * load.devices, filling,
      *std::ranges::max_element(adding), *std::ranges::max_element(reading),
      *std::ranges::max_element(judging), sum(reading), sum(judging), changes, max_memory_mb(),
      none ? std::string("–") : fmt::format("{} MB", size / 1'000'000));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Fills a history with generated runs, and measures adding a run, reading a device, and its trends");
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
  app.add_flag(
      "--keep", load.is_kept,
      "Measure a history that an earlier call with the same numbers made; adds another run of each device");
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
