#include "statistics/centre.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>
#include <vector>

namespace peakmark {
namespace {

TEST(Centre, AgreesWithScipy) {
  struct Vector {
    std::vector<double> values;
    double median;
  };
  static const Vector vectors[] = {
#define CENTRE_VECTORS
#include "scipy_vectors.inc"
#undef CENTRE_VECTORS
  };
  for (const Vector& vector : vectors) {
    EXPECT_DOUBLE_EQ(median(vector.values), vector.median);
  }
}

TEST(Centre, RefusesWhatHasNoOrder) {
  EXPECT_THROW(median(std::vector<double>{}), std::invalid_argument);
  EXPECT_THROW(median(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
  EXPECT_THROW(median(std::vector<double>{std::numeric_limits<double>::infinity()}), std::invalid_argument);
}

}  // namespace
}  // namespace peakmark
