#include "statistics/false_discovery.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <stdexcept>

namespace peakmark {
namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::Pointwise;

TEST(FalseDiscovery, AgreesWithScipy) {
  struct Vector {
    std::vector<double> p;
    std::vector<double> adjusted;
  };
  static const Vector vectors[] = {
#define FALSE_DISCOVERY_VECTORS
#include "scipy_vectors.inc"
#undef FALSE_DISCOVERY_VECTORS
  };
  for (const Vector& vector : vectors) {
    EXPECT_THAT(adjust_false_discovery(vector.p), Pointwise(DoubleNear(1e-12), vector.adjusted));
  }
  EXPECT_THAT(adjust_false_discovery({}), IsEmpty());
}

TEST(FalseDiscovery, RefusesWhatIsNoProbability) {
  EXPECT_THROW(adjust_false_discovery(std::vector<double>{0.1, 1.5}), std::invalid_argument);
  EXPECT_THROW(adjust_false_discovery(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace peakmark
