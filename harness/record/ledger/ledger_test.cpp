#include "record/ledger/ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::Field;

/// A program of events, written as it would have been recorded.
class Script {
 public:
  Script& allocate(std::uint64_t address, Size bytes, MemoryKind kind = MemoryKind::buffer) {
    Event& event = add(EventType::allocation, address);
    event.kind = kind;
    event.amounts.bytes = bytes;
    return *this;
  }
  Script& fail(Size bytes, std::int32_t error = 2, RefusedBy limit = RefusedBy::driver) {
    Event& event = add(EventType::failed_allocation, 0);
    event.kind = MemoryKind::buffer;
    event.amounts.bytes = bytes;
    event.amounts.result = error;
    event.amounts.auxiliary = static_cast<std::int64_t>(limit);
    return *this;
  }
  Script& release(std::uint64_t address) {
    add(EventType::release, address);
    return *this;
  }
  Script& refused_release(std::uint64_t address, Size bytes, std::int32_t result) {
    allocate(address, bytes);
    events_.back().amounts.result = result;
    return *this;
  }
  Script& name(std::uint64_t address, std::string_view text) { return say(EventType::name, address, text); }
  Script& phase(std::string_view text) { return say(EventType::phase, 0, text); }
  Script& pool(Size reserved) {
    add(EventType::pool, 1).amounts.bytes = reserved;
    return *this;
  }
  [[nodiscard]] LedgerSummary summary() const { return summarise(events_); }

 private:
  Event& add(EventType type, std::uint64_t address) {
    Event event;
    event.commit = events_.size() + 1;
    event.time_ns = static_cast<std::int64_t>(events_.size());
    event.address = address;
    event.type = type;
    events_.push_back(event);
    return events_.back();
  }
  Script& say(EventType type, std::uint64_t address, std::string_view text) {
    const auto length = static_cast<std::uint16_t>(text.size());
    for (bool first = true; first || !text.empty(); first = false) {
      Event& event = add(first ? type : EventType::text, address);
      event.text_bytes = first ? length : 0;
      const std::size_t part = std::min(text.size(), sizeof(event.text));
      std::memcpy(event.text, text.data(), part);
      text.remove_prefix(part);
    }
    return *this;
  }
  std::vector<Event> events_;
};

auto named(std::string_view name, Size bytes) {
  return testing::AllOf(Field(&Allocation::name, name), Field(&Allocation::bytes, bytes));
}

TEST(Ledger, NothingIsNothing) {
  const LedgerSummary summary = Script().summary();
  EXPECT_EQ(summary.peak_bytes, 0);
  EXPECT_TRUE(summary.at_peak.empty());
  EXPECT_FALSE(summary.pool_seen);
}

TEST(Ledger, PeakIsTheMostThatWasLiveAtOnce) {
  const LedgerSummary summary =
      Script().allocate(1, 100).allocate(2, 50).release(1).allocate(3, 70).release(2).release(3).summary();
  EXPECT_EQ(summary.peak_bytes, 150);
  EXPECT_EQ(summary.peak_time_ns, 1);
  EXPECT_EQ(summary.total_bytes, 220);
  EXPECT_EQ(summary.allocations, 3);
  EXPECT_EQ(summary.live_at_end_bytes, 0);
}

TEST(Ledger, AtEqualPeaksTheFirstIsReported) {
  const LedgerSummary summary =
      Script().allocate(1, 10).name(1, "first").release(1).allocate(2, 10).name(2, "second").summary();
  EXPECT_THAT(summary.at_peak, ElementsAre(named("first", 10)));
  EXPECT_THAT(summary.leaked, ElementsAre(named("second", 10)));
}

TEST(Ledger, NamesBelongToWhoeverHadTheAddress) {
  const LedgerSummary summary = Script()
                                    .allocate(8, 10)
                                    .name(8, "gone")
                                    .release(8)
                                    .allocate(8, 30)
                                    .name(8, "a name of more than thirty-two bytes, over two slots")
                                    .allocate(16, 5)
                                    .summary();
  EXPECT_THAT(summary.at_peak,
              ElementsAre(named("a name of more than thirty-two bytes, over two slots", 30), named("", 5)));
}

TEST(Ledger, AnAddressAllocatedTwiceIsALostRelease) {
  const LedgerSummary summary = Script().allocate(1, 100).allocate(1, 40).release(1).release(1).summary();
  EXPECT_EQ(summary.peak_bytes, 100);
  EXPECT_EQ(summary.live_at_end_bytes, 0);
  EXPECT_EQ(summary.unmatched_releases, 1);
}

TEST(Ledger, MemoryWhoseReleaseWasRefusedIsLiveAgainAndNotNew) {
  const LedgerSummary summary = Script()
                                    .allocate(1, 100)
                                    .allocate(2, 10)
                                    .release(1)
                                    .refused_release(1, 100, 700)
                                    .allocate(3, 5)
                                    .release(2)
                                    .summary();
  EXPECT_EQ(summary.allocations, 3);
  EXPECT_EQ(summary.total_bytes, 115);
  EXPECT_EQ(summary.refused_releases, 1);
  EXPECT_EQ(summary.peak_bytes, 115);
  EXPECT_EQ(summary.live_at_end_bytes, 105);
  EXPECT_EQ(summary.by_kind.at(MemoryKind::buffer).allocations, 3);
  EXPECT_EQ(summary.by_kind.at(MemoryKind::buffer).total_bytes, 115);
  EXPECT_EQ(summary.phases.back().allocations, 3);
}

TEST(Ledger, KindsOutsideThePeakAreReportedButNotCounted) {
  const LedgerSummary summary = Script()
                                    .allocate(1, 1000, MemoryKind::host_pointer)
                                    .allocate(2, 10, MemoryKind::image)
                                    .allocate(3, 20, MemoryKind::svm)
                                    .release(2)
                                    .allocate(4, 15, MemoryKind::image)
                                    .summary();
  EXPECT_EQ(summary.peak_bytes, 35);
  EXPECT_EQ(summary.allocations, 3);
  EXPECT_EQ(summary.by_kind.at(MemoryKind::host_pointer).peak_bytes, 1000);
  EXPECT_EQ(summary.by_kind.at(MemoryKind::image).peak_bytes, 15);
  EXPECT_EQ(summary.by_kind.at(MemoryKind::image).total_bytes, 25);
  EXPECT_EQ(summary.by_kind.count(MemoryKind::buffer), 0U);
}

TEST(Ledger, PhasesHoldWhatTheyBeganWith) {
  const LedgerSummary summary = Script()
                                    .phase("setup")
                                    .allocate(1, 100)
                                    .allocate(2, 30)
                                    .release(2)
                                    .phase("call")
                                    .fail(1 << 20)
                                    .allocate(3, 10)
                                    .release(3)
                                    .release(1)
                                    .summary();
  ASSERT_EQ(summary.phases.size(), 3U);
  EXPECT_EQ(summary.phases[1].name, "setup");
  EXPECT_EQ(summary.phases[1].peak_bytes, 130);
  EXPECT_EQ(summary.phases[1].live_at_end_bytes, 100);
  EXPECT_EQ(summary.phases[2].live_at_start_bytes, 100);
  EXPECT_EQ(summary.phases[2].peak_bytes, 110);
  EXPECT_EQ(summary.phases[2].live_at_end_bytes, 0);
  EXPECT_EQ(summary.phases[2].failed_allocations, 1);
  EXPECT_EQ(summary.failed_allocations, 1);
}

TEST(Ledger, PoolsAreHighWaterMarks) {
  EXPECT_FALSE(Script().pool(100).pool(kUnknownPoolBytes).pool(300).summary().pool_seen);
  const LedgerSummary summary = Script().pool(100).pool(300).pool(200).summary();
  EXPECT_TRUE(summary.pool_seen);
  EXPECT_EQ(summary.pool_reserved_peak_bytes, 300);
}

TEST(Ledger, ANameCutShortByAKillIsWhatThereIs) {
  Event event;
  event.type = EventType::allocation;
  event.kind = MemoryKind::buffer;
  event.address = 5;
  event.amounts.bytes = 9;
  Event name;
  name.type = EventType::name;
  name.address = 5;
  name.text_bytes = 40;
  std::memset(name.text, 'x', sizeof(name.text));
  const LedgerSummary summary = summarise(std::vector<Event>{event, name});
  EXPECT_THAT(summary.at_peak, ElementsAre(named(std::string(32, 'x'), 9)));
}

/// The bookkeeping of the ledger, done the slow and obvious way.
TEST(Ledger, AgreesWithAPlainModelOnRandomPrograms) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::map<std::uint64_t, Size> live;
    Size total = 0;
    Size peak = 0;
    std::map<std::uint64_t, Size> at_peak;
    Script script;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t address = 1 + random() % 100;
      if (live.contains(address)) {
        script.release(address);
        total -= live.at(address);
        live.erase(address);
      } else {
        const auto bytes = static_cast<Size>(random() % 1000);
        script.allocate(address, bytes);
        live[address] = bytes;
        total += bytes;
        if (total > peak) {
          peak = total;
          at_peak = live;
        }
      }
    }
    const LedgerSummary summary = script.summary();
    EXPECT_EQ(summary.peak_bytes, peak) << "seed " << seed;
    EXPECT_EQ(summary.live_at_end_bytes, total) << "seed " << seed;
    std::map<std::uint64_t, Size> live_at_peak;
    for (const Allocation& allocation : summary.at_peak) live_at_peak[allocation.address] = allocation.bytes;
    EXPECT_EQ(live_at_peak, at_peak) << "seed " << seed;
  }
}

TEST(Ledger, RefusedRequestsAreListedBySizeErrorAndPhase) {
  const LedgerSummary summary = Script()
                                    .phase("call")
                                    .fail(100, -4)
                                    .fail(100, -4)
                                    .fail(100, -61)
                                    .phase("end")
                                    .fail(Size{1} << 40U, -61)
                                    .fail(INT64_MIN, -61)  // more than an event can hold
                                    .summary();
  EXPECT_EQ(summary.failed_allocations, 5);
  EXPECT_THAT(summary.refused,
              ElementsAre(RefusedAllocation{INT64_MAX, MemoryKind::buffer, -61, "end", 0, 1},
                          RefusedAllocation{Size{1} << 40U, MemoryKind::buffer, -61, "end", 0, 1},
                          RefusedAllocation{100, MemoryKind::buffer, -4, "call", 0, 2},
                          RefusedAllocation{100, MemoryKind::buffer, -61, "call", 0, 1}));
}

TEST(Ledger, RequestsAreListedApartByTheLimitThatRefused) {
  const LedgerSummary summary = Script()
                                    .fail(100, -4)
                                    .fail(100, -4, RefusedBy::budget)
                                    .fail(100, -4, RefusedBy::max_allocation)
                                    .fail(100, -4, RefusedBy::budget)
                                    .summary();
  EXPECT_EQ(summary.failed_allocations, 4);
  EXPECT_EQ(summary.allocations, 0);
  EXPECT_THAT(
      summary.refused,
      ElementsAre(RefusedAllocation{100, MemoryKind::buffer, -4, "", 0, 1},
                  RefusedAllocation{100, MemoryKind::buffer, -4, "", 0, 2, {}, RefusedBy::budget},
                  RefusedAllocation{100, MemoryKind::buffer, -4, "", 0, 1, {}, RefusedBy::max_allocation}));
}

}  // namespace
}  // namespace peakmark
