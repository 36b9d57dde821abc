#include "record/ledger/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "record/ledger/ledger.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;

Event event(EventType type, std::int64_t time, std::uint64_t address, std::int64_t bytes = 0,
            MemoryKind kind = MemoryKind::buffer) {
  Event one;
  one.type = type;
  one.time_ns = time;
  one.address = address;
  one.kind = kind;
  one.amounts.bytes = bytes;
  return one;
}

TEST(LiveOverTime, EveryChangeOfAShortProgram) {
  const std::vector<Event> events{
      event(EventType::allocation, 10, 1, 100),
      event(EventType::allocation, 20, 2, 50),
      event(EventType::allocation, 30, 3, 7, MemoryKind::host_pointer),  // beside the peak
      event(EventType::release, 40, 1),
      event(EventType::release, 45, 99),        // never seen allocated
      event(EventType::allocation, 50, 2, 60),  // its release was lost
      event(EventType::failed_allocation, 60, 0, 9),
  };
  EXPECT_THAT(live_over_time(events, 1000),
              ElementsAre(LivePoint{10, 0}, LivePoint{10, 100}, LivePoint{20, 150}, LivePoint{40, 50},
                          LivePoint{50, 60}, LivePoint{60, 60}));
  EXPECT_TRUE(live_over_time({}, 1000).empty());
}

TEST(LiveOverTime, TimesThatContradictTheOrderDoNotGoBack) {
  const std::vector<Event> events{event(EventType::allocation, 20, 1, 100),
                                  event(EventType::allocation, 15, 2, 50),
                                  event(EventType::allocation, 30, 3, 1)};
  EXPECT_THAT(live_over_time(events, 1000),
              ElementsAre(LivePoint{20, 0}, LivePoint{20, 100}, LivePoint{20, 150}, LivePoint{30, 151}));
}

TEST(LiveOverTime, ManyChangesAreThinnedAndThePeakStays) {
  std::mt19937_64 random(3);
  std::vector<Event> events;
  for (std::int64_t i = 0; i < 200'000; ++i) {
    const std::uint64_t address = 1 + random() % 1000;
    events.push_back(random() % 3 == 0 ? event(EventType::release, 7 * i, address)
                                       : event(EventType::allocation, 7 * i, address,
                                               static_cast<std::int64_t>(random() % 5000)));
  }
  const LedgerSummary summary = summarise(events);
  const auto points = live_over_time(events, 4000);
  EXPECT_LE(points.size(), 4001U);
  EXPECT_GT(points.size(), 2000U);
  const auto peak = std::ranges::max_element(points, {}, &LivePoint::live_bytes);
  EXPECT_EQ(peak->live_bytes, summary.peak_bytes);
  EXPECT_EQ(peak->time_ns, summary.peak_time_ns);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &LivePoint::time_ns));
  EXPECT_EQ(points.back().live_bytes, summary.live_at_end_bytes);
  EXPECT_EQ(points.back().time_ns, events.back().time_ns);
}

}  // namespace
}  // namespace peakmark
