// 200 programs generated from seeds, on a real driver under the recorder with a budget. Each knows from its
// own count which requests must be refused: exactly those are, and what the profile shows as live never
// exceeds the budget.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files_testing.hpp"
#include "record/ledger/ledger.hpp"
#include "record/recorders/opencl/tests/random_program.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark::opencl_layer {
namespace {

constexpr std::int64_t kBudget = 400'001;

TEST(RandomBudgets, RefuseExactlyWhatExceedsThem) {
  const TemporaryFolder folder;
  const std::string profile = folder.path() / "p";
  setenv("OPENCL_LAYERS", PEAKMARK_OPENCL_RECORDER, 1);
  setenv("PEAKMARK_PROFILE", profile.c_str(), 1);
  setenv("PEAKMARK_BUDGET", std::to_string(kBudget).c_str(), 1);
  unsetenv("PEAKMARK_SYNC");
  Device device;
  EXPECT_EQ(device.max_buffer, static_cast<std::size_t>(kBudget));
  cl_ulong memory = 0;
  clGetDeviceInfo(device.id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, nullptr);
  EXPECT_EQ(memory, static_cast<cl_ulong>(kBudget));
  const auto recorder = attach_recorder(PEAKMARK_OPENCL_RECORDER);

  std::int64_t allocations = 0;
  std::int64_t refused = 0;
  int full = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t first = recorder->count();
    RandomProgram program(device, *recorder, seed, kBudget);
    program.run();
    const LedgerSummary summary = summarise(recorder->events(first));
    const AllocationLog& log = program.allocation_log();
    EXPECT_LE(summary.peak_bytes, kBudget);
    EXPECT_EQ(summary.peak_bytes, log.peak);
    EXPECT_EQ(summary.live_at_end_bytes, log.live);
    EXPECT_EQ(summary.total_bytes, log.total);
    EXPECT_EQ(summary.failed_allocations, log.failed);
    std::int64_t by_budget = 0;
    for (const RefusedAllocation& one : summary.refused)
      by_budget += one.refused_by == RefusedBy::budget ? one.count : 0;
    EXPECT_EQ(by_budget, log.failed_by_budget);
    EXPECT_EQ(summary.unmatched_releases, 0);

    allocations += log.allocations;
    refused += log.failed_by_budget;
    full += log.peak == kBudget ? 1 : 0;
    program.clean_up();
    EXPECT_EQ(summarise(recorder->events(first)).live_at_end_bytes, 0);
    if (HasFailure()) break;
  }
  // The programs really allocate, are refused, and fill the budget.
  EXPECT_GT(allocations, 2'000);
  EXPECT_GT(refused, 800);
  EXPECT_GT(full, 190);
}

}  // namespace
}  // namespace peakmark::opencl_layer
