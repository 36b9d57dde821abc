#include "process/live_memory.hpp"

#include <gmock/gmock.h>

#include <random>

#include "ledger/ledger.hpp"
#include "profile/event_test.hpp"

namespace peakmark {
namespace {

using testing_support::allocation;
using testing_support::release;

TEST(LiveMemory, AStretchKnowsWhatWasLiveBefore) {
  LiveMemory memory;
  memory.replay(0, allocation(1, 100));
  const std::size_t stretch = memory.begin();
  memory.replay(0, allocation(2, 30));
  memory.replay(0, allocation(3, 20));
  memory.replay(0, release(2));
  EXPECT_EQ(memory.end(stretch), (MemoryUse{.peak_bytes = 150,
                                            .live_before_bytes = 100,
                                            .live_after_bytes = 120,
                                            .total_bytes = 50,
                                            .allocations = 2}));
}

TEST(LiveMemory, AStretchWithNothingInIt) {
  LiveMemory memory;
  memory.replay(0, allocation(1, 100));
  EXPECT_EQ(memory.end(memory.begin()),
            (MemoryUse{.peak_bytes = 100, .live_before_bytes = 100, .live_after_bytes = 100}));
}

TEST(LiveMemory, StretchesLieWithinEachOther) {
  LiveMemory memory;
  const std::size_t outer = memory.begin();
  memory.replay(0, allocation(1, 10));
  const std::size_t inner = memory.begin();
  memory.replay(0, allocation(2, 5));
  memory.replay(0, release(2));
  EXPECT_EQ(memory.end(inner).total_bytes, 5);
  memory.replay(0, allocation(3, 1));
  const MemoryUse use = memory.end(outer);
  EXPECT_EQ(use.total_bytes, 16);
  EXPECT_EQ(use.peak_bytes, 15);
}

TEST(LiveMemory, AnAddressIsOfItsRecorder) {
  LiveMemory memory;
  memory.replay(0, allocation(1, 10));
  memory.replay(1, allocation(1, 7, MemoryKind::device));
  EXPECT_EQ(memory.live_bytes(), 17);
  memory.replay(1, release(1));
  EXPECT_EQ(memory.live_bytes(), 10);
}

TEST(LiveMemory, WhatTheDeviceNeedNotHoldIsLeftOut) {
  LiveMemory memory;
  const std::size_t stretch = memory.begin();
  memory.replay(0, allocation(1, 10, MemoryKind::host_pointer));
  memory.replay(0, release(1));
  memory.replay(0, release(2));  // of before the recorder came
  EXPECT_EQ(memory.end(stretch), MemoryUse{});
}

TEST(LiveMemory, AFailureIsNoAllocation) {
  LiveMemory memory;
  const std::size_t stretch = memory.begin();
  Event failure;
  failure.type = EventType::failed_allocation;
  failure.amounts.bytes = 1000;
  memory.replay(0, failure);
  EXPECT_EQ(memory.end(stretch), MemoryUse{.failed_allocations = 1});
}

TEST(LiveMemory, TellsWhatTheLedgerTells) {
  std::mt19937 random(1);
  std::vector<Event> events;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t address = 1 + random() % 64;
    events.push_back(random() % 2 == 0 ? allocation(address, random() % 1000) : release(address));
  }
  LiveMemory memory;
  const std::size_t all = memory.begin();
  for (const Event& event : events) memory.replay(0, event);
  const MemoryUse use = memory.end(all);
  const LedgerSummary summary = summarise(events);
  EXPECT_EQ(use.peak_bytes, summary.peak_bytes);
  EXPECT_EQ(use.live_after_bytes, summary.live_at_end_bytes);
  EXPECT_EQ(use.total_bytes, summary.total_bytes);
  EXPECT_EQ(use.allocations, summary.allocations);
}

}  // namespace
}  // namespace peakmark
