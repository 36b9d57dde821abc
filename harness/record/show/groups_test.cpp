#include "record/show/groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/show/profile_reports.hpp"
#include "record/show/sample_process.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines(const std::vector<PhaseSummary>& phases) {
  std::vector<std::string> lines;
  for (const PhaseGroup& group : group_phases(phases)) {
    lines.push_back(group.name + " " + std::to_string(group.times) + " " + std::to_string(group.peak_bytes) +
                    " " + std::to_string(group.live_at_end_bytes) + " " + std::to_string(group.allocations) +
                    " " + std::to_string(group.failed_allocations));
  }
  return lines;
}

TEST(PhaseGroups, AreThePhasesOfOneName) {
  EXPECT_THAT(lines({{"", 0, 0, 0, 0, 0},
                     {"load", 0, 10, 30, 2, 0},
                     {"call", 10, 10, 20, 1, 1},
                     {"load", 10, 5, 25, 4, 0},
                     {"", 5, 5, 5, 0, 0}}),
              ElementsAre("load 2 30 5 6 0", "call 1 20 10 1 1", " 1 5 5 0 0"));
  EXPECT_THAT(lines({{"", 0, 7, 9, 1, 0}}), ElementsAre(" 1 9 7 1 0"));
}

TEST(PhaseGroups, TheTableHasALineAName) {
  SampleProcess process(1);
  for (std::int64_t i = 0; i < 5; ++i) {
    process.say(EventType::phase, 100 * i, 0, "step")
        .allocate(100 * i + 1, 16, 1000 * (i + 1))
        .release(100 * i + 2, 16);
    process.say(EventType::phase, 100 * i + 3, 0, "");
  }
  const std::string table = profile_table({{process.process()}});
  EXPECT_THAT(table, HasSubstr("step       5  4.883 KiB"));
}

TEST(PhaseGroups, TheTableBeginsWithTheLargestPeak) {
  SampleProcess process(1);
  process.say(EventType::phase, 1, 0, "load").allocate(2, 16, 10);
  process.say(EventType::phase, 3, 0, "call").allocate(4, 32, 1000).release(5, 32);
  process.say(EventType::phase, 6, 0, "save").allocate(7, 48, 100);
  const std::string table = profile_table({{process.process()}});
  EXPECT_LT(table.find("\n  call "), table.find("\n  save "));
  EXPECT_LT(table.find("\n  save "), table.find("\n  load "));
}

}  // namespace
}  // namespace peakmark
