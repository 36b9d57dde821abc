#include "ledger/device_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/ledger.hpp"
#include "profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::allocation;
using testing_support::release;
using testing_support::text_event;

Event on(std::uint32_t devices, Event event) {
  event.amounts.device = devices;
  return event;
}

std::vector<Event> with_names(std::vector<Event> events, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Event named = text_event(EventType::device, i + 1, texts[i]);
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(i), named);
  }
  return events;
}

// Numbers of sets of devices: 1 is the first device, 2 the second, 3 a context of both.
const std::vector<Event> kUsed{on(1, allocation(10, 100)),
                               on(2, allocation(20, 50)),
                               on(1, allocation(11, 7, MemoryKind::host_pointer)),
                               release(10),
                               on(3, allocation(30, 60)),
                               on(2, allocation(20, 40)),  // its release was lost
                               on(9, allocation(40, 1000)),
                               release(30),
                               release(99)};

TEST(UseByDevice, HasThePeakOfEach) {
  EXPECT_THAT(use_by_device(with_names(kUsed, {"0 P: a", "1 P: b c", "0 P: a\n1 P: b c"})),
              ElementsAre(DeviceUse{"P: a", 100, 0, 2}, DeviceUse{"P: b c", 110, 40, 3}));
}

TEST(UseByDevice, DevicesOfOneNameHaveTheirNumbers) {
  const auto uses = use_by_device(with_names(kUsed, {"0 P: a", "4 P: a"}));
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].name, "P: a (0)");
  EXPECT_EQ(uses[1].name, "P: a (4)");
}

TEST(EventsOfDevice, HaveNoMemoryOfOthers) {
  const auto events = with_names(kUsed, {"0 P: a", "1 P: b", "0 P: a\n1 P: b"});
  const LedgerSummary of_a = summarise(events_of_device(events, "P: a"));
  EXPECT_EQ(of_a.peak_bytes, 1060) << "with what is of unknown devices";
  EXPECT_EQ(of_a.allocations, 3);
  EXPECT_EQ(of_a.live_at_end_bytes, 1000);
  EXPECT_EQ(of_a.unmatched_releases, 1);
  EXPECT_EQ(summarise(events_of_device(events, "P: b")).peak_bytes, 1100);
}

TEST(UseByDevice, IsEmptyForOneDeviceAndForCompactRecordings) {
  EXPECT_THAT(use_by_device(kUsed), IsEmpty());
  EXPECT_THAT(use_by_device(with_names(kUsed, {"0 P: a"})), IsEmpty());
  auto folded = with_names(kUsed, {"0 P: a", "1 P: b"});
  folded.emplace_back().type = EventType::folded;
  EXPECT_THAT(use_by_device(folded), IsEmpty());
}

}  // namespace
}  // namespace peakmark
