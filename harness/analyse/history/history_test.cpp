// Tests of what a history contains and keeps, on both databases.
#include "analyse/history/history.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

#include "analyse/history/run_record.hpp"
#include "analyse/history/sample_runs.hpp"
#include "analyse/history/test_databases.hpp"
#include "analyse/trend/pruning.hpp"
#include "analyse/trend/trends.hpp"
#include "base/text.hpp"
#include "measure/sweep/parameters.hpp"

namespace peakmark::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
constexpr std::nullopt_t kNone = std::nullopt;

class HistoryTest : public OnBothDatabases {};

INSTANTIATE_TEST_SUITE_P(, HistoryTest, testing::Values(Address::Kind::sqlite, Address::Kind::postgresql),
                         kind_name);

TEST_P(HistoryTest, KeepsWhatWasAdded) {
  EXPECT_EQ(open().add(sample_history_run(1).run).runs_of_device, 1);
  const Added second = open().add(sample_history_run(2).run);
  EXPECT_FALSE(second.was_there);
  EXPECT_EQ(second.runs_of_device, 2);
  EXPECT_THAT(second.notes, IsEmpty());
  const std::vector<LoggedRun> log = open_to_read().log();
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[1].id, "run-02");
  EXPECT_EQ(log[1].date, "2026-01-02T02:00:00Z");
  EXPECT_EQ(log[1].commit, "c-run-02");
  EXPECT_EQ(log[1].device, "a device");
  EXPECT_EQ(log[1].driver, "3.1");
  EXPECT_EQ(log[1].cases, 2);
  EXPECT_EQ(log[1].ok, 2);
  EXPECT_THAT(open_to_read().latest(), ElementsAre("run-02"));
}

TEST_P(HistoryTest, TheLatestAreOfEachSuiteOnEachDevice) {
  for (const int day : {1, 2}) {
    peakmark::Run weekly = sample_history_run(10 + day).run;
    weekly.context.suite = "weekly";
    open().add(weekly);
    open().add(sample_history_run(20 + day).run);
  }
  open().add(sample_history_run(15, 1, 1000, "GPU").run);
  EXPECT_THAT(open_to_read().latest(), ElementsAre("run-12", "run-22", "GPU-15"));
}

// There are more rows than fit into one statement, with and without values.
TEST_P(HistoryTest, ManyCasesComeBack) {
  SampleHistoryRun sample("run-01", "2026-01-01T02:00:00Z");
  for (int n = 0; n < 450; ++n) {
    Observation& one = sample.add(fmt::format("op/a/opencl/n:{}", n), 1 + n, 1000.5 + n);
    if (n % 7 == 3) {
      one.gpu_time.reset();
      one.kernels.clear();
      one.setup_bytes.reset();
    }
    if (n % 11 == 2) one.outcome = Outcome::out_of_memory;
  }
  open().add(sample.run);
  const peakmark::Run back = open_to_read().run("run-01");
  ASSERT_EQ(back.observations.size(), 450U);
  for (std::size_t i = 0; i < back.observations.size(); ++i) {
    Observation expected = sample.run.observations[i];
    if (expected.gpu_time) expected.gpu_time->blocks.clear();
    EXPECT_EQ(to_json_line(back.observations[i]), to_json_line(expected));
  }
  EXPECT_TRUE(open().add(sample.run).was_there);
}

TEST_P(HistoryTest, MetricsAreSeriesAndNotFacts) {
  for (const int day : {1, 2, 3}) {
    SampleHistoryRun sample = sample_history_run(day);
    Observation& one = sample.run.observations[0];
    if (day != 2) one.metrics = {{"a_rate", 0.5 * day}, {"iterations", 12}};
    if (day != 2) one.metric_directions = {{"a_rate", "higher"}};
    open().add(sample.run);
    Observation expected = one;
    expected.gpu_time->blocks.clear();
    const peakmark::Run back = open_to_read().run(sample.run.context.id);
    EXPECT_EQ(to_json_line(back.observations[0]), to_json_line(expected));
  }
  const std::vector<trend::DeviceHistory> devices = open_to_read().read();
  ASSERT_EQ(devices.size(), 1U);
  std::vector<std::string> names;
  std::vector<std::optional<double>> values;
  for (const trend::Series& one : devices[0].series) {
    if (one.case_name == "op/b/opencl/n:2") names.push_back(one.metric);
    if (one.metric == "a_rate") values = one.values;
  }
  EXPECT_THAT(values, ElementsAre(0.5, kNone, 1.5));
  EXPECT_THAT(names, ElementsAre("a_rate", "estimate_ratio", "gpu_time_ns", "iterations", "leaked_bytes",
                                 "requested_peak_bytes", "setup_bytes"));
  SampleHistoryRun with_metrics = sample_history_run(1);
  with_metrics.run.observations[0].metrics = {{"a_rate", 2}};
  EXPECT_EQ(to_record(with_metrics.run).observations[0].facts_hash,
            to_record(sample_history_run(1).run).observations[0].facts_hash)
      << "facts are stored once";
}

TEST_P(HistoryTest, AHistoryWithoutTheColumnOfMetricsGetsItWithTheFirst) {
  open().add(sample_history_run(1).run);
  execute("ALTER TABLE observations DROP COLUMN metrics");
  EXPECT_TRUE(open_to_read().run("run-01").observations[0].metrics.empty());
  open().add(sample_history_run(2).run);  // reports none
  EXPECT_EQ(values_of(open_to_read().read().at(0), "op/b/opencl/n:2", "gpu_time_ns"), Values({1000, 1000}));
  SampleHistoryRun third = sample_history_run(3);
  third.run.observations[0].metrics = {{"iterations", 12}};
  open().add(third.run);
  EXPECT_EQ(values_of(open_to_read().read().at(0), "op/b/opencl/n:2", "iterations"),
            Values({kNone, kNone, 12}));
  EXPECT_TRUE(open_to_read().run("run-02").observations[0].metrics.empty());
}

TEST_P(HistoryTest, TheNewestRunOfASuiteSaysWhatMayGrow) {
  for (const int day : {1, 2}) {
    SampleHistoryRun sample = sample_history_run(day);
    sample.run.context.planned[1].limits.growth = parse_growth_allowance(day == 1 ? "1 %" : "5 %");
    if (day == 1) sample.run.context.planned[0].limits.growth = parse_growth_allowance("1 %");
    open().add(sample.run);
  }
  const auto allowances = open_to_read().read().at(0).allowances;
  ASSERT_EQ(allowances.size(), 1U);
  EXPECT_EQ(allowances.at("op/a/opencl").text, "5 %");
}

TEST_P(HistoryTest, AddingTwiceChangesNothing) {
  open().add(sample_history_run(1).run);
  const Added again = open().add(sample_history_run(1).run);
  EXPECT_TRUE(again.was_there);
  EXPECT_EQ(again.runs_of_device, 1);
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01"));
  EXPECT_THAT(message_of([&] { open().add(sample_history_run(1, 2).run); }),
              HasSubstr("run run-01 is in the history with different contents"));
}

TEST_P(HistoryTest, ARunComesBackButForSingleCalls) {
  open().add(sample_history_run(2).run);  // its cases have other numbers then
  SampleHistoryRun first("run-01", "2026-01-01T02:00:00Z");
  first.add("op/c/opencl");
  first.add("op/a/opencl");
  first.add("op/b/opencl/n:2");
  first.add("op/d/opencl").outcome = Outcome::crashed;
  first.run.observations.back().gpu_time.reset();
  first.run.observations.back().kernels.clear();
  open().add(first.run);
  const peakmark::Run back = open_to_read().run("run-01");
  ASSERT_EQ(back.observations.size(), first.run.observations.size());
  for (std::size_t i = 0; i < back.observations.size(); ++i) {
    Observation expected = first.run.observations[i];
    if (expected.gpu_time) expected.gpu_time->blocks.clear();
    EXPECT_EQ(to_json_line(back.observations[i]), to_json_line(expected));
  }
  EXPECT_EQ(back.context.planned.size(), 4U);
  EXPECT_THAT(message_of([&] { open().run("none such"); }), HasSubstr("no run 'none such'"));
}

TEST_P(HistoryTest, SeriesAreAlignedWithRunsAndNullWhereNothingIs) {
  open().add(sample_history_run(1, 1, 1000).run);
  SampleHistoryRun second = sample_history_run(2, 3, 1100);
  second.run.observations[1].outcome = Outcome::wrong_answer;
  open().add(second.run);
  SampleHistoryRun third("run-03", "2026-01-03T02:00:00Z");
  Observation& changed = third.add("op/b/opencl/n:2", 3, 1200);
  changed.estimate.reset();
  changed.setup_bytes.reset();
  changed.gpu_time.reset();
  third.run.context.memory_only = true;
  open().add(third.run);

  const std::vector<trend::DeviceHistory> devices = open_to_read().read();
  ASSERT_EQ(devices.size(), 1U);
  const trend::DeviceHistory& device = devices.front();
  EXPECT_EQ(device.device, "a device");
  EXPECT_EQ(device.backend, "opencl");
  ASSERT_EQ(device.runs.size(), 3U);
  EXPECT_EQ(device.runs[2].id, "run-03");
  EXPECT_EQ(device.runs[2].platform, "a platform");
  const std::string a = "op/a/opencl";
  const std::string b = "op/b/opencl/n:2";
  EXPECT_EQ(values_of(device, b, "requested_peak_bytes"), (Values{2 * kMiB, 6 * kMiB, 6 * kMiB}));
  EXPECT_EQ(values_of(device, b, "setup_bytes"), (Values{0, 0, kNone}));
  EXPECT_EQ(values_of(device, b, "leaked_bytes"), (Values{0, 0, 0}));
  EXPECT_EQ(values_of(device, b, "gpu_time_ns"), (Values{1000, 1100, kNone}));
  EXPECT_EQ(values_of(device, b, "estimate_ratio"), (Values{0.5, 0.5, kNone}));
  EXPECT_EQ(values_of(device, a, "requested_peak_bytes"), (Values{2 * kMiB, kNone, kNone}));
  EXPECT_EQ(values_of(device, a, "gpu_time_ns"), (Values{2000, kNone, kNone}));
  ASSERT_EQ(device.outcomes.size(), 2U);
  EXPECT_EQ(device.outcomes[0].case_name, a);
  using Outcomes = std::vector<std::optional<std::string>>;
  EXPECT_EQ(device.outcomes[0].outcomes, (Outcomes{"ok", "wrong_answer", kNone}));
  EXPECT_EQ(device.outcomes[1].outcomes, (Outcomes{"ok", "ok", "ok"}));
  for (std::size_t i = 1; i < device.series.size(); ++i) {
    EXPECT_LT(std::pair(device.series[i - 1].case_name, device.series[i - 1].metric),
              std::pair(device.series[i].case_name, device.series[i].metric));
  }
}

TEST_P(HistoryTest, SecondMeasurementsOfARunAreStoredWithTheFirst) {
  open().add(sample_history_run(1).run);
  SampleHistoryRun second = sample_history_run(2);
  for (Observation& one : second.run.observations) {
    if (one.case_name == "op/a/opencl")
      one.gpu_time_again = summarise_blocks({{2100, 2100}, {2200, 2200}, {2300, 2300}});
  }
  open().add(second.run);
  const std::vector<trend::DeviceHistory> devices = open_to_read().read();
  for (const trend::Series& series : devices.at(0).series) {
    const bool has_them = series.case_name == "op/a/opencl" && series.metric == "gpu_time_ns";
    EXPECT_EQ(series.confirmations, has_them ? (Values{kNone, 2200}) : Values{}) << series.case_name;
  }
  const peakmark::Run back = open_to_read().run("run-02");
  const auto a = std::ranges::find(back.observations, "op/a/opencl", &Observation::case_name);
  ASSERT_TRUE(a->gpu_time_again);
  EXPECT_EQ(a->gpu_time_again->median_ns, 2200);
  EXPECT_TRUE(open().add(second.run).was_there);
}

TEST_P(HistoryTest, TimesOfTwoClocksAreNeverOneSeries) {
  for (int day = 1; day <= 3; ++day) {
    peakmark::Run run = sample_history_run(day, 1, 1000 * day).run;
    run.observations[0].time_source = day == 2 ? time_source::marks : time_source::process;
    run.observations[1].statistic = day == 2 ? std::optional<std::string>("mean") : std::nullopt;
    open().add(run);
  }
  const std::vector<trend::DeviceHistory> devices = open_to_read().read();
  for (const trend::Series& series : devices.at(0).series) {
    if (series.metric != trend::metric::gpu_time_ns) continue;
    EXPECT_TRUE(series.values[0].has_value());
    EXPECT_FALSE(series.values[1].has_value()) << series.method;
    EXPECT_TRUE(series.values[2].has_value());
  }
}

peakmark::Run run_of_class(int day, const std::string& device, Size mib) {
  peakmark::Run run = sample_history_run(day, mib, 1000 + day).run;
  run.context.device_class = "hosted-cpu";
  run.context.device = device;
  for (Observation& one : run.observations) one.device = device;
  return run;
}

TEST_P(HistoryTest, ADeviceClassIsOneSeriesOfBytesAndOfEachDeviceOneOfTimes) {
  const std::vector<std::string> devices{"cpu-znver3-AMD", "cpu-znver3-AMD", "cpu-icelake-server-Intel"};
  for (int day = 1; day <= 3; ++day) {
    const Added added = open().add(run_of_class(day, devices[day - 1], day));
    EXPECT_EQ(added.runs_of_device, day);
    EXPECT_THAT(added.notes, IsEmpty());
  }
  const std::vector<trend::DeviceHistory> all = open_to_read().read();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].device, "hosted-cpu");
  EXPECT_EQ(all[0].runs[2].device, "cpu-icelake-server-Intel");
  for (const trend::Series& series : all[0].series) {
    if (series.case_name != "op/b/opencl/n:2") continue;
    if (series.metric == trend::metric::requested_peak_bytes) {
      EXPECT_EQ(series.values, (Values{2.0 * kMiB, 4.0 * kMiB, 6.0 * kMiB}));
    }
    if (series.metric != trend::metric::gpu_time_ns) continue;
    EXPECT_EQ(series.method, "device, hot, median, on cpu-AMD") << "that of most runs";
    EXPECT_TRUE(series.values[1].has_value());
    EXPECT_FALSE(series.values[2].has_value());
  }
  const peakmark::Run back = open_to_read().run("run-03");
  EXPECT_EQ(back.context.device_class, "hosted-cpu");
  EXPECT_EQ(back.observations[0].device, "cpu-icelake-server-Intel");
  const Added unfiled = open().add(sample_history_run(4).run);
  EXPECT_EQ(unfiled.runs_of_device, 1) << "a run that is not filed under the class";
}

TEST_P(HistoryTest, AnotherVersionIsANewSeries) {
  const auto run_of = [](int day, Size version, Outcome outcome = Outcome::ok) {
    peakmark::Run run = sample_history_run(day, day).run;
    run.context.fingerprint = "of version " + std::to_string(version);
    run.context.planned[0].version = version;
    run.observations[0].version = version;
    run.observations[0].outcome = outcome;
    return run;
  };
  open().add(run_of(1, 1));
  open().add(run_of(2, 1));
  open().add_acceptances({{"op/b/opencl/n:2", "", "run-02", "me", "2026-01-03T00:00:00Z", "because"}});
  open().add(run_of(3, 2));
  open().add(run_of(4, 2));
  const auto bytes = [](const trend::DeviceHistory& history) {
    for (const trend::Series& series : history.series) {
      if (series.case_name == "op/b/opencl/n:2" && series.metric == trend::metric::requested_peak_bytes)
        return series.values;
    }
    return Values{};
  };
  const trend::DeviceHistory two = open_to_read().read().at(0);
  EXPECT_EQ(bytes(two), (Values{kNone, kNone, 6.0 * kMiB, 8.0 * kMiB}));
  EXPECT_THAT(two.acceptances, IsEmpty());
  EXPECT_EQ(two.outcomes.at(1).version, 2);
  // A revert continues the first series of values.
  open().add(run_of(5, 1));
  EXPECT_EQ(bytes(open_to_read().read().at(0)), (Values{2.0 * kMiB, 4.0 * kMiB, kNone, kNone, 10.0 * kMiB}));
  // A branch that raises the version has nothing to compare with.
  peakmark::Run branch = run_of(6, 3);
  open().add(branch, {"pull/1", "main", {"c-run-05"}});
  const trend::DeviceHistory compared = open_to_read().read("pull/1").at(0);
  EXPECT_EQ(compared.outcomes.at(1).version_before, 1);
  EXPECT_EQ(bytes(compared).back(), 12.0 * kMiB);
  EXPECT_EQ(bytes(compared).front(), kNone);
}

TEST_P(HistoryTest, ColdAndHotTimesAreNeverOneSeries) {
  for (int day = 1; day <= 4; ++day) {
    peakmark::Run run = sample_history_run(day, 1, 1000 * day).run;
    // The runs 2 and 4 are cold; the second case is hot in all runs.
    run.observations[0].cache = day % 2 == 0 ? cache_state::cold : cache_state::hot;
    run.observations[1].cache = cache_state::hot;
    open().add(run);
  }
  const std::vector<trend::DeviceHistory> devices = open_to_read().read();
  for (const trend::Series& series : devices.at(0).series) {
    if (series.metric != trend::metric::gpu_time_ns) continue;
    const bool is_hot = series.case_name == "op/a/opencl";
    EXPECT_EQ(series.method, is_hot ? "device, hot, median" : "device, cold, median");
    EXPECT_EQ(series.values[0].has_value(), is_hot);
    EXPECT_TRUE(series.values[1].has_value());
    EXPECT_EQ(series.values[2].has_value(), is_hot);
    EXPECT_TRUE(series.values[3].has_value());
  }
}

TEST_P(HistoryTest, AllocationsOfAPeakAreFound) {
  open().add(sample_history_run(1).run);
  open().add(sample_history_run(2, 3).run);
  const auto allocations = open_to_read().at_peak("op/b/opencl/n:2", "run-02");
  ASSERT_EQ(allocations.size(), 2U);
  EXPECT_EQ(allocations[0].name, "input");
  EXPECT_EQ(allocations[0].kind, "buffer");
  EXPECT_EQ(allocations[0].bytes, 3 * kMiB);
  EXPECT_EQ(open_to_read().at_peak("op/b/opencl/n:2", "run-01")[0].bytes, kMiB);
  EXPECT_THAT(open_to_read().at_peak("op/b/opencl/n:2", "none"), IsEmpty());
  EXPECT_THAT(open_to_read().at_peak("none", "run-01"), IsEmpty());
}

TEST_P(HistoryTest, RunsAreInTheOrderOfArrival) {
  open().add(sample_history_run(3).run);
  const Added earlier = open().add(sample_history_run(1).run);
  EXPECT_THAT(earlier.notes,
              ElementsAre(testing::AllOf(HasSubstr("before the newest run of this suite and device"),
                                         HasSubstr("history remove run-01"), HasSubstr("--by-date"))));
  SampleHistoryRun same = sample_history_run(3);
  same.run.context.id = "run-03b";
  same.run.context.commit = "c-run-03";
  const Added twice = open().add(same.run);
  EXPECT_THAT(twice.notes, ElementsAre(HasSubstr("second run of commit c-run-03 on this device")));
  EXPECT_THAT(ids_of(open()), ElementsAre("run-03", "run-01", "run-03b"));
  EXPECT_THAT(open().latest(), ElementsAre("run-03b"));
}

TEST_P(HistoryTest, RunsOfThePastAreAddedByDate) {
  for (const int day : {3, 5}) open().add(sample_history_run(day).run);
  const auto add = [&](int day) { open().add(sample_history_run(day, day).run, {}, Placement::date); };
  add(4);
  add(1);
  add(2);
  add(6);
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-03", "run-04", "run-05", "run-06"));
  EXPECT_EQ(values_of(open().read()[0], "op/b/opencl/n:2", trend::metric::requested_peak_bytes),
            (Values{2 * kMiB, 4 * kMiB, 2 * kMiB, 8 * kMiB, 2 * kMiB, 12 * kMiB}));
}

TEST_P(HistoryTest, TwoSuitesOfOneNameAreNoted) {
  const auto from = [](int day, const std::string& file) {
    SampleHistoryRun sample = sample_history_run(day);
    sample.run.context.suite_files = {{file}};
    return sample.run;
  };
  EXPECT_THAT(open().add(from(1, "suites/a.toml")).notes, IsEmpty());
  EXPECT_THAT(open().add(from(2, "suites/a.toml")).notes, IsEmpty());
  EXPECT_THAT(open().add(from(3, "suites/b.toml")).notes,
              ElementsAre(HasSubstr("suite 'nightly' is measured from suites/b.toml now, and was from "
                                    "suites/a.toml")));
}

TEST_P(HistoryTest, ADateLaterThanTomorrowIsRefused) {
  const auto dated = [](int days) {
    SampleHistoryRun sample(fmt::format("in {} days", days),
                            utc_date(std::chrono::system_clock::now() + std::chrono::days(days)));
    sample.add("op/a/opencl");
    return sample.run;
  };
  EXPECT_THAT(message_of([&] { open().add(dated(2)); }),
              testing::AllOf(HasSubstr("not added: dated "),
                             HasSubstr("later than tomorrow (the date of this "
                                       "machine is "),
                             HasSubstr("correct the clock"), HasSubstr("--date")));
  EXPECT_THAT(ids_of(open()), IsEmpty());
  open().add(dated(1));
  EXPECT_THAT(ids_of(open()), ElementsAre("in 1 days"));
}

TEST_P(HistoryTest, AFutureDateThatIsThereHidesNoLaterRegression) {
  open().add(sample_history_run(1).run);
  open().add(sample_history_run(2).run);
  execute(fmt::format("UPDATE {}runs SET date = '2999-01-01T00:00:00Z' WHERE id = 'run-02'",
                      is_postgresql() ? "peakmark." : ""));
  open().add(sample_history_run(3, 2).run);
  const auto devices = open().read();
  const trend::Trends trends = trend::find_trends(devices.at(0));
  EXPECT_TRUE(trend::has_open_regression(trends));
  EXPECT_THAT(open().latest(), ElementsAre("run-03"));
}

TEST_P(HistoryTest, FloatingPointAxesComeBackAndAreOneSeriesEach) {
  const auto run_of_day = [](int day, Size mib) {
    SampleHistoryRun sample(fmt::format("run-{:02}", day), fmt::format("2026-01-{:02}T02:00:00Z", day));
    for (const double sigma : {1.0, 0.1, 0.1 + 0.2, 1e22}) {
      Observation& one = sample.add(fmt::format("blur/one/opencl/sigma:{}", float_text(sigma)),
                                    sigma == 0.1 + 0.2 ? mib : 1);
      one.axes = Parameters({{"n", Size{1}}, {"sigma", sigma}});
    }
    return sample.run;
  };
  for (const int day : {1, 2, 3}) open().add(run_of_day(day, day < 3 ? 1 : 2));
  const peakmark::Run back = open_to_read().run("run-03");
  ASSERT_EQ(back.observations.size(), 4U);
  EXPECT_EQ(back.observations[0].axes, Parameters({{"n", Size{1}}, {"sigma", 1.0}}))
      << "1.0 stays no integer";
  EXPECT_EQ(back.observations[2].axes, Parameters({{"n", Size{1}}, {"sigma", 0.30000000000000004}}));
  const auto devices = open_to_read().read();
  const std::string changed = "blur/one/opencl/sigma:0.30000000000000004";
  EXPECT_EQ(values_of(devices.at(0), changed, trend::metric::requested_peak_bytes),
            (Values{2.0 * kMiB, 2.0 * kMiB, 4.0 * kMiB}));
  const trend::Trends trends = trend::find_trends(devices.at(0));
  for (const trend::Change& change : trends.changes) EXPECT_EQ(change.case_name, changed);
  EXPECT_TRUE(trend::has_open_regression(trends));
}

TEST_P(HistoryTest, CasesOfAMissingShardAreLost) {
  open().add(sample_history_run(1).run);
  peakmark::Run unfinished = sample_history_run(2).run;
  unfinished.observations.pop_back();
  unfinished.context.complete = false;
  EXPECT_THAT(message_of([&] { open().add(unfinished); }), HasSubstr("incomplete run"));
  unfinished.context.partial = "shard 2 of 2 is unfinished";
  open().add(unfinished);
  SampleHistoryRun missing = sample_history_run(3);
  missing.run.observations.pop_back();
  missing.run.context.planned.pop_back();
  missing.run.context.complete = false;
  missing.run.context.partial = "shard 2 of 2 is missing";
  open().add(missing.run);
  const auto devices = open().read();
  ASSERT_EQ(devices.at(0).outcomes.size(), 2U);
  using Outcomes = std::vector<std::optional<std::string>>;
  EXPECT_EQ(devices[0].outcomes[0].outcomes, (Outcomes{"ok", "lost", "lost"}));
  EXPECT_EQ(devices[0].outcomes[1].outcomes, (Outcomes{"ok", "ok", "ok"}));
  EXPECT_EQ(open().run("run-03").context.partial, "shard 2 of 2 is missing");
  EXPECT_TRUE(open().add(missing.run).was_there);
  EXPECT_TRUE(trend::has_open_regression(trend::find_trends(devices[0])));

  // The missing shard was measured, and the whole run was added.
  peakmark::Run whole = sample_history_run(4).run;
  whole.context.commit = missing.run.context.commit;
  open().add(whole);
  const auto later = open().read();
  EXPECT_EQ(later.at(0).outcomes[0].outcomes, (Outcomes{"ok", "lost", "ok"}))
      << "it replaces the partial run";
  EXPECT_EQ(open().log().size(), 4U);
}

TEST_P(HistoryTest, WrongRunsAreRemovedWithAllOfTheirRows) {
  for (const int day : {1, 2, 3}) open().add(sample_history_run(day, day).run);
  SampleHistoryRun other("other", "2026-01-04T02:00:00Z");
  other.add("op/z/opencl");
  open().add(other.run);
  open().add_acceptances({{"op/b/opencl/n:2", "", "run-02", "me", "2026-01-02T03:00:00Z", "why"},
                          {"op/b/opencl/n:2", "", "run-03", "me", "2026-01-03T03:00:00Z", "why"}});
  EXPECT_THAT(message_of([&] {
                open().remove({"run-03", "run-2"});
              }),
              testing::AllOf(HasSubstr("no run 'run-2'; nearest: run-0"), HasSubstr("nothing was removed")));
  EXPECT_EQ(open().remove({"run-*"}, true).runs.size(), 3U);
  EXPECT_EQ(ids_of(open()).size(), 4U);
  const Removed removed = open().remove({"run-02", "other"});
  ASSERT_EQ(removed.runs.size(), 2U);
  EXPECT_EQ(removed.runs[0].id, "run-02");
  EXPECT_EQ(removed.runs[0].cases, 2);
  EXPECT_EQ(removed.runs[0].commit, "c-run-02");
  ASSERT_EQ(removed.acceptances.size(), 1U);
  EXPECT_EQ(removed.acceptances[0].from_run, "run-02");
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-03"));
  EXPECT_EQ(open().cases().size(), 2U) << "op/z is gone";
  ASSERT_EQ(open().acceptances().size(), 1U);
  EXPECT_EQ(open().acceptances()[0].from_run, "run-03");
  EXPECT_EQ(values_of(open().read()[0], "op/b/opencl/n:2", trend::metric::requested_peak_bytes),
            (Values{2 * kMiB, 6 * kMiB}));
  EXPECT_FALSE(open().add(sample_history_run(2, 2).run).was_there) << "it can be added again";
  open().remove({"*"});
  EXPECT_THAT(ids_of(open()), IsEmpty());
}

TEST_P(HistoryTest, RemovalKeepsTheOrderOfPlacedRuns) {
  for (const int day : {1, 4, 6}) open().add(sample_history_run(day).run);
  for (const int day : {3, 2, 5}) open().add(sample_history_run(day).run, {}, Placement::date);
  open().remove({"run-04"});  // 3 was placed before it
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-03", "run-05", "run-06"));
  open().remove({"run-06", "run-03"});
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-05"));
  open().add(sample_history_run(7).run);
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-05", "run-07"));
}

TEST_P(HistoryTest, ARenamedDeviceIsOneSeriesOnceItIsDeclared) {
  open().add(sample_history_run(1, 1, 1000, "GPU").run);
  const Added renamed = open().add(sample_history_run(2, 1, 1000, "GPU 0").run);
  EXPECT_THAT(renamed.notes,
              ElementsAre(testing::AllOf(HasSubstr("new device 'GPU 0'"), HasSubstr("(known: 'GPU')"),
                                         HasSubstr("rename-device"))));
  EXPECT_EQ(renamed.runs_of_device, 1);
  EXPECT_EQ(open().read().size(), 2U);
  EXPECT_THAT(message_of([&] { open().rename_device("GPU 0", "CPU"); }), HasSubstr("no device 'CPU'"));
  open().rename_device("GPU 0", "GPU");
  ASSERT_EQ(open().read().size(), 1U);
  EXPECT_EQ(open().read()[0].runs.size(), 2U);
  EXPECT_EQ(open().read()[0].device, "GPU");
  EXPECT_EQ(open().device_name("GPU 0"), "GPU");
  EXPECT_EQ(open().device_name("GPU"), "GPU");
  EXPECT_EQ(open().device_name("CPU"), "CPU");
  EXPECT_THAT(open().latest(), ElementsAre("GPU 0-02"));
  EXPECT_EQ(open().log()[1].device, "GPU");
  EXPECT_EQ(open().add(sample_history_run(3, 1, 1000, "GPU 0").run).runs_of_device, 3);
  EXPECT_THAT(message_of([&] { open().rename_device("GPU", "GPU 0"); }),
              HasSubstr("is already another name of"));
}

TEST_P(HistoryTest, AnotherVersionOfADriverContinuesTheSeriesOfADevice) {
  const std::string before = "pthread-skylake-avx512-Intel(R) Xeon(R) Processor";
  const std::string after = "cpu-sapphirerapids-Intel(R) Xeon(R) Processor";
  EXPECT_EQ(open().add(sample_history_run(1, 1, 1000, before).run).notes.size(), 0U);
  const Added added = open().add(sample_history_run(2, 1, 1000, after).run);
  EXPECT_EQ(added.runs_of_device, 2);
  EXPECT_THAT(added.notes,
              ElementsAre("device '" + after + "' is '" + before +
                          "' under another version of its driver: this run continues its series"));
  EXPECT_EQ(open().add(sample_history_run(3, 1, 1000, after).run).notes.size(), 0U);
  ASSERT_EQ(open().read().size(), 1U);
  EXPECT_EQ(open().read()[0].runs.size(), 3U);
  EXPECT_EQ(open().read()[0].device, before);
  EXPECT_EQ(open().device_name(after), before);
  EXPECT_EQ(open().log()[2].device, before);
  EXPECT_THAT(open().latest().size(), 1U);
  EXPECT_THAT(open().devices(), ElementsAre(DeviceBackend{before, "opencl"}));
  // A user has declared another name to be the same device.
  open().add(sample_history_run(4, 1, 1000, "CPU").run);
  open().rename_device("CPU", after);
  ASSERT_EQ(open().read().size(), 1U);
  EXPECT_EQ(open().read()[0].runs.size(), 4U);
  EXPECT_THAT(message_of([&] { open().rename_device(before, after); }),
              HasSubstr("is already another name of"));
}

TEST_P(HistoryTest, ADeviceThatAUserRenamedKeepsTheKnownName) {
  const std::string before = "pthread-znver3-AMD EPYC";
  const std::string after = "cpu-znver4-AMD EPYC";
  open().add(sample_history_run(1, 1, 1000, "EPYC").run);
  open().add(sample_history_run(2, 1, 1000, before).run);
  open().rename_device(before, "EPYC");
  EXPECT_EQ(open().add(sample_history_run(3, 1, 1000, after).run).runs_of_device, 3);
  ASSERT_EQ(open().read().size(), 1U);
  EXPECT_EQ(open().read()[0].device, "EPYC");
}

TEST_P(HistoryTest, AcceptancesAreKeptOnce) {
  open().add(sample_history_run(1).run);
  trend::Acceptance acceptance{"op/a/opencl", "gpu_time_ns", "run-01", "me", "2026-01-02T00:00:00Z", "a"};
  open().add_acceptance(acceptance);
  acceptance.reason = "it's \"intended\"; x = :y";
  open().add_acceptance(acceptance);
  const auto devices = open().read();
  ASSERT_EQ(devices[0].acceptances.size(), 1U);
  EXPECT_EQ(devices[0].acceptances[0].reason, acceptance.reason);
  EXPECT_EQ(devices[0].acceptances[0].who, "me");
  EXPECT_EQ(devices[0].acceptances[0].when, "2026-01-02T00:00:00Z");
  acceptance.from_run = "none";
  EXPECT_THAT(message_of([&] { open().add_acceptance(acceptance); }), HasSubstr("no run 'none'"));
  acceptance = {"op/z", "", "run-01", "", "", ""};
  EXPECT_THAT(message_of([&] { open().add_acceptance(acceptance); }), HasSubstr("no case 'op/z'"));
}

TEST_P(HistoryTest, AcceptancesAreAddedAndRemovedTogether) {
  open().add(sample_history_run(1).run);
  const trend::Acceptance time{"op/a/opencl", "gpu_time_ns", "run-01", "me", "2026-01-02T00:00:00Z", "a"};
  trend::Acceptance peak = time;
  peak.metric = "requested_peak_bytes";
  trend::Acceptance wrong = time;
  wrong.case_name = "op/z";
  EXPECT_THAT(message_of([&] { open().add_acceptances({time, peak, wrong}); }), HasSubstr("no case 'op/z'"));
  EXPECT_THAT(open().acceptances(), IsEmpty()) << "all or none";
  open().add_acceptances({time, peak});
  EXPECT_EQ(open().acceptances().size(), 2U);
  open().remove_acceptances({peak});
  ASSERT_EQ(open().acceptances().size(), 1U);
  EXPECT_EQ(open().acceptances()[0].metric, "gpu_time_ns");
}

TEST_P(HistoryTest, PruningDropsOldRunsThatNothingNeeds) {
  for (int day = 1; day <= 20; ++day) open().add(sample_history_run(day, day < 8 ? 1 : 2, 1000 + day).run);
  open().add_acceptance({"op/a/opencl", "", "run-03", "me", "2026-01-20T00:00:00Z", "why"});
  const std::string limit = "2026-01-19T00:00:00Z";
  trend::TrendOptions options;
  options.detector.baseline_runs = 1;
  const RunsToKeep keep = [&](const trend::DeviceHistory& device) {
    std::set<std::string> kept = trend::runs_to_keep(device, limit, options);
    kept.insert("run-12");
    return kept;
  };
  const Pruned would = open().prune({.date = limit, .branch = {}, .dry = true}, keep);
  EXPECT_EQ(ids_of(open()).size(), 20U);
  const Pruned pruned = open().prune({.date = limit, .branch = {}}, keep);
  EXPECT_EQ(pruned.runs, would.runs);
  EXPECT_EQ(pruned.runs.size(), 13U);
  EXPECT_EQ(pruned.kept, 5);
  EXPECT_THAT(ids_of(open()),
              ElementsAre("run-02", "run-03", "run-07", "run-08", "run-12", "run-19", "run-20"));
  const auto devices = open().read();
  EXPECT_EQ(values_of(devices[0], "op/b/opencl/n:2", "gpu_time_ns"),
            (Values{1002, 1003, 1007, 1008, 1012, 1019, 1020}));
  EXPECT_EQ(devices[0].acceptances.size(), 1U);
}

TEST_P(HistoryTest, ARefusedRunLeavesNothing) {
  open().add(sample_history_run(1).run);
  SampleHistoryRun bad = sample_history_run(2);
  bad.run.observations[1].requested_peak_bytes = -5;
  EXPECT_THAT(message_of([&] { open().add(bad.run); }), HasSubstr("not added"));
  SampleHistoryRun open_end = sample_history_run(3);
  open_end.run.context.complete = false;
  EXPECT_THAT(message_of([&] { open().add(open_end.run); }), HasSubstr("incomplete run"));
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01"));
}

TEST_P(HistoryTest, AHistoryThatIsNotThereIsNotRead) {
  EXPECT_THAT(message_of([&] { open_to_read().log(); }),
              HasSubstr("no history here: check the name, or create one: peakmark history create"));
}

TEST_P(HistoryTest, ANewerVersionIsRefused) {
  open().add(sample_history_run(1).run);
  execute(is_postgresql() ? "UPDATE peakmark.peakmark_history SET version = 99"
                          : "UPDATE peakmark_history SET version = 99");
  for (const auto purpose : {History::Purpose::read, History::Purpose::write}) {
    EXPECT_THAT(
        message_of([&] { History(address(), purpose); }),
        HasSubstr(
            "history version 99 is not 1, which this peakmark supports: use the peakmark that wrote it"));
  }
}

TEST_P(HistoryTest, ADeviceIsReadWithoutTheOthers) {
  for (int day = 1; day <= 3; ++day) {
    open().add(sample_history_run(day, day).run);
    open().add(sample_history_run(day, 10, 2000, "another").run);
  }
  open().add(sample_history_run(4, 4, 1000, "old name").run);
  open().rename_device("old name", "a device");
  const std::vector<DeviceBackend> devices = open_to_read().devices();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0], (DeviceBackend{"a device", "opencl"}));
  const trend::DeviceHistory device = open_to_read().read_device(devices[0]);
  EXPECT_EQ(device.runs.size(), 4U);
  constexpr double kTwoMiB = 2097152;
  EXPECT_EQ(values_of(device, "op/b/opencl/n:2", trend::metric::requested_peak_bytes),
            (Values{kTwoMiB, 2 * kTwoMiB, 3 * kTwoMiB, 4 * kTwoMiB}));
  const trend::DeviceHistory another = open_to_read().read_device(devices[1]);
  EXPECT_EQ(values_of(another, "op/b/opencl/n:2", trend::metric::requested_peak_bytes),
            (Values{10 * kTwoMiB, 10 * kTwoMiB, 10 * kTwoMiB}));
  EXPECT_THAT(message_of([&] {
                open_to_read().read_device({"third", "opencl"});
              }),
              testing::HasSubstr("no device 'third' (opencl)"));
}

TEST_P(HistoryTest, OnlyRunsWithinTheLimitsAreRead) {
  constexpr int kDays = 9;
  for (int day = 1; day <= kDays; ++day) open().add(sample_history_run(day, day).run);
  const DeviceBackend known{"a device", "opencl"};
  const auto mib = [&](const RunLimits& limits) {
    const trend::DeviceHistory device = open_to_read().read_device(known, "", limits);
    std::vector<int> sizes;
    for (const auto& value : values_of(device, "op/b/opencl/n:2", trend::metric::requested_peak_bytes))
      sizes.push_back(static_cast<int>(value.value() / (2.0 * kMiB)));
    EXPECT_EQ(device.runs.size(), sizes.size());
    return sizes;
  };
  EXPECT_THAT(mib({"2026-01-06T00:00:00Z", 0}), testing::ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(mib({"", 6}), testing::ElementsAre(1, 3, 5, 7, 8, 9));
  EXPECT_THAT(mib({"2026-01-04T00:00:00Z", 4}), testing::ElementsAre(4, 6, 8, 9));
  EXPECT_THAT(mib({"2026-01-10T00:00:00Z", 4}), testing::IsEmpty());
  EXPECT_EQ(open_to_read().read_device(known, "", {"", 6}).left_out,
            (std::map<std::string, std::size_t>{{"run-02", 1}, {"run-04", 2}, {"run-06", 3}}));
}

TEST_P(HistoryTest, MoreRunsThanOneStatementReadsAreInOrder) {
  constexpr int kRuns = 230;
  for (int number = kRuns; number-- > 0;) {
    SampleHistoryRun sample(fmt::format("run-{:03}", number),
                            fmt::format("2026-01-01T02:{:02}:{:02}Z", number / 60, number % 60));
    sample.add("op/a/opencl", 1 + number);
    open().add(sample.run, {}, Placement::date);
  }
  Values expected;
  for (int number = 0; number < kRuns; ++number) expected.emplace_back(2.0 * (1 + number) * (1 << 20));
  const auto devices = open_to_read().read();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(values_of(devices[0], "op/a/opencl", trend::metric::requested_peak_bytes), expected);
}

}  // namespace
}  // namespace peakmark::history
