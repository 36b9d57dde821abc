#include "record/ledger/region_ledger.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <random>
#include <string_view>

#include "record/ledger/ledger.hpp"
#include "record/profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::FieldsAre;
using testing::IsEmpty;
using testing_support::allocation;
using testing_support::release;
using testing_support::text_event;

/// A ledger with one recorder of this process.
class RegionLedgerTest : public testing::Test {
 protected:
  void replay(const Event& event) { replay(own_, event); }
  void replay(std::size_t source, const Event& event) { ledger_.replay(source, std::span(&event, 1), 0); }

  static Event refusal(std::int64_t bytes, std::int32_t error) {
    Event event = allocation(0, bytes);
    event.type = EventType::failed_allocation;
    event.amounts.result = error;
    return event;
  }
  /// `largest` 0: all are of one size.
  static auto group(const std::string& name, Size bytes, std::int64_t count = 1, Size largest = 0) {
    return testing::AllOf(Field(&RegionGroup::name, name), Field(&RegionGroup::bytes, bytes),
                          Field(&RegionGroup::count, count),
                          Field(&RegionGroup::largest_bytes, largest == 0 ? bytes / count : largest));
  }

  RegionLedger ledger_;
  std::size_t own_ = ledger_.add_source(0);
};

TEST_F(RegionLedgerTest, ARegionKnowsWhatWasLiveBefore) {
  replay(allocation(1, 100));
  const auto region = ledger_.open();
  replay(allocation(2, 30));
  replay(allocation(3, 20));
  replay(release(2));
  EXPECT_EQ(ledger_.figures(region), (RegionFigures{.peak_bytes = 50,
                                                    .left_bytes = 20,
                                                    .live_at_start_bytes = 100,
                                                    .live_peak_bytes = 150,
                                                    .live_bytes = 120,
                                                    .peak_since_bytes = 50,
                                                    .total_bytes = 50,
                                                    .allocations = 2}));
  EXPECT_THAT(ledger_.lists(region).left, ElementsAre(group("", 20)));
}

TEST_F(RegionLedgerTest, AnEmptyRegionHasWhatWasLive) {
  replay(allocation(1, 100));
  const auto region = ledger_.open();
  EXPECT_EQ(ledger_.figures(region),
            (RegionFigures{.live_at_start_bytes = 100, .live_peak_bytes = 100, .live_bytes = 100}));
  EXPECT_THAT(ledger_.lists(region).live_at_peak, ElementsAre(group("", 100)));
}

TEST_F(RegionLedgerTest, RegionsNest) {
  const auto outer = ledger_.open();
  replay(allocation(1, 1000));
  const auto inner = ledger_.open();
  replay(release(1));
  replay(allocation(2, 30));
  EXPECT_EQ(ledger_.figures(inner).live_at_start_bytes, 1000);
  EXPECT_EQ(ledger_.figures(inner).peak_bytes, 30);
  EXPECT_EQ(ledger_.figures(inner).live_peak_bytes, 1000);
  ledger_.close(inner);
  EXPECT_EQ(ledger_.figures(outer).peak_bytes, 1000);
  EXPECT_EQ(ledger_.figures(outer).left_bytes, 30);
}

TEST_F(RegionLedgerTest, SinceAnEarlierRegionCountsWhatWasMadeInBetween) {
  replay(allocation(9, 5000));
  const auto setup = ledger_.open();
  replay(allocation(1, 1000));
  ledger_.close(setup);
  const auto call = ledger_.open(setup);
  replay(allocation(2, 10));
  EXPECT_EQ(ledger_.figures(call).peak_bytes, 10);
  EXPECT_EQ(ledger_.figures(call).peak_since_bytes, 1010);
  EXPECT_EQ(ledger_.figures(call).live_peak_bytes, 6010);
  EXPECT_THAT(ledger_.lists(call).since_at_peak, ElementsAre(group("", 1010, 2, 1000)));
}

TEST_F(RegionLedgerTest, ThePeakIsTheFirstOfEqualOnesAndKnowsWhatWasLive) {
  const auto region = ledger_.open();
  replay(allocation(1, 100));
  replay(allocation(2, 50));
  replay(text_event(EventType::name, 2, "table"));
  replay(release(1));
  replay(allocation(3, 100));
  replay(release(2));
  replay(release(3));
  EXPECT_EQ(ledger_.figures(region).peak_bytes, 150);
  EXPECT_EQ(ledger_.figures(region).left_bytes, 0);
  EXPECT_THAT(ledger_.lists(region).at_peak, ElementsAre(group("", 100), group("table", 50)));
}

TEST_F(RegionLedgerTest, MemoryWhoseReleaseWasRefusedIsLiveAgainAndNotNew) {
  const auto region = ledger_.open();
  replay(allocation(1, 100));
  replay(release(1));
  Event again = allocation(1, 100);
  again.amounts.result = 700;
  replay(again);
  const RegionFigures figures = ledger_.figures(region);
  EXPECT_EQ(figures.allocations, 1);
  EXPECT_EQ(figures.total_bytes, 100);
  EXPECT_EQ(figures.left_bytes, 100);
}

TEST_F(RegionLedgerTest, AnAddressThatIsAllocatedAgainWasReleased) {
  const auto region = ledger_.open();
  replay(allocation(1, 100));
  replay(allocation(1, 20));
  EXPECT_EQ(ledger_.figures(region).peak_bytes, 100);
  EXPECT_EQ(ledger_.figures(region).left_bytes, 20);
}

TEST_F(RegionLedgerTest, MemoryOfTheHostIsBesideThePeak) {
  replay(allocation(7, 5, MemoryKind::host_pointer));
  const auto region = ledger_.open();
  replay(allocation(1, 100, MemoryKind::host_pointer));
  replay(release(7));  // of before the region
  replay(allocation(2, 10));
  replay(release(1));
  replay(allocation(3, 60, MemoryKind::host_pointer));
  replay(release(4));  // of before the recorder was loaded
  EXPECT_EQ(ledger_.figures(region).peak_bytes, 10);
  EXPECT_EQ(ledger_.figures(region).allocations, 1);
  EXPECT_THAT(ledger_.lists(region).peaks_by_kind,
              ElementsAre(FieldsAre(MemoryKind::buffer, 10), FieldsAre(MemoryKind::host_pointer, 100)));
}

TEST_F(RegionLedgerTest, ARefusalIsNoAllocation) {
  const auto region = ledger_.open();
  replay(refusal(1000, -61));
  EXPECT_EQ(ledger_.figures(region), RegionFigures{.failed_allocations = 1});
}

TEST_F(RegionLedgerTest, EqualRequestsAreOneLineAndTheLargestIsFirst) {
  const auto region = ledger_.open();
  replay(refusal(10, -61));
  replay(text_event(EventType::phase, 0, "call"));
  for (int i = 0; i < 2; ++i) replay(refusal(10, -61));
  replay(refusal(-1, 2));
  replay(refusal(10, 12345));
  const auto kBuffer = MemoryKind::buffer;
  EXPECT_THAT(ledger_.lists(region).refused,
              ElementsAre(FieldsAre(std::numeric_limits<Size>::max(), kBuffer, 2, "call", "", false, 1),
                          FieldsAre(10, kBuffer, -61, "", "", false, 1),
                          FieldsAre(10, kBuffer, -61, "call", "", false, 2),
                          FieldsAre(10, kBuffer, 12345, "call", "", false, 1)));
}

TEST_F(RegionLedgerTest, EachRecorderHasAddressesAndStacksOfItsOwn) {
  const std::size_t other = ledger_.add_source(0);
  const auto region = ledger_.open();
  for (const std::size_t source : {own_, other}) {
    replay(source, text_event(EventType::stack, 5, source == own_ ? "own" : "other"));
    Event one = allocation(1, source == own_ ? 10 : 20);
    one.amounts.stack = 5;
    replay(source, one);
  }
  EXPECT_THAT(ledger_.lists(region).left,
              ElementsAre(Field(&RegionGroup::stack, "other"), Field(&RegionGroup::stack, "own")));
  replay(other, release(1));
  EXPECT_EQ(ledger_.figures(region).peak_bytes, 30);
  EXPECT_EQ(ledger_.figures(region).left_bytes, 10);
}

TEST_F(RegionLedgerTest, AChildHasPhasesOfItsOwnAndHoldsNothingWhenItHasEnded) {
  const std::size_t child = ledger_.add_source(4711);
  const auto region = ledger_.open();
  replay(text_event(EventType::phase, 0, "own"));
  replay(allocation(1, 100));
  replay(child, text_event(EventType::phase, 0, "child's"));
  replay(child, allocation(1, 30));
  replay(allocation(2, 5));
  ledger_.end_source(child, 0);
  replay(allocation(3, 7));
  EXPECT_EQ(ledger_.figures(region).peak_bytes, 135);
  EXPECT_EQ(ledger_.figures(region).left_bytes, 112);
  EXPECT_THAT(ledger_.lists(region).at_peak,
              ElementsAre(FieldsAre("", MemoryKind::buffer, "own", "", false, 105, 2, 100),
                          FieldsAre("", MemoryKind::buffer, "child's", "", true, 30, 1, 30)));
}

TEST_F(RegionLedgerTest, NotesPoolsAndTimesAreThoseOfTheRegion) {
  replay(text_event(EventType::note, 0, "before"));
  const auto region = ledger_.open({}, true);
  const auto without = ledger_.open();
  replay(text_event(EventType::note, 0, "within"));
  EXPECT_EQ(ledger_.lists(region).pool_reserved_peak_bytes, std::nullopt);
  Event pool = allocation(1, 512);
  pool.type = EventType::pool;
  replay(pool);
  Event one = allocation(2, 10);
  one.time_ns = 5;
  replay(one);
  one = release(2);
  one.time_ns = 8;
  replay(one);
  const RegionLists lists = ledger_.lists(region);
  EXPECT_THAT(lists.notes, ElementsAre("within"));
  EXPECT_THAT(ledger_.notes(), ElementsAre("before", "within"));
  EXPECT_EQ(lists.pool_reserved_peak_bytes, 512);
  EXPECT_THAT(lists.timeline, ElementsAre(LivePoint{5, 10}, LivePoint{8, 0}));
  EXPECT_THAT(ledger_.lists(without).timeline, IsEmpty());
}

TEST_F(RegionLedgerTest, ARandomProgramHasTheFiguresOfSummarise) {
  std::mt19937 random(1);
  std::vector<Event> events;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t address = 1 + random() % 64;
    switch (random() % 5) {
      case 0:
      case 1:
        events.push_back(allocation(address, random() % 1000));
        break;
      case 2:
        events.push_back(text_event(EventType::phase, 0, "phase " + std::to_string(random() % 3)));
        break;
      case 3:
        events.push_back(text_event(EventType::name, address, "name " + std::to_string(random() % 4)));
        break;
      default:
        events.push_back(release(address));
    }
  }
  const auto region = ledger_.open();
  for (std::size_t i = 0; i < events.size(); ++i) ledger_.replay(own_, events, i);
  const RegionFigures figures = ledger_.figures(region);
  const LedgerSummary summary = summarise(events);
  EXPECT_EQ(figures.peak_bytes, summary.peak_bytes);
  EXPECT_EQ(figures.live_peak_bytes, summary.peak_bytes);
  EXPECT_EQ(figures.live_bytes, summary.live_at_end_bytes);
  EXPECT_EQ(figures.total_bytes, summary.total_bytes);
  EXPECT_EQ(figures.allocations, summary.allocations);
  std::map<std::tuple<std::string, std::string>, std::pair<Size, std::int64_t>> at_peak;
  std::map<std::tuple<std::string, std::string>, std::pair<Size, std::int64_t>> expected;
  for (const RegionGroup& one : ledger_.lists(region).at_peak)
    at_peak[{one.name, one.phase}] = {one.bytes, one.count};
  for (const Allocation& one : summary.at_peak) {
    auto& [bytes, count] = expected[{one.name, one.phase}];
    bytes += one.bytes;
    ++count;
  }
  EXPECT_EQ(at_peak, expected);
}

}  // namespace
}  // namespace peakmark
