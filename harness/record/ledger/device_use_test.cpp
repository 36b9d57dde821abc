#include "record/ledger/device_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <random>

#include "record/ledger/ledger.hpp"
#include "record/profile/event_testing.hpp"

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

TEST(UseByDevice, IsEmptyForOneDevice) {
  EXPECT_THAT(use_by_device(kUsed), IsEmpty());
  EXPECT_THAT(use_by_device(with_names(kUsed, {"0 P: a"})), IsEmpty());
}

/// What a random program did with two devices, and contexts of each and of both.
struct RandomUse {
  std::vector<Event> events;
  struct Device {
    Size live = 0;
    Size peak = 0;
    std::vector<Size> at_peak;
    std::int64_t allocations = 0;
  };
  std::array<Device, 2> devices;

  RandomUse(unsigned seed, const std::vector<Event>& names) : events(names) {
    std::mt19937 random(seed);
    std::map<std::uint64_t, std::pair<std::uint32_t, Size>> live;
    const auto is_on = [](std::uint32_t context, std::uint32_t device) {
      return context == 3 || context == device + 1;
    };
    for (int i = 0; i < 3000; ++i) {
      Event event;
      event.time_ns = 1000 + i;
      event.address = 16 * (1 + random() % 12);
      const auto was = live.find(event.address);
      event.type = was == live.end() ? EventType::allocation : EventType::release;
      if (was == live.end()) {
        event.kind = random() % 4 == 0 ? MemoryKind::image : MemoryKind::buffer;
        event.amounts.bytes = static_cast<std::int64_t>(random() % 1000);
        event.amounts.device = 1 + random() % 3;
        live[event.address] = {event.amounts.device, event.amounts.bytes};
      }
      for (std::uint32_t device = 0; device < 2; ++device) {
        Device& one = devices.at(device);
        const auto [context, bytes] = live.at(event.address);
        if (!is_on(context, device)) continue;
        one.live += event.type == EventType::allocation ? bytes : -bytes;
        one.allocations += event.type == EventType::allocation ? 1 : 0;
        if (event.type != EventType::allocation || one.live <= one.peak) continue;
        one.peak = one.live;
        one.at_peak.clear();
        for (const auto& [address, memory] : live) {
          if (is_on(memory.first, device)) one.at_peak.push_back(memory.second);
        }
        std::ranges::sort(one.at_peak, std::greater<>());
      }
      if (was != live.end()) live.erase(was);
      event.commit = events.size() + 1;
      events.push_back(event);
    }
  }
};

TEST(UseByDevice, OfFoldedEventsIsThatOfAll) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RandomUse use(seed, with_names({}, {"0 P: a", "1 P: b", "0 P: a\n1 P: b"}));
    // Folded in three steps.
    std::vector<Event> folded;
    const std::size_t third = use.events.size() / 3;
    for (std::size_t from = 0; from < use.events.size(); from += third) {
      const auto some = std::span(use.events).subspan(from, std::min(third, use.events.size() - from));
      folded.insert(folded.end(), some.begin(), some.end());
      folded = fold(folded);
    }
    const std::vector<DeviceUse> uses = use_by_device(folded);
    ASSERT_EQ(uses.size(), 2U) << seed;
    for (std::size_t device = 0; device < 2; ++device) {
      const RandomUse::Device& expected = use.devices.at(device);
      EXPECT_EQ(uses[device].peak_bytes, expected.peak) << seed;
      EXPECT_EQ(uses[device].live_at_end_bytes, expected.live) << seed;
      EXPECT_EQ(uses[device].allocations, expected.allocations) << seed;
      const LedgerSummary of_device = summarise(events_of_device(folded, uses[device].name));
      EXPECT_EQ(of_device.peak_bytes, expected.peak) << seed;
      EXPECT_EQ(of_device.allocations, expected.allocations) << seed;
      std::vector<Size> at_peak;
      for (const Allocation& one : of_device.at_peak) at_peak.push_back(one.bytes);
      EXPECT_EQ(at_peak, expected.at_peak) << seed;
    }
  }
}

}  // namespace
}  // namespace peakmark
