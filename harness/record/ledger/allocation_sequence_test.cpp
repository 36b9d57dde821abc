#include "record/ledger/allocation_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using testing_support::allocation;
using testing_support::release;
using testing_support::text_event;

Event allocation_from(std::uint64_t stack, std::uint64_t address, Size bytes) {
  Event event = allocation(address, bytes);
  event.amounts.stack = stack;
  return event;
}

TEST(AllocationSequence, HasNamePhaseCallChainAndLifetime) {
  const std::vector<Event> events{
      text_event(EventType::phase, 0, "inputs"),
      allocation_from(7, 1, 100),
      text_event(EventType::name, 1, "image"),
      allocation(2, 1000, MemoryKind::host_pointer),  // does not count into the peak
      text_event(EventType::phase, 0, "call 1"),
      allocation(3, 30),
      release(3),
      release(2),
      allocation(3, 40),
      release(99),  // of an address that was never seen
  };
  const auto sequence = allocation_sequence(events, [](std::uint64_t stack) {
    return stack == 7 ? std::string("pad.py:61") : std::string("wrong");
  });
  ASSERT_TRUE(sequence);
  EXPECT_THAT(*sequence,
              ElementsAre(SequencedAllocation{"image", "inputs", "pad.py:61", 100, 0, std::nullopt},
                          SequencedAllocation{"", "call 1", "", 30, 1, 2},
                          SequencedAllocation{"", "call 1", "", 40, 3, std::nullopt}));
}

TEST(AllocationSequence, ALostReleaseIsOneBeforeTheNextAllocationOfTheAddress) {
  const auto sequence = allocation_sequence(std::vector{allocation(1, 10), allocation(1, 20)});
  ASSERT_TRUE(sequence);
  EXPECT_EQ(sequence->at(0).released_at, 1);
  EXPECT_EQ(peak_bytes(*sequence), 20);
}

TEST(AllocationSequence, IsLeftOutRatherThanCut) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < kMaxSequencedAllocations; ++i) events.push_back(allocation(i + 1, 1));
  EXPECT_EQ(allocation_sequence(events).value().size(), kMaxSequencedAllocations);
  events.push_back(allocation(events.size() + 1, 1));
  EXPECT_FALSE(allocation_sequence(events));
}

TEST(AllocationSequence, FoldedEventsHaveNone) {
  const std::vector<Event> folded = fold(std::vector{allocation(1, 10), release(1), allocation(2, 5)});
  EXPECT_THROW(allocation_sequence(folded), UsageError);
}

// Draws programs, and keeps the books of live bytes by itself.
TEST(AllocationSequence, ItsPeakIsThatOfTheLedger) {
  std::mt19937_64 random(3);
  for (int program = 0; program < 200; ++program) {
    std::vector<Event> events;
    std::map<std::uint64_t, Size> live;
    Size sum = 0;
    Size highest = 0;
    for (int step = 0; step < 100; ++step) {
      const std::uint64_t address = 1 + random() % 12;
      const auto known = live.find(address);
      if (random() % 2 == 0) {
        const auto bytes = static_cast<Size>(random() % 1000);
        const bool counts = random() % 8 != 0;
        if (known != live.end()) sum -= known->second;  // a lost release
        live[address] = counts ? bytes : 0;
        sum += live[address];
        highest = std::max(highest, sum);
        events.push_back(allocation(address, bytes, counts ? MemoryKind::buffer : MemoryKind::host_pinned));
      } else {
        if (known != live.end()) {
          sum -= known->second;
          live.erase(known);
        }
        events.push_back(release(address));
      }
    }
    const auto sequence = allocation_sequence(events);
    ASSERT_TRUE(sequence);
    EXPECT_EQ(peak_bytes(*sequence), highest);
    EXPECT_EQ(summarise(events).peak_bytes, highest);
    EXPECT_EQ(summarise(events).allocations, static_cast<std::int64_t>(sequence->size()));
  }
}

TEST(PeakBytes, IsTheHighestSumOfWhatIsLive) {
  EXPECT_EQ(peak_bytes({}), 0);
  const AllocationSequence sequence{{"a", "inputs", "", 10, 0, 3},
                                    {"b", "call 1", "", 5, 1, 2},
                                    {"c", "call 2", "", 12, 4, std::nullopt},
                                    {"d", "call 2", "", 4, 5, std::nullopt}};
  EXPECT_EQ(peak_bytes(sequence), 16);
  EXPECT_THAT(live_at_peak(sequence), ElementsAre(2, 3));
}

TEST(LiveAtPeak, IsThatOfTheFirstMomentWithThePeak) {
  EXPECT_THAT(live_at_peak({}), IsEmpty());
  EXPECT_THAT(live_at_peak({{"nothing", "inputs", "", 0, 0, std::nullopt}}), IsEmpty());
  const AllocationSequence sequence{{"kept", "inputs", "", 1, 0, std::nullopt},
                                    {"first", "call 1", "", 5, 1, 2},
                                    {"second", "call 1", "", 5, 3, 4}};
  EXPECT_THAT(live_at_peak(sequence), ElementsAre(0, 1));
}

TEST(ComparePasses, MarksWhatDoesNotRepeat) {
  const AllocationSequence pass{{"a", "inputs", "", 10, 0, {}}, {"b", "call 1", "", 5, 1, 2}};
  AllocationSequence first = pass;
  EXPECT_EQ(compare_passes(first, pass), "");
  EXPECT_EQ(first, pass);

  AllocationSequence other = pass;
  other[1].bytes = 6;
  EXPECT_THAT(compare_passes(first, other),
              HasSubstr("1 of 2 allocations repeat; the first that does not is b of 5 bytes in call 1"));
  EXPECT_TRUE(first[0].is_repeated);
  EXPECT_FALSE(first[1].is_repeated);

  first = pass;
  other = pass;
  other.push_back(other[1]);
  EXPECT_THAT(compare_passes(first, other),
              HasSubstr("2 of 2 allocations repeat, and the second pass makes 1 more"));
  EXPECT_TRUE(first[1].is_repeated);

  first = pass;
  EXPECT_THAT(compare_passes(first, {pass[1], pass[0]}), HasSubstr("not in the same order"));
}

TEST(ShortCallSites, DependOnAllSequences) {
  const auto from = [](const char* where) { return SequencedAllocation{"", "", where, 1, 0, {}}; };
  const std::vector<AllocationSequence> several{
      {from("pyopencl/array.py:9 < pad.py:61 < main.py:3")},
      {from("pyopencl/array.py:9 < pad.py:61 < main.py:4"), from("pyopencl/array.py:9 < pad.py:70")},
      {from("")}};
  EXPECT_THAT(
      short_call_sites({several.begin(), several.end()}),
      UnorderedElementsAre(Pair("", ""), Pair("pyopencl/array.py:9 < pad.py:61 < main.py:3", "main.py:3"),
                           Pair("pyopencl/array.py:9 < pad.py:61 < main.py:4", "main.py:4"),
                           Pair("pyopencl/array.py:9 < pad.py:70", "pad.py:70")));
}

}  // namespace
}  // namespace peakmark
