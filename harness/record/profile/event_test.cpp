#include "record/profile/event.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark {
namespace {

TEST(Event, EveryKindHasANameOfItsOwn) {
  std::set<std::string> names;
  int kinds = 0;
  for (int number = 0; number < 256; ++number) {
    const std::string name = to_string(static_cast<MemoryKind>(number));
    if (name == "unknown") continue;
    names.insert(name);
    ++kinds;
  }
  EXPECT_EQ(kinds, 23);
  EXPECT_EQ(names.size(), 23U);
}

TEST(Event, HostMemoryStaysOutOfThePeak) {
  std::set<std::string> beside;
  for (int number = 0; number <= static_cast<int>(MemoryKind::host_write_combined); ++number) {
    const auto kind = static_cast<MemoryKind>(number);
    if (!counts_into_peak(kind)) beside.insert(to_string(kind));
  }
  beside.erase("unknown");
  EXPECT_EQ(beside,
            (std::set<std::string>{"none", "host_pointer", "host_pinned", "host_registered", "usm_host",
                                   "module_globals", "host_mapped", "host_write_combined"}));
}

TEST(Event, ErrorsOfAllocationsHaveNames) {
  EXPECT_EQ(error_text(-61), "-61 CL_INVALID_BUFFER_SIZE");
  EXPECT_EQ(error_text(2), "2 CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(error_text(12345), "12345");
  EXPECT_EQ(allocation_error_name(0), "");
}

Event text_slot(std::uint64_t commit, EventType type, const std::string& text, std::uint16_t whole) {
  Event event;
  event.commit = commit;
  event.type = type;
  event.text_bytes = whole;
  std::memset(event.text, 0, sizeof(event.text));
  std::memcpy(event.text, text.data(), text.size());
  return event;
}

TEST(Event, TextGoesOnInTheNextSlots) {
  const std::vector<Event> events{text_slot(1, EventType::name, std::string(32, 'a'), 40),
                                  text_slot(2, EventType::text, "bbbbbbbb", 40),
                                  text_slot(3, EventType::phase, "", 0)};
  EXPECT_EQ(text_of(events, 0), std::string(32, 'a') + "bbbbbbbb");
  EXPECT_EQ(text_of(events, 2), "");
}

TEST(Event, TextDoesNotTakeTheContinuationOfAnother) {
  const std::vector<Event> events{text_slot(1, EventType::name, std::string(32, 'a'), 40),
                                  text_slot(3, EventType::text, "stray", 40)};
  EXPECT_EQ(text_of(events, 0), std::string(32, 'a'));
}

TEST(Event, ANoteMayTakeTrustAway) {
  Event event;
  event.commit = 1;
  event.type = EventType::note;
  const auto note = [&](std::string_view text) {
    event.text_bytes = static_cast<std::uint16_t>(text.size());
    std::copy(text.begin(), text.end(), event.text);
    return invalid_note(std::span(&event, 1));
  };
  EXPECT_EQ(note("pipes are not wrapped"), "");
  EXPECT_EQ(note("invalid: records were lost"), "invalid: records were lost");
}

}  // namespace
}  // namespace peakmark
