// 200 programs generated from seeds, on a real driver under the recorder. The profile and its ledger must
// agree with the program's own count, to the byte.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files_testing.hpp"
#include "record/ledger/ledger.hpp"
#include "record/recorders/opencl/tests/random_program.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark::opencl_layer {
namespace {

TEST(RandomPrograms, AreRecordedToTheByte) {
  const TemporaryFolder folder;
  const std::string profile = folder.path() / "p";
  setenv("OPENCL_LAYERS", PEAKMARK_OPENCL_RECORDER, 1);
  setenv("PEAKMARK_PROFILE", profile.c_str(), 1);
  unsetenv("PEAKMARK_SYNC");
  Device device;
  const auto recorder = attach_recorder(PEAKMARK_OPENCL_RECORDER);

  std::int64_t allocations = 0;
  std::int64_t failed = 0;
  int with_leaks = 0;
  int with_host_memory = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t first = recorder->count();
    RandomProgram program(device, *recorder, seed);
    program.run();
    const auto events = recorder->events(first);
    const AllocationLog& allocation_log = program.allocation_log();
    ASSERT_EQ(events.size(), allocation_log.events);
    const LedgerSummary summary = summarise(events);
    EXPECT_EQ(summary.peak_bytes, allocation_log.peak);
    EXPECT_EQ(summary.live_at_end_bytes, allocation_log.live);
    EXPECT_EQ(summary.total_bytes, allocation_log.total);
    EXPECT_EQ(summary.failed_allocations, allocation_log.failed);
    EXPECT_EQ(summary.unmatched_releases, 0);

    std::int64_t recorded = 0;
    for (const auto& [kind, of_kind] : summary.by_kind) {
      if (counts_into_peak(kind)) recorded += of_kind.allocations;
    }
    EXPECT_EQ(recorded, allocation_log.allocations);
    const auto host = summary.by_kind.find(MemoryKind::host_pointer);
    EXPECT_EQ(host == summary.by_kind.end() ? 0 : host->second.peak_bytes, allocation_log.host_peak);
    EXPECT_EQ(host == summary.by_kind.end() ? 0 : host->second.live_at_end_bytes, allocation_log.host_live);

    // The live memory at the end, by address. The ledger may omit host memory and views.
    const auto left = program.left();
    std::int64_t leaked = 0;
    for (const Allocation& allocation : summary.leaked) {
      const auto expected = left.find(allocation.address);
      ASSERT_NE(expected, left.end());
      EXPECT_EQ(allocation.bytes, expected->second);
      if (counts_into_peak(allocation.kind)) leaked += allocation.bytes;
    }
    EXPECT_EQ(leaked, allocation_log.live);

    allocations += allocation_log.allocations;
    failed += allocation_log.failed;
    with_leaks += allocation_log.live > 0 ? 1 : 0;
    with_host_memory += allocation_log.host_peak > 0 ? 1 : 0;
    program.clean_up();
    EXPECT_EQ(program.allocation_log().live, 0);
    EXPECT_EQ(summarise(recorder->events(first)).live_at_end_bytes, 0);
    if (HasFailure()) break;
  }
  // The programs do what they are meant to.
  EXPECT_GT(allocations, 3'000);
  EXPECT_GT(failed, 200);
  EXPECT_GT(with_leaks, 150);
  EXPECT_GT(with_host_memory, 50);
}

}  // namespace
}  // namespace peakmark::opencl_layer
