#include "ledger/allocation_sequence.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

TEST(PeakBytes, IsTheHighestSumOfWhatIsLive) {
  EXPECT_EQ(peak_bytes({}), 0);
  const AllocationSequence sequence{{"a", "inputs", "", 10, 0, 3},
                                    {"b", "call 1", "", 5, 1, 2},
                                    {"c", "call 2", "", 12, 4, std::nullopt},
                                    {"d", "call 2", "", 4, 5, std::nullopt}};
  EXPECT_EQ(peak_bytes(sequence), 16);
}

}  // namespace
}  // namespace peakmark
