#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "record/ledger/ledger.hpp"
#include "record/ledger/timeline.hpp"

namespace peakmark {
namespace {

/// A random program, the same for the same seed.
class RandomEvents {
 public:
  explicit RandomEvents(unsigned seed) : random_(seed) {}

  std::vector<Event> make(std::size_t count) {
    while (events_.size() < count) step();
    return events_;
  }

 private:
  Event& add(EventType type, std::uint64_t address) {
    Event event;
    event.commit = events_.size() + 1;
    // The clocks of two threads may contradict the order of the slots.
    time_ns_ += static_cast<std::int64_t>(pick(20));
    event.time_ns = time_ns_ - static_cast<std::int64_t>(pick(3));
    event.type = type;
    event.address = address;
    event.thread = static_cast<std::uint32_t>(pick(3));
    events_.push_back(event);
    return events_.back();
  }
  void say(EventType type, std::uint64_t address, std::string_view text) {
    bool is_head = true;
    do {
      Event& event = add(is_head ? type : EventType::text, address);
      event.text_bytes = static_cast<std::uint16_t>(is_head ? text.size() : 0);
      std::memset(event.text, 0, sizeof(event.text));
      std::memcpy(event.text, text.data(), std::min(text.size(), sizeof(event.text)));
      text.remove_prefix(std::min(text.size(), sizeof(event.text)));
      is_head = false;
    } while (!text.empty());
  }
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void step() {
    constexpr MemoryKind kKinds[] = {MemoryKind::buffer, MemoryKind::image, MemoryKind::view,
                                     MemoryKind::host_pointer, static_cast<MemoryKind>(200)};
    const std::uint64_t address = 0x1000 + 16 * pick(24);
    const MemoryKind kind = kKinds[pick(5)];
    switch (pick(24)) {
      case 0:
        return say(EventType::phase, 0, pick(4) == 0 ? "" : "phase " + std::string(pick(60), 'p'));
      case 1:
        return say(EventType::name, address, "name " + std::to_string(pick(9)) + std::string(pick(50), 'n'));
      case 2: {
        Event& event = add(EventType::failed_allocation, 0);
        event.kind = kind;
        event.amounts.bytes = static_cast<std::int64_t>(pick(3)) * 1000 - 1000;
        event.amounts.result = -static_cast<std::int32_t>(pick(3)) - 4;
        event.amounts.stack = pick(2);
        return;
      }
      case 3: {
        Event& event = add(EventType::allocation, address);  // its release was refused
        event.kind = kind;
        event.amounts.bytes = static_cast<std::int64_t>(pick(100));
        event.amounts.result = 700;
        return;
      }
      case 4:
        if (pick(10) == 0) return say(EventType::note, 0, "a note");
        if (pick(5) == 0) return say(EventType::stack, pick(2), "N\tmain\t0\tprogram\t0\n");
        if (pick(5) != 0) add(EventType::work, 1).amounts.bytes = 5;
        add(EventType::pool, 7).amounts.bytes = static_cast<std::int64_t>(pick(1000));
        return;
      default:
        break;
    }
    if (pick(2) == 0) {
      add(EventType::release, address);
      return;
    }
    Event& event = add(EventType::allocation, address);
    event.kind = kind;
    // Few sizes, so that equal peaks come.
    event.amounts.bytes = kind == MemoryKind::view ? 0 : 100 * static_cast<std::int64_t>(pick(4));
    event.amounts.stack = pick(2);
  }

  std::mt19937_64 random_;
  std::vector<Event> events_;
  std::int64_t time_ns_ = 1000;
};

std::string text_of(const std::vector<Allocation>& allocations) {
  std::string text;
  for (const Allocation& one : allocations) {
    text += one.name + "/" + one.phase + "/" + to_string(one.kind) + "/" + std::to_string(one.bytes) + "/" +
            std::to_string(one.address) + "/" + std::to_string(one.time_ns) + "/" +
            std::to_string(one.stack) + "\n";
  }
  return text;
}

/// Every field.
std::string text_of(const LedgerSummary& summary) {
  const auto numbers = [](std::initializer_list<std::int64_t> all) {
    std::string text;
    for (const std::int64_t one : all) text += std::to_string(one) + " ";
    return text + "\n";
  };
  std::string text =
      numbers({summary.peak_bytes, summary.peak_time_ns, summary.live_at_end_bytes, summary.total_bytes,
               summary.allocations, summary.failed_allocations, summary.unmatched_releases,
               summary.refused_releases, summary.pool_reserved_peak_bytes, summary.pool_seen ? 1 : 0});
  for (const auto& [kind, one] : summary.by_kind) {
    text += std::string(to_string(kind)) + " " +
            numbers({one.peak_bytes, one.live_at_end_bytes, one.total_bytes, one.allocations});
  }
  text += "at peak\n" + text_of(summary.at_peak) + "leaked\n" + text_of(summary.leaked);
  for (const RefusedAllocation& one : summary.refused) {
    text += one.phase + " " + to_string(one.kind) + " " +
            numbers({one.bytes, one.error, static_cast<std::int64_t>(one.stack), one.count,
                     static_cast<std::int64_t>(one.refused_by)});
  }
  for (const PhaseSummary& one : summary.phases) {
    text += one.name + ": " +
            numbers({one.live_at_start_bytes, one.live_at_end_bytes, one.peak_bytes, one.allocations,
                     one.failed_allocations, one.start_time_ns});
  }
  for (const std::string& note : summary.notes) text += note + "\n";
  for (const auto& [id, stack] : summary.stacks) text += std::to_string(id) + " " + stack;
  return text;
}

/// The first events are folded, then the result and some more, and so on.
std::vector<Event> fold_in_steps(const std::vector<Event>& events, std::mt19937_64& random) {
  std::vector<Event> folded;
  std::size_t done = 0;
  while (done < events.size()) {
    std::size_t end = std::min<std::size_t>(events.size(), done + 1 + random() % 400);
    while (end < events.size() && events[end].type == EventType::text) ++end;
    folded.insert(folded.end(), events.begin() + static_cast<std::ptrdiff_t>(done),
                  events.begin() + static_cast<std::ptrdiff_t>(end));
    folded = fold(folded);
    done = end;
  }
  return folded;
}

class FoldRandomEvents : public testing::TestWithParam<unsigned> {};

TEST_P(FoldRandomEvents, AddUpToTheSame) {
  std::mt19937_64 random(GetParam());
  const std::vector<Event> events = RandomEvents(GetParam()).make(1 + random() % 3000);
  const std::string all = text_of(summarise(events));
  EXPECT_EQ(text_of(summarise(fold(events))), all);
  const std::vector<Event> folded = fold_in_steps(events, random);
  EXPECT_EQ(text_of(summarise(folded)), all);
  for (std::size_t i = 0; i < folded.size(); ++i) ASSERT_EQ(folded[i].commit, i + 1);

  // And with events behind them that are not folded.
  std::size_t half = events.size() / 2;
  while (half < events.size() && events[half].type == EventType::text) ++half;
  std::vector<Event> some = fold(std::span(events).first(half));
  some.insert(some.end(), events.begin() + static_cast<std::ptrdiff_t>(half), events.end());
  EXPECT_EQ(text_of(summarise(some)), all);
}

TEST_P(FoldRandomEvents, KeepTheEndsAndThePeakOfTheTimeline) {
  std::mt19937_64 random(GetParam());
  const std::vector<Event> events = RandomEvents(GetParam()).make(2000);
  const std::vector<Event> folded = fold_in_steps(events, random);
  const auto full = live_over_time(events, SIZE_MAX);
  const auto thinned = live_over_time(folded, SIZE_MAX);
  EXPECT_EQ(thinned.front(), full.front());
  EXPECT_EQ(thinned.back(), full.back());
  const auto highest = [](const std::vector<LivePoint>& points) {
    return *std::ranges::max_element(points, {}, &LivePoint::live_bytes);
  };
  EXPECT_EQ(highest(thinned).live_bytes, highest(full).live_bytes);
  const auto buffers = live_over_time(folded, SIZE_MAX, MemoryKind::buffer);
  EXPECT_EQ(highest(buffers).live_bytes,
            highest(live_over_time(events, SIZE_MAX, MemoryKind::buffer)).live_bytes);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FoldRandomEvents, testing::Range(0U, 60U));

TEST(Fold, NothingIsNothing) {
  EXPECT_TRUE(fold({}).empty());
}

TEST(Fold, IsBoundedByWhatIsLive) {
  std::vector<Event> events;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    for (const EventType type : {EventType::allocation, EventType::release}) {
      Event event;
      event.type = type;
      event.time_ns = i;
      event.address = 16;
      if (type == EventType::allocation) {
        event.kind = MemoryKind::buffer;
        event.amounts.bytes = 100;
      }
      events.push_back(event);
    }
  }
  const std::vector<Event> folded = fold(events);
  // Four points in each of 1000 spans of time: of all, and of the kind.
  EXPECT_LE(folded.size(), 8020U);
  EXPECT_EQ(summarise(folded).allocations, 100'000);
  EXPECT_EQ(summarise(folded).total_bytes, 10'000'000);
}

}  // namespace
}  // namespace peakmark
