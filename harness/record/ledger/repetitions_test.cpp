#include "record/ledger/repetitions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "record/profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

/// A program that repeats phases, as a recorder writes it.
class RepetitionsTest : public testing::Test {
 protected:
  std::uint64_t make(Size bytes, const std::string& name = "", MemoryKind kind = MemoryKind::buffer) {
    const std::uint64_t address = ++last_address_;
    add(testing_support::allocation(address, bytes, kind));
    if (!name.empty()) add(testing_support::text_event(EventType::name, address, name));
    return address;
  }
  void free(std::uint64_t address) { add(testing_support::release(address)); }
  void phase(const std::string& text) { add(testing_support::text_event(EventType::phase, 0, text)); }
  /// A phase `call` with a temporary in which `body` runs.
  template <typename Body>
  void calls(int count, const Body& body) {
    for (int i = 1; i <= count; ++i) {
      phase("call");
      const std::uint64_t temporary = make(1000, "temporary");
      body(i);
      free(temporary);
      phase("");
    }
  }
  void add(Event event) {
    event.commit = events_.size() + 1;
    event.time_ns = static_cast<std::int64_t>(events_.size());
    events_.push_back(event);
  }
  [[nodiscard]] std::vector<RepeatedPhase> found(bool is_settled = true) const {
    return find_repetitions(events_, {.is_settled = is_settled});
  }
  [[nodiscard]] std::vector<Growth> growth(bool is_settled = true) const {
    const std::vector<RepeatedPhase> phases = found(is_settled);
    EXPECT_EQ(phases.size(), 1U);
    return phases.empty() ? std::vector<Growth>{} : phases.front().growth;
  }

  std::vector<Event> events_;
  std::uint64_t last_address_ = 0;
};

TEST_F(RepetitionsTest, ALeakHasItsBytesPerRepetition) {
  calls(6, [&](int) { make(64, "cache entry"); });
  const auto phases = found();
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].phase, "call");
  EXPECT_EQ(phases[0].repetitions[0], (Repetition{0, 64, 1064}));
  EXPECT_EQ(phases[0].repetitions[5], (Repetition{320, 384, 1384}));
  EXPECT_THAT(phases[0].growth, ElementsAre(Growth{GrowthVerdict::leak, "cache entry", MemoryKind::buffer,
                                                   "call", "", 5 * 64, 64, 5}));
  EXPECT_TRUE(phases[0].has_leak());
  EXPECT_EQ(phases[0].peak_drift_bytes, 0) << "the peak grows by the leak only";
}

TEST_F(RepetitionsTest, NothingGrowsInASteadyProgram) {
  make(5000, "plan");
  calls(10, [](int) {});
  const auto phases = found();
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_THAT(phases[0].growth, IsEmpty());
  EXPECT_FALSE(phases[0].fails());
}

TEST_F(RepetitionsTest, AWarmUpThatStopsIsNoLeak) {
  calls(8, [&](int i) {
    if (i <= 3) make(100, "pool block");
  });
  EXPECT_THAT(growth(), ElementsAre(Growth{GrowthVerdict::warm_up, "pool block", MemoryKind::buffer, "call",
                                           "", 300, std::nullopt, 3}));
}

TEST_F(RepetitionsTest, ALeakThatBeginsLateOrComesNowAndThenIsOne) {
  calls(12, [&](int i) {
    if (i > 5) make(100, "late");
    if (i % 3 == 0) make(7, "now and then");
  });
  const auto leaks = growth();
  ASSERT_EQ(leaks.size(), 2U);
  EXPECT_EQ(leaks[0], (Growth{GrowthVerdict::leak, "late", MemoryKind::buffer, "call", "", 600, 100, 6}));
  EXPECT_EQ(leaks[1].verdict, GrowthVerdict::leak);
  EXPECT_EQ(leaks[1].bytes_per_repetition, std::nullopt);
  EXPECT_EQ(leaks[1].repetitions, 3U);
}

TEST_F(RepetitionsTest, WhatGrewOnceIsUndecided) {
  calls(10, [&](int i) {
    if (i == 7) make(100, "table");
  });
  EXPECT_THAT(growth(), ElementsAre(Field(&Growth::verdict, GrowthVerdict::undecided)));
}

TEST_F(RepetitionsTest, ResultsThatLaterRepetitionsReplaceAreNoLeak) {
  for (const std::size_t depth : {1U, 2U, 4U}) {
    events_.clear();
    std::deque<std::uint64_t> results;
    std::mt19937 random(1);
    calls(20, [&](int) {
      results.push_back(make(1000 + random() % 1000, "result"));
      if (results.size() <= depth) return;
      free(results.front());
      results.pop_front();
    });
    for (const Growth& one : growth())
      EXPECT_NE(one.verdict, GrowthVerdict::leak) << depth << " results are kept";
  }
}

TEST_F(RepetitionsTest, ADeviceThatIsBehindIsNoLeak) {
  // Each repetition is released while a later one runs, and the last ones after the loop.
  std::deque<std::uint64_t> queued;
  calls(20, [&](int i) {
    queued.push_back(make(500));
    if (i % 2 != 0) return;
    free(queued.front());
    queued.pop_front();
  });
  for (const std::uint64_t address : queued) free(address);
  const auto unsettled = growth(false);
  ASSERT_EQ(unsettled.size(), 1U);
  EXPECT_EQ(unsettled[0].verdict, GrowthVerdict::unsettled);
  EXPECT_EQ(found(false)[0].peak_drift_bytes, std::nullopt) << "unknown, not 0";
}

TEST_F(RepetitionsTest, WhatAProgramReleasesAtItsEndIsALeakIfReleasesAreSettled) {
  std::vector<std::uint64_t> kept;
  calls(6, [&](int) { kept.push_back(make(64)); });
  for (const std::uint64_t address : kept) free(address);
  EXPECT_THAT(growth(true), ElementsAre(Field(&Growth::verdict, GrowthVerdict::leak)));
  EXPECT_THAT(growth(false), ElementsAre(Field(&Growth::verdict, GrowthVerdict::unsettled)));
}

TEST_F(RepetitionsTest, WhatIsNeverReleasedIsALeakInAnyCase) {
  calls(6, [&](int) { make(64); });
  EXPECT_THAT(growth(false), ElementsAre(Field(&Growth::verdict, GrowthVerdict::leak)));
}

TEST_F(RepetitionsTest, HostMemoryLeaksToo) {
  calls(6, [&](int) { make(4096, "staging", MemoryKind::host_pinned); });
  const auto phases = found();
  EXPECT_EQ(phases[0].repetitions[5].live_after_bytes, 0) << "it does not count into the peak";
  EXPECT_THAT(phases[0].growth, ElementsAre(Field(&Growth::kind, MemoryKind::host_pinned)));
}

TEST_F(RepetitionsTest, APeakDrifts) {
  calls(8, [&](int i) { free(make(i * 10)); });
  const auto phases = found();
  EXPECT_THAT(phases[0].growth, IsEmpty());
  EXPECT_EQ(phases[0].peak_drift_bytes, 40) << "of the last four repetitions";
  EXPECT_TRUE(phases[0].fails());
  events_.clear();
  calls(8, [&](int i) { free(make(i < 4 ? i * 10 : 40)); });
  EXPECT_EQ(found()[0].peak_drift_bytes, 0) << "it stops";
  events_.clear();
  calls(8, [&](int i) { free(make(i == 7 ? 90 : i * 10)); });
  EXPECT_EQ(found()[0].peak_drift_bytes, 0) << "it also shrinks";
}

TEST_F(RepetitionsTest, NestedPhasesBelongToTheirRepetition) {
  for (int i = 0; i < 5; ++i) {
    phase("call");
    phase("call/fft");
    make(10, "plan");
    phase("call");
    phase("");
  }
  const auto phases = found();
  ASSERT_EQ(phases.size(), 1U) << "call/fft occurs as often";
  EXPECT_EQ(phases[0].repetitions.size(), 5U);
  EXPECT_THAT(phases[0].growth, ElementsAre(Field(&Growth::phase, "call/fft")));
}

TEST_F(RepetitionsTest, AnInnerPhaseThatOccursMoreOftenHasItsOwnLeaks) {
  for (int epoch = 0; epoch < 4; ++epoch) {
    phase("epoch");
    for (int batch = 0; batch < 3; ++batch) {
      phase("epoch/batch");
      make(10);
      phase("epoch");
    }
    phase("");
  }
  const auto phases = found();
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].growth, IsEmpty());
  EXPECT_EQ(phases[1].phase, "epoch/batch");
  EXPECT_EQ(phases[1].repetitions.size(), 12U);
  EXPECT_THAT(phases[1].growth, ElementsAre(Field(&Growth::bytes_per_repetition, 10)));
}

TEST_F(RepetitionsTest, ALeakIsNamedByThePhaseThatMakesIt) {
  for (int i = 0; i < 6; ++i) {
    phase("load");
    make(10, "images");
    phase("call");
    free(make(500));
    phase("");
    make(3, "between");
  }
  const auto phases = found();
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_THAT(phases[0].growth, ElementsAre(Field(&Growth::name, "images"), Field(&Growth::name, "between")));
  EXPECT_THAT(phases[1].growth, IsEmpty());
}

TEST_F(RepetitionsTest, MarksWithoutEndsAreRepetitionsToo) {
  for (int i = 0; i < 5; ++i) {
    phase("call");
    make(10);
  }
  const auto phases = found();
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].repetitions.size(), 5U);
  EXPECT_EQ(phases[0].repetitions[4], (Repetition{40, 50, 50}));
  EXPECT_TRUE(phases[0].has_leak());
}

TEST_F(RepetitionsTest, FewRepetitionsAreNotJudged) {
  calls(3, [&](int) { make(64); });
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RepetitionsTest, AFolderOfTestsIsNoPhase) {
  for (const char* const test : {"tests/a", "tests/b", "tests/c", "tests/d", "tests/e"}) {
    phase(test);
    make(10);
    phase("");
  }
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(RepetitionsTest, ALostReleaseCountsOnce) {
  calls(6, [&](int) {
    add(testing_support::allocation(0x900, 64));  // always the same address
  });
  EXPECT_THAT(growth(), IsEmpty());
}

/// Programs drawn at random that leak a known number of bytes of some sites.
TEST_F(RepetitionsTest, PlantedLeaksAreFoundAndNothingElse) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int max) { return static_cast<int>(random() % static_cast<unsigned>(max)); };
    events_.clear();
    const int count = 8 + pick(20);
    const int leaks = pick(3);
    const Size bytes = 1 + pick(1000);
    const int warm_up = pick(count / 2 - 1);
    const int depth = pick(3);
    std::deque<std::uint64_t> ring;
    calls(count, [&](int i) {
      if (i <= warm_up) make(50, "warm-up");
      for (int leak = 0; leak < leaks; ++leak) make(bytes, "leak " + std::to_string(leak));
      ring.push_back(make(1 + pick(5000), "ring"));
      if (static_cast<int>(ring.size()) > depth) {
        free(ring.front());
        ring.pop_front();
      }
    });
    std::vector<Growth> found_leaks = growth();
    std::erase_if(found_leaks, [](const Growth& one) { return one.verdict != GrowthVerdict::leak; });
    ASSERT_EQ(static_cast<int>(found_leaks.size()), leaks) << "seed " << seed;
    for (const Growth& one : found_leaks) ASSERT_EQ(one.bytes_per_repetition, bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace peakmark
