// Simulates runs, and measures which steps the detector of trends finds and how many false alarms it raises.
// Each argument prints one table of docs/statistics.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.hpp"
#include "bench/trend/simulation.hpp"

namespace peakmark::bench {
namespace {

/// Reported figures use seeds from here on. Constants were chosen on seeds below 10^9.
constexpr std::uint64_t kReported = 7'000'000'000;
std::uint64_t first_seed = kReported;
constexpr std::size_t kBefore = 60;    ///< runs before those in which alarms count as false
constexpr std::size_t kJudged = 140;   ///< runs in which alarms count as false
constexpr std::size_t kBaseline = 90;  ///< runs before a step

std::uint64_t seed_of(Family family, std::size_t experiment, std::size_t index) {
  return first_seed + static_cast<std::uint64_t>(family) * 100'000'000 + experiment * 10'000'000 + index;
}

/// Returns the sum of work(0) … work(count − 1), computed on all cores.
template <typename Work>
double sum_of(std::size_t count, Work work) {
  const std::size_t workers = std::max(1U, std::thread::hardware_concurrency());
  std::vector<double> sums(workers);
  {
    std::vector<std::jthread> threads;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&, worker] {
        double sum = 0;
        for (std::size_t i = worker; i < count; i += workers) sum += work(i);
        sums[worker] = sum;
      });
    }
  }
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

/// Returns the changes that find_trends() reports from run `from` on.
std::vector<trend::Change> find_alarms(const trend::DeviceHistory& history, std::size_t from) {
  std::vector<trend::Change> found = trend::find_trends(history).changes;
  std::erase_if(found, [&](const trend::Change& change) {
    return change.verdict == trend::Verdict::suspicious || change.raised < from;
  });
  return found;
}

/// Returns 1 if an alarm from run `from` on reports a slower level, else 0.
double reports_slower(const trend::DeviceHistory& history, std::size_t from) {
  return std::ranges::any_of(find_alarms(history, from),
                             [](const trend::Change& change) { return change.after > change.before; })
             ? 1
             : 0;
}

/// Returns a level with a relative step of `part` at the end of the baseline.
Level step_level(double part) {
  return [=](std::size_t run) { return run < kBaseline ? 1 : 1 + part; };
}

/// Returns alarms of either direction per 1,000 case-runs of series without a step.
double false_alarms(Family family, double shared, std::size_t series, bool confirm) {
  const double alarms = sum_of(series, [&](std::size_t i) {
    const Simulated simulated = simulate(family, seed_of(family, 0, i), kBefore + kJudged, shared, {});
    return static_cast<double>(find_alarms(make_history(simulated, confirm), kBefore).size());
  });
  return 1000 * alarms / static_cast<double>(series * kJudged);
}

/// Returns the share of steps that are reported as slower within `within` runs, the first run of the step
/// included.
double found(Family family, double shared, std::size_t series, bool confirm, double part,
             std::size_t within) {
  const double hits = sum_of(series, [&](std::size_t i) {
    const Simulated simulated =
        simulate(family, seed_of(family, 1, i), kBaseline + within, shared, step_level(part));
    return reports_slower(make_history(simulated, confirm), kBaseline);
  });
  return hits / static_cast<double>(series);
}

void print_false_alarms(const std::string& name, double shared, std::size_t series, bool confirm) {
  fmt::print("| {} |", name);
  for (const Family family : kFamilies)
    fmt::print(" {:.2f} |", false_alarms(family, shared, series, confirm));
  fmt::print(" {:.2f} |\n", found(Family::gaussian_3, shared, 2000, confirm, 0.05, 7));
  std::fflush(stdout);
}

void tabulate_false_alarms(std::size_t series) {
  fmt::print("| peakmark | {} | +5 % in 7 |\n|---|---|---|---|---|---|---|---|---|---|\n",
             "Gaussian 1 % | Gaussian 3 % | heavy tail | AR(1) | outliers | two clocks | bi20 | bimodal");
  for (const int percent : {50, 34, 65, 0, 100}) {
    print_false_alarms(fmt::format("confirmation shares {} % of the noise", percent), percent / 100.0, series,
                       true);
  }
  print_false_alarms("no confirmation: the next run confirms", kShared, series, false);
}

void tabulate_finds(std::size_t series) {
  fmt::print("| step | noise | within | found | without confirmation |\n|---|---|---|---|---|\n");
  struct Row {
    const char* step;
    Family family;
    double part;
    std::size_t within;
  };
  for (const Row& row : {Row{"+5 %", Family::gaussian_3, 0.05, 3},
                         {"+5 %", Family::gaussian_3, 0.05, 7},
                         {"+5 %", Family::gaussian_3, 0.05, 14},
                         {"+10 %", Family::gaussian_3, 0.10, 3},
                         {"+10 %", Family::gaussian_3, 0.10, 7},
                         {"+3 %", Family::gaussian_1, 0.03, 3},
                         {"+3 %", Family::gaussian_1, 0.03, 7},
                         {"+5 %", Family::gaussian_1, 0.05, 2},
                         {"+10 %", Family::heavy_tail, 0.10, 7},
                         {"+10 %", Family::ar1, 0.10, 7},
                         {"+10 %", Family::outliers, 0.10, 3},
                         {"+10 %", Family::two_clocks, 0.10, 7}}) {
    fmt::print("| {} | {} | {} runs | {:.3f} | {:.3f} |\n", row.step, noise_of(row.family).name, row.within,
               found(row.family, kShared, series, true, row.part, row.within),
               found(row.family, kShared, series, false, row.part, row.within));
  }
  for (const Family family : {Family::gaussian_1, Family::gaussian_3}) {
    const double hits = sum_of(series / 4, [&](std::size_t i) {
      const Level drift = [](std::size_t run) {
        return run < kBaseline ? 1 : 1 + 0.1 * std::min(1.0, static_cast<double>(run - kBaseline + 1) / 30);
      };
      const Simulated simulated = simulate(family, seed_of(family, 2, i), kBaseline + 30, kShared, drift);
      return reports_slower(make_history(simulated, true), kBaseline);
    });
    fmt::print("| drift of 10 % over 30 runs | {} | 30 runs | {:.3f} | |\n", noise_of(family).name,
               hits / static_cast<double>(series / 4));
  }
  for (const std::size_t gap : {5, 10, 20}) {
    const double hits = sum_of(series / 2, [&](std::size_t i) {
      const Level level = [gap](std::size_t run) {
        return run < kBaseline ? 1 : run < kBaseline + gap ? 1.1 : 1.21;
      };
      const Simulated simulated = simulate(Family::gaussian_3, seed_of(Family::gaussian_3, 3, i),
                                           kBaseline + gap + 7, kShared, level);
      return reports_slower(make_history(simulated, true), kBaseline + gap);
    });
    fmt::print("| +10 %, {} runs after another | gaussian_3 | 7 runs | {:.3f} | |\n", gap,
               hits / static_cast<double>(series / 2));
  }
}

/// Measures how the number of cases changes the figures: find_trends() limits false alarms per run, not per
/// case.
void tabulate_cases(std::size_t runs_of_a_trial) {
  fmt::print("| cases | false alarms per run, all cases | +5 % in 7 runs | in 14 |\n|---|---|---|---|\n");
  for (const std::size_t cases : {1, 100, 2000}) {
    const std::size_t trials = cases == 1 ? 2000 : cases == 100 ? 200 : 12;
    double in_seven = 0;
    double in_fourteen = 0;
    double others = 0;
    const std::size_t changed = std::max<std::size_t>(1, cases / 100);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      trend::DeviceHistory history;
      for (std::size_t i = 0; i < cases; ++i) {
        const Simulated simulated =
            simulate(Family::gaussian_3, seed_of(Family::gaussian_3, 4, trial * 5000 + i),
                     kBaseline + runs_of_a_trial, kShared, i < changed ? step_level(0.05) : Level());
        trend::DeviceHistory one = make_history(simulated, true);
        one.series[0].case_name = fmt::format("{}", i);
        if (history.runs.empty()) history.runs = one.runs;
        history.series.push_back(std::move(one.series[0]));
      }
      std::vector<bool> is_found(changed);
      for (const trend::Change& change : trend::find_trends(history).changes) {
        if (change.verdict == trend::Verdict::suspicious || change.raised < kBaseline) continue;
        const auto index = static_cast<std::size_t>(std::stoul(change.case_name));
        if (index >= changed) {
          others += 1;
        } else if (!is_found[index] && change.verdict == trend::Verdict::regression) {
          is_found[index] = true;
          in_seven += change.raised < kBaseline + 7 ? 1 : 0;
          in_fourteen += change.raised < kBaseline + 14 ? 1 : 0;
        }
      }
    }
    const auto all = static_cast<double>(trials * changed);
    fmt::print("| {}, {} of them changed | {:.4f} | {:.2f} | {:.2f} |\n", cases, changed,
               others / static_cast<double>(trials * runs_of_a_trial), in_seven / all, in_fourteen / all);
    std::fflush(stdout);
  }
}

/// Simulates noise of the machine (3 %) that the case and the reference share; the reference adds 0.5 %.
void tabulate_reference(std::size_t series) {
  fmt::print(
      "| noise of the case, and of the machine | trends of | false alarms | +5 % in 3 | +5 % in 7 "
      "|\n|---|---|---|---|---|\n");
  for (const double machine_deviation : {0.03, 0.005}) {
    for (const bool with_reference : {false, true}) {
      const auto simulated_history = [&](std::size_t i, std::size_t experiment, std::size_t runs,
                                         const Level& level) {
        const std::uint64_t seed = seed_of(Family::gaussian_1, experiment, i);
        Simulated simulated = simulate(Family::gaussian_1, seed, runs, kShared, level);
        Random machine(seed + 5'000'000);
        std::vector<double> references;
        for (std::size_t run = 0; run < runs; ++run) {
          const double factor = 1 + machine_deviation * machine.normal();
          simulated.times[run] *= factor;
          simulated.again[run] *= factor;
          references.push_back(factor * (1 + 0.005 * machine.normal()));
        }
        trend::DeviceHistory history = make_history(simulated, true);
        for (std::size_t run = 0; with_reference && run < runs; ++run) {
          history.runs[run].reference_copy_ns = 1e5 * references[run];
        }
        return history;
      };
      const double alarms = sum_of(series, [&](std::size_t i) {
        return static_cast<double>(
            find_alarms(simulated_history(i, 5, kBefore + kJudged, {}), kBefore).size());
      });
      const auto found_in = [&](std::size_t within) {
        return sum_of(series,
                      [&](std::size_t i) {
                        return reports_slower(simulated_history(i, 6, kBaseline + within, step_level(0.05)),
                                              kBaseline);
                      }) /
               static_cast<double>(series);
      };
      fmt::print("| 1 %, {:g} % | {} | {:.2f} | {:.3f} | {:.3f} |\n", machine_deviation * 100,
                 with_reference ? "times or ratios, as find_trends() decides" : "times",
                 1000 * alarms / static_cast<double>(series * kJudged), found_in(3), found_in(7));
      std::fflush(stdout);
    }
  }
}

/// Returns, for each predicate, the share of histories in which it holds for a change. `trends_of(i)`
/// simulates history i, once.
template <typename TrendsOf, typename... Holds>
std::array<double, sizeof...(Holds)> shares(std::size_t histories, const TrendsOf& trends_of,
                                            const Holds&... holds) {
  std::array<std::atomic<std::size_t>, sizeof...(Holds)> found{};
  sum_of(histories, [&](std::size_t i) {
    const trend::Trends trends = trends_of(i);
    const std::array has{std::ranges::any_of(trends.changes, holds)...};
    for (std::size_t k = 0; k < has.size(); ++k) found[k] += has[k] ? 1 : 0;
    return 0.0;
  });
  std::array<double, sizeof...(Holds)> all{};
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k] = static_cast<double>(found[k]) / static_cast<double>(histories);
  return all;
}

/// Returns the shares of the series in which a regression is reported, and in which one is open after the
/// last run.
std::array<double, 2> open_share(Family family, std::size_t experiment, std::size_t series, std::size_t runs,
                                 const Level& level) {
  const auto is_reported = [](const trend::Change& change) {
    return change.verdict == trend::Verdict::regression && change.first >= kBefore;
  };
  const auto is_open = [&](const trend::Change& change) {
    return is_reported(change) && change.state == trend::State::open;
  };
  const auto trends_of = [&](std::size_t i) {
    return trend::find_trends(
        make_history(simulate(family, seed_of(family, experiment, i), runs, kShared, level), true));
  };
  return shares(series, trends_of, is_reported, is_open);
}

/// Measures how many regressions are open at the end: temporary ones, and ones that stay.
void tabulate_open(std::size_t series) {
  fmt::print("| level | noise | reported | open at the end |\n|---|---|---|---|\n");
  const auto temporary = [](double part, std::size_t runs) -> Level {
    return [=](std::size_t run) { return run >= kBaseline && run < kBaseline + runs ? 1 + part : 1; };
  };
  const auto row = [&](const char* what, Family family, std::size_t experiment, std::size_t runs,
                       const Level& level) {
    const auto [reported, open] = open_share(family, experiment, series, runs, level);
    fmt::print("| {} | {} | {:.3f} | {:.3f} |\n", what, noise_of(family).name, reported, open);
    std::fflush(stdout);
  };
  for (const Family family : kFamilies) {
    row("never changed, 200 runs", family, 7, 200, Level());
    row("+10 % for 14 runs, then 30 without", family, 8, kBaseline + 44, temporary(0.1, 14));
    row("+10 %, for 200 runs", family, 9, kBaseline + 200, step_level(0.1));
  }
}

constexpr std::size_t kSharedCases = 50;  ///< of 10 variants
constexpr std::size_t kSharedAfter = 14;  ///< runs after the step

/// Returns a history of cases of which the first `slower` take a step. `machine`: deviation of a factor of
/// each run that all cases share.
trend::DeviceHistory history_of_step(Family family, std::uint64_t seed, std::size_t slower, double part,
                                     double machine) {
  constexpr std::size_t kRuns = kBaseline + kSharedAfter;
  Random common(seed + 5'000'000);
  std::vector<double> factors;
  for (std::size_t run = 0; run < kRuns; ++run) factors.push_back(1 + machine * common.normal());
  trend::DeviceHistory history;
  for (std::size_t i = 0; i < kSharedCases; ++i) {
    Simulated simulated = simulate(family, seed + i, kRuns, kShared, i < slower ? step_level(part) : Level());
    for (std::size_t run = 0; run < kRuns; ++run) {
      simulated.times[run] *= factors[run];
      simulated.again[run] *= factors[run];
    }
    trend::DeviceHistory one = make_history(simulated, true);
    one.series[0].case_name = fmt::format("op/v{}/opencl/n:{}", i % 10, i);
    if (history.runs.empty()) history.runs = one.runs;
    history.series.push_back(std::move(one.series[0]));
  }
  return history;
}

/// Measures how often a step is attributed to the machine. This must happen if all cases have the step, and
/// must not if only some or no cases have it.
void tabulate_shared(std::size_t histories) {
  fmt::print(
      "| slower from a run on | noise of a case | of the machine | shared step | its run is right |\n"
      "|---|---|---|---|---|\n");
  struct Row {
    std::size_t slower;
    double part;
    Family family;
    double machine;
  };
  for (const Row& row : {Row{50, 0.10, Family::gaussian_1, 0}, Row{50, 0.10, Family::gaussian_3, 0},
                         Row{50, 0.10, Family::gaussian_3, 0.01}, Row{50, 0.10, Family::two_clocks, 0},
                         Row{50, 0.05, Family::gaussian_1, 0}, Row{50, 0.05, Family::gaussian_3, 0},
                         Row{48, 0.10, Family::gaussian_1, 0}, Row{40, 0.10, Family::gaussian_1, 0},
                         Row{40, 0.10, Family::gaussian_3, 0}, Row{25, 0.10, Family::gaussian_1, 0},
                         Row{0, 0, Family::gaussian_3, 0}, Row{0, 0, Family::two_clocks, 0},
                         Row{0, 0, Family::heavy_tail, 0}, Row{0, 0, Family::gaussian_1, 0.03}}) {
    const auto [shared, right] = shares(
        histories,
        [&](std::size_t i) {
          return trend::find_trends(history_of_step(row.family, seed_of(row.family, 10, i * kSharedCases),
                                                    row.slower, row.part, row.machine));
        },
        [](const trend::Change& change) { return change.shared.has_value(); },
        [](const trend::Change& change) { return change.shared && change.shared->run == kBaseline; });
    fmt::print("| {} of {} cases by {:g} % | {} | {:g} % | {:.3f} | {} |\n", row.slower, kSharedCases,
               100 * row.part, noise_of(row.family).name, 100 * row.machine, shared,
               row.slower == 0 ? "–" : fmt::format("{:.3f}", right));
    std::fflush(stdout);
  }
}

void print_rare(std::size_t series) {
  fmt::print("{:.2f}\n", false_alarms(Family::rare_state, kShared, series, true));
}

struct Experiment {
  std::string_view name;
  void (*print)(std::size_t count);
  std::size_t count;  ///< the default: series, histories, or runs of a trial
};
constexpr std::array kExperiments{Experiment{"false_alarms", tabulate_false_alarms, 1800},
                                  Experiment{"rare", print_rare, 1000},
                                  Experiment{"finds", tabulate_finds, 3000},
                                  Experiment{"cases", tabulate_cases, 14},
                                  Experiment{"reference", tabulate_reference, 800},
                                  Experiment{"open", tabulate_open, 1000},
                                  Experiment{"shared", tabulate_shared, 100}};

}  // namespace
}  // namespace peakmark::bench

int main(int argc, char** argv) {
  using namespace peakmark::bench;
  const auto* chosen =
      std::ranges::find(kExperiments, std::string_view(argc > 1 ? argv[1] : ""), &Experiment::name);
  const auto count = argc > 2 ? peakmark::parse_number<std::uint64_t>(argv[2]) : 0;
  const auto seed = argc > 3 ? peakmark::parse_number<std::uint64_t>(argv[3]) : kReported;
  if (chosen == kExperiments.end() || !count || !seed || argc > 4) {
    fmt::print(stderr, "usage: trend_experiments {} [COUNT [SEED]]\n",
               "false_alarms|rare|finds|cases|reference|open|shared");
    return 2;
  }
  first_seed = *seed;
  chosen->print(*count == 0 ? chosen->count : *count);
}
