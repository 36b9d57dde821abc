#include "record/ledger/replay.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "record/profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing_support::allocation;
using testing_support::release;
using testing_support::text_event;

/// Writes down its calls.
struct Witness {
  std::vector<std::string> calls;

  void allocated(std::size_t i, const LiveMemory& live) {
    calls.push_back(fmt::format("{} allocated: {} live", i, live.bytes()));
  }
  void released(std::size_t i, const LiveEntry& entry, const LiveMemory& live) {
    calls.push_back(
        fmt::format("{} released {} (allocation {}): {} live", i, entry.index, entry.number, live.bytes()));
  }
  void named(std::size_t i, const LiveEntry& entry) {
    calls.push_back(fmt::format("{} named {}", i, entry.index));
  }
  void changed(std::size_t i, const LiveMemory& live) {
    calls.push_back(fmt::format("{} changed: {} live", i, live.bytes()));
  }
  void other(std::size_t i, const LiveMemory& live) {
    calls.push_back(fmt::format("{} other: {} live", i, live.bytes()));
  }
};

TEST(Replay, AnAllocationAtALiveAddressReleasesFirst) {
  Witness witness;
  const std::vector<Event> events{allocation(1, 100), allocation(2, 7, MemoryKind::host_pointer),
                                  allocation(1, 30), release(1), release(1)};
  const LiveMemory live = replay(events, witness);
  EXPECT_THAT(witness.calls, ElementsAre("0 allocated: 100 live", "1 allocated: 100 live",
                                         "2 released 0 (allocation 0): 0 live", "2 allocated: 30 live",
                                         "3 released 2 (allocation 2): 0 live", "4 other: 0 live"));
  EXPECT_EQ(live.bytes(), 0);
  EXPECT_EQ(live.bytes(MemoryKind::host_pointer), 7);
}

TEST(Replay, NamesBelongToWhatIsLive) {
  Witness witness;
  replay(std::vector<Event>{text_event(EventType::name, 1, "early"), allocation(1, 100),
                            text_event(EventType::name, 1, "image"), text_event(EventType::phase, 0, "call")},
         witness);
  EXPECT_THAT(witness.calls,
              ElementsAre("0 other: 0 live", "1 allocated: 100 live", "2 named 1", "3 other: 100 live"));
}

TEST(Replay, WhatIsNotCountedIsNotThereButTakesItsAddress) {
  Event total = allocation(0, 40);
  total.type = EventType::live;
  Witness witness;
  replay(std::vector<Event>{allocation(1, 100), allocation(1, 5, MemoryKind::image), release(1), total,
                            allocation(2, 1)},
         witness, [](const Event& event) { return event.kind == MemoryKind::buffer; });
  EXPECT_THAT(witness.calls, ElementsAre("0 allocated: 100 live", "1 released 0 (allocation 0): 0 live",
                                         "2 other: 0 live", "3 changed: 40 live", "4 allocated: 41 live"));
}

TEST(Lives, AreThoseOfTheAllocationsAndTheirPeak) {
  Lives lives;
  const std::vector<Event> events{allocation(1, 100), text_event(EventType::name, 1, "a"), allocation(2, 50),
                                  release(1), allocation(3, 100)};
  replay(events, lives);
  ASSERT_EQ(lives.all.size(), 3U);
  EXPECT_EQ(lives.peak, 2U);
  EXPECT_EQ(lives.all[0].name, 1U);
  EXPECT_EQ(lives.all[0].to, 3U);
  EXPECT_EQ(lives.all[1].to, SIZE_MAX);
  EXPECT_TRUE(lives.is_at_peak(lives.all[0], events));
  EXPECT_FALSE(lives.is_at_peak(lives.all[2], events));
}

}  // namespace
}  // namespace peakmark
