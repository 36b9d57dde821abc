#include "record/ledger/pool_usage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "record/profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing_support::allocation;
using testing_support::release;

/// A program with pools, whose samples follow each allocation and release as the CUDA recorder writes them.
class PoolUsageTest : public testing::Test {
 protected:
  void allocate(std::uint64_t address, Size bytes, std::int64_t pool, Size held) {
    Event event = allocation(address, bytes, MemoryKind::pool_async);
    event.amounts.auxiliary = pool;
    add(event);
    sample(pool, held);
  }
  void free(std::uint64_t address, std::int64_t pool, Size held) {
    add(release(address));
    sample(pool, held);
  }
  void sample(std::int64_t pool, Size held) {
    Event event;
    event.type = EventType::pool;
    event.address = static_cast<std::uint64_t>(pool);
    event.amounts.bytes = held;
    event.amounts.auxiliary = 1;  // what the driver says is used, which is rounded up
    add(event);
  }
  void add(Event event) {
    event.time_ns = static_cast<std::int64_t>(events_.size());
    events_.push_back(event);
  }

  std::vector<Event> events_;
};

TEST_F(PoolUsageTest, FragmentationIsWhatPoolsHoldLessWhatIsRequested) {
  allocate(1, 1000, 7, 4096);
  allocate(2, 3000, 7, 8192);
  free(1, 7, 8192);
  free(2, 7, 8192);
  sample(7, 0);  // trimmed
  const auto usage = pool_usage(events_, 100);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->at_peak, (PoolPoint{2, 8192, 4000}));
  EXPECT_EQ(usage->at_peak.fragmentation_bytes(), 4192);
  EXPECT_EQ(usage->max_held, (PoolPoint{3, 8192, 4000}));
  EXPECT_EQ(usage->max_fragmentation, (PoolPoint{7, 8192, 0}));
  EXPECT_EQ(usage->at_end, (PoolPoint{8, 0, 0}));
  EXPECT_EQ(usage->over_time.size(), 5U);
}

TEST_F(PoolUsageTest, AQueryThatFailedMakesAllUnknown) {
  allocate(1, 1000, 7, 4096);
  allocate(2, 1000, 7, kUnknownPoolBytes);
  free(2, 7, 4096);
  EXPECT_EQ(pool_usage(events_, 100), std::nullopt);
}

TEST_F(PoolUsageTest, PoolsAddUpAndOtherMemoryIsNotTheirs) {
  allocate(1, 100, 7, 4096);
  allocate(2, 200, 8, 2048);
  add(allocation(3, 1'000'000, MemoryKind::device));
  const auto usage = pool_usage(events_, 100);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->at_peak, (PoolPoint{4, 6144, 300})) << "the peak is that of all memory";
}

TEST_F(PoolUsageTest, MemoryOfGraphsAndOfTheHostIsNoPool) {
  Event host = allocation(1, 500, MemoryKind::host_pinned);
  host.amounts.auxiliary = 9;
  add(host);
  sample(static_cast<std::int64_t>(kGraphMemoryPool), 4096);
  EXPECT_EQ(pool_usage(events_, 100), std::nullopt) << "unknown, not 0";
}

TEST_F(PoolUsageTest, AThinnedCurveKeepsTheExtremes) {
  for (std::uint64_t i = 1; i <= 1000; ++i) allocate(i, 10, 7, i == 500 ? 99'999 : 20'000);
  const auto usage = pool_usage(events_, 40);
  ASSERT_TRUE(usage);
  EXPECT_LE(usage->over_time.size(), 40U);
  EXPECT_THAT(usage->over_time, testing::Contains(usage->max_held));
  EXPECT_EQ(usage->over_time.back(), usage->at_end);
}

}  // namespace
}  // namespace peakmark
