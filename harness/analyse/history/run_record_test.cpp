#include "analyse/history/run_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "analyse/history/sample_runs.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "measure/runfile/sample_run.hpp"

namespace peakmark::history {

namespace {

using testing::HasSubstr;

std::string refusal(const std::function<void(Run&)>& spoil) {
  SampleHistoryRun sample = sample_history_run(1);
  spoil(sample.run);
  try {
    to_record(sample.run);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(RunRecord, ComesBackButForSingleCalls) {
  peakmark::Run run = example_run();
  run.context.shard.reset();
  run.context.device = "a device";
  run.observations.front().kernels = {{"pad", 4, 400}, {"copy", 1, 7}};
  const peakmark::Run back = to_run(to_record(run));
  run.observations.front().gpu_time->blocks.clear();
  // Of a second measurement, only the median of the block medians is kept, here 101 and 116.5.
  run.observations.front().gpu_time_again = GpuTime{108.75, 108.75, 108.75, {}};
  // Values that never repeat and that no trend reads are left out.
  run.observations.front().gpu_time_hot.reset();
  run.observations.front().throttled_blocks.reset();
  ASSERT_EQ(back.observations.size(), 1U);
  EXPECT_EQ(to_json_line(back.observations.front()), to_json_line(run.observations.front()));
  EXPECT_EQ(back.context.planned.size(), 1U);
  EXPECT_EQ(back.context.planned.front().figure, "growth");
  EXPECT_EQ(back.context.planned.front().limits, run.context.planned.front().limits);
  EXPECT_EQ(back.context.clocks, run.context.clocks);
  EXPECT_EQ(back.context.warnings, run.context.warnings);
}

// The plan of earlier runs is found with this hash.
TEST(RunRecord, ThePlanIsOneListWithTheHashOfItsText) {
  peakmark::Run run = example_run();
  run.context.shard.reset();
  run.context.planned.front().figure.clear();
  run.context.planned.front().limits = {};
  run.context.planned.push_back(run.context.planned.front());
  run.context.planned.back().name = "b";
  run.context.planned.back().judged_estimators.clear();
  run.observations.push_back(example_observation("b"));
  const std::string start =
      R"("variant":"padding/coords1d","backend":"opencl","axes":{"n":20,"ny":512},"window":[0.7,1.1],)"
      R"("expected_outcome":"out_of_memory")";
  const std::string first = R"({"case":"padding/coords1d/opencl/n:20/ny:512",)" + start;
  const std::string second = R"({"case":"b",)" + start;
  const RunRecord record = to_record(run);
  EXPECT_EQ(record.planned, "[" + first + R"(,"judged_estimators":["planted"],"figure":null},)" + second +
                                R"(,"judged_estimators":[],"figure":null}])");
  Fingerprint fingerprint;
  fingerprint.add("[" + first + R"(,"judged_estimators":["planted"]},)" + second + "}]");
  EXPECT_EQ(record.planned_hash, static_cast<std::int64_t>(fingerprint.number()));
  EXPECT_EQ(to_run(record).context.planned.back().name, "b");

  RunRecord damaged = record;
  for (const char* const planned : {"", "7", "{}", "[7]", "[{}]", R"({"a":{}})", "[{\"case\":"}) {
    damaged.planned = planned;
    EXPECT_THROW(to_run(damaged), UsageError) << planned;
  }
}

// A text that is stored only once must be equal in all runs, so it must not contain times.
TEST(RunRecord, FactsHoldNoTimes) {
  Observation changed = example_observation("a/b/dry");
  changed.gpu_time = GpuTime{1, 1, 1, {{1}}};
  changed.gpu_time_again = GpuTime{2, 2, 2, {{2}}};
  changed.kernels.front().ns = 1;
  peakmark::Run first = sample_history_run(1).run;
  peakmark::Run second = sample_history_run(2).run;
  first.observations = {example_observation("a/b/dry")};
  second.observations = {changed};
  first.context.planned.clear();
  second.context.planned.clear();
  const RunRecord one = to_record(first);
  const RunRecord other = to_record(second);
  EXPECT_EQ(one.observations.front().facts, other.observations.front().facts);
  EXPECT_EQ(one.observations.front().facts_hash, other.observations.front().facts_hash);
  EXPECT_EQ(one.planned_hash, other.planned_hash);
  EXPECT_EQ(other.observations.front().kernel_ns, "1");
}

// A peakmark with a later MINOR of the format reads more fields from a run file, and they are null. It is
// still the same run.
TEST(RunRecord, WhatIsNullDoesNotCount) {
  const RunRecord record = to_record(sample_history_run(1).run);
  peakmark::Run silent = sample_history_run(1).run;
  silent.observations[0].by_kind = {};
  EXPECT_NE(to_record(silent).digest, record.digest);
  silent = sample_history_run(1).run;
  silent.context.largest_allocation_bytes.reset();
  silent.observations[0].moved_allocations = {};
  EXPECT_EQ(to_record(silent).digest, record.digest);
}

TEST(RunRecord, TheStateOfTheCacheCounts) {
  const RunRecord record = to_record(sample_history_run(1).run);
  peakmark::Run run = sample_history_run(1).run;
  run.observations[0].cache = cache_state::cold;
  EXPECT_NE(to_record(run).digest, record.digest);
  const std::int64_t facts = to_record(run).observations[0].facts_hash;
  run.observations[0].throttled_blocks = 3;
  run.observations[0].gpu_time_hot = run.observations[0].gpu_time;
  EXPECT_EQ(to_record(run).observations[0].facts_hash, facts) << "it never repeats";
  EXPECT_EQ(to_run(to_record(run)).observations[0].cache, "cold");
}

TEST(RunRecord, TheTimeIsTheMedianOfBlockMedians) {
  EXPECT_EQ(median_of_block_medians(std::nullopt), std::nullopt);
  // The block medians are 100, 20 and 30, whatever the lengths of the blocks.
  EXPECT_EQ(median_of_block_medians(GpuTime{7, 1, 100, {{100, 100, 100, 100, 100}, {20}, {10, 30, 90}}}), 30);
  EXPECT_EQ(median_of_block_medians(GpuTime{7, 1, 100, {}}), 7);
}

TEST(RunRecord, WhatIsCutShortIsRefused) {
  EXPECT_THAT(refusal([](peakmark::Run& run) { run.context.complete = false; }), HasSubstr("incomplete run"));
  EXPECT_THAT(refusal([](peakmark::Run& run) { run.observations.pop_back(); }),
              HasSubstr("no observation of op/a/opencl; finish the run"));
  EXPECT_THAT(refusal([](peakmark::Run& run) {
                run.context.shard = Shard{2, 3};
              }),
              testing::AllOf(HasSubstr("shard 2 of 3"), HasSubstr("peakmark merge")));
  EXPECT_THAT(refusal([](peakmark::Run& run) {
                run.observations.clear();
                run.context.planned.clear();
              }),
              HasSubstr("no case"));
  EXPECT_THAT(refusal([](peakmark::Run& run) { run.observations.push_back(run.observations.front()); }),
              HasSubstr("two observations of op/b/opencl/n:2"));
}

TEST(RunRecord, WhatSeriesCannotHoldIsRefused) {
  EXPECT_THAT(refusal([](peakmark::Run& run) { run.context.id = ""; }), HasSubstr("no id"));
  EXPECT_THAT(refusal([](peakmark::Run& run) { run.context.device = ""; }), HasSubstr("no device"));
  for (const char* const date :
       {"", "yesterday", "2026-01-31", "2026-01-31T02:00:00+01", "2026-01-31 02:00:00Z"}) {
    EXPECT_THAT(refusal([&](peakmark::Run& run) { run.context.date = date; }),
                HasSubstr("must be like 2026-01-31T02:00:00Z"));
  }
  EXPECT_THAT(refusal([](peakmark::Run& run) { run.observations[0].requested_peak_bytes = -1; }),
              HasSubstr("requested_peak_bytes of op/b/opencl/n:2 is -1"));
  constexpr Size most = Size{1} << 53;
  EXPECT_EQ(refusal([&](peakmark::Run& run) { run.observations[0].setup_bytes = most; }), "none");
  EXPECT_THAT(refusal([&](peakmark::Run& run) { run.observations[0].setup_bytes = most + 1; }),
              HasSubstr("0 to 2^53"));
  EXPECT_EQ(refusal([&](peakmark::Run& run) { run.observations[0].estimate->bytes_estimated = most; }),
            "none");
  EXPECT_THAT(refusal([&](peakmark::Run& run) { run.observations[0].estimate->bytes_estimated = most + 1; }),
              HasSubstr("bytes_estimated of op/b/opencl/n:2 is 9007199254740993; must be 0 to 2^53"));
  for (const double ns : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity(), -1.0}) {
    EXPECT_THAT(refusal([&](peakmark::Run& run) { run.observations[0].gpu_time->blocks[1][0] = ns; }),
                HasSubstr("invalid time of op/b/opencl/n:2: "));
    EXPECT_THAT(refusal([&](peakmark::Run& run) { run.observations[0].gpu_time->median_ns = ns; }),
                HasSubstr("invalid time of op/b/opencl/n:2: "));
  }
}

TEST(RunRecord, InvalidTextsAreReported) {
  EXPECT_THROW(to_history_run("{"), UsageError);
  EXPECT_THROW(parse_facts("{}"), UsageError);
  RunRecord record = to_record(sample_history_run(1).run);
  record.observations.front().facts = "[]";
  EXPECT_THROW(to_run(record), UsageError);
}

TEST(RunRecord, ARunHasTheContextForTrends) {
  const trend::HistoryRun sample = to_history_run(to_record(sample_history_run(3).run).context);
  EXPECT_EQ(sample.id, "run-03");
  EXPECT_EQ(sample.date, "2026-01-03T02:00:00Z");
  EXPECT_EQ(sample.commit, "c-run-03");
  EXPECT_EQ(sample.reference_copy_ns, 102);
  EXPECT_EQ(sample.reference_arithmetic_ns, 50);
  EXPECT_EQ(sample.environment.at("kernel"), "Linux");
}

}  // namespace

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns the history of one case with these times, in ns.
trend::DeviceHistory device_of(const std::vector<double>& runs) {
  trend::DeviceHistory device;
  device.device = "a device";
  device.backend = "opencl";
  trend::Series series;
  series.case_name = "op/b/opencl/n:2";
  series.metric = trend::metric::gpu_time_ns;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    device.runs.push_back(to_history_run(sample_history_run(static_cast<int>(i) + 1).run.context));
    series.values.emplace_back(runs[i]);
  }
  device.series = {series};
  return device;
}

std::vector<double> steady_times() {
  std::vector<double> runs;
  for (int i = 0; i < 27; ++i) runs.push_back(1000 + i % 3);
  return runs;
}

TEST(SuspiciousCases, ATimeThatIsOtherThanBefore) {
  const trend::DeviceHistory device = device_of(steady_times());
  EXPECT_THAT(suspicious_cases(device, sample_history_run(28, 1, 1500).run), ElementsAre("op/b/opencl/n:2"));
  EXPECT_THAT(suspicious_cases(device, sample_history_run(28, 1, 1001).run), IsEmpty());
}

TEST(SuspiciousCases, AColdTimeIsNotComparedWithHotOnes) {
  trend::DeviceHistory device = device_of(steady_times());
  device.series[0].method = "device, hot, median";
  peakmark::Run run = sample_history_run(28, 1, 1500).run;
  run.observations[0].cache = cache_state::hot;
  EXPECT_THAT(suspicious_cases(device, run), ElementsAre("op/b/opencl/n:2"));
  run.observations[0].cache = cache_state::cold;
  EXPECT_THAT(suspicious_cases(device, run), IsEmpty());
}

TEST(SuspiciousCases, ACaseThatFailedHasNoTime) {
  peakmark::Run run = sample_history_run(28, 1, 1500).run;
  run.observations[0].outcome = Outcome::wrong_answer;
  EXPECT_THAT(suspicious_cases(device_of(steady_times()), run), IsEmpty());
}

}  // namespace

}  // namespace peakmark::history
