#include "base/quantile.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

// numpy.quantile([15, 20, 35, 40, 50], q): q = 0.4 gives 29.0, q = 0.25 gives 20.0, q = 0.9 gives 46.0.
TEST(Quantile, InterpolatesAsNumpyDoes) {
  const std::vector<double> values = {50, 15, 40, 20, 35};
  EXPECT_DOUBLE_EQ(quantile(values, 0.4), 29.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 20.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 46.0);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.5), 7.0);
}

}  // namespace
}  // namespace peakmark
