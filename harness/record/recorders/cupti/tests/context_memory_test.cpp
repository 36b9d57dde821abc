// context_memory.cpp on the fake driver: the recorder must agree with the driver's free memory.
#include <nlohmann/json.hpp>

#include "record/recorders/cupti/tests/recorded_program_testing.hpp"

namespace peakmark {
namespace {

constexpr std::int64_t kUnit = 1 << 30;  // the fake devices have 4 GiB

class ContextMemory : public Fakes {
 protected:
  void expect(const std::string& scenario, std::int64_t peak, std::int64_t live) const {
    const Result result = run(PEAKMARK_CONTEXT_MEMORY " " + scenario + " " + std::to_string(kUnit));
    ASSERT_EQ(result.code, 0) << result.err;
    const nlohmann::json known = nlohmann::json::parse(result.out);
    EXPECT_EQ(known["peak_bytes"], peak) << result.err;
    EXPECT_EQ(known["live_at_end_bytes"], live) << result.err;
    const LedgerSummary summary = recorded(profile());
    EXPECT_EQ(summary.peak_bytes, peak);
    EXPECT_EQ(summary.live_at_end_bytes, live);
  }
};

TEST_F(ContextMemory, OfAPoolOutlivesTheContextThatAskedForIt) {
  expect("pool", kUnit + 1'000'000, kUnit + 1'000'000);
}

TEST_F(ContextMemory, OfThePrimaryContextEndsWithItsLastRelease) {
  expect("primary-release", kUnit, 1'000'000);
}

TEST_F(ContextMemory, OfOtherContextsOutlivesAResetOfThePrimaryOne) {
  expect("primary-reset", 3 * kUnit, 2 * kUnit + 1'000'000);
}

TEST_F(ContextMemory, IsKeptByAMappingOfAReleasedHandle) {
  const Result result = run(PEAKMARK_CONTEXT_MEMORY " handle");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::int64_t peak = nlohmann::json::parse(result.out)["peak_bytes"];
  EXPECT_GT(peak, 0);
  EXPECT_EQ(recorded(profile()).peak_bytes, peak);
  EXPECT_EQ(recorded(profile()).live_at_end_bytes, 0);
}

}  // namespace
}  // namespace peakmark
