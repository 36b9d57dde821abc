#include "measure/sweep/metric_name.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MetricName, IsAnIdentifier) {
  for (const char* name : {"iterations", "_x", "L2_hits", "a"})
    EXPECT_NO_THROW(check_metric_name(name)) << name;
  for (const char* name : {"", "2d", "pixels/s", "cache hits", "größe", "a-b"}) {
    EXPECT_THAT(
        [&] { check_metric_name(name); },
        ThrowsMessage<UsageError>(HasSubstr("is not the name of a metric: use letters, digits and _")))
        << name;
  }
}

TEST(MetricName, IsNotThatOfAFigureOfPeakmark) {
  for (const char* name :
       {"peak", "time", "setup", "estimate", "verdict", "outcome", "gpu_time_ns", "overhead"}) {
    EXPECT_THAT([&] { check_metric_name(name); },
                ThrowsMessage<UsageError>(HasSubstr("which is a figure of peakmark: choose another name")))
        << name;
  }
}

}  // namespace
}  // namespace peakmark
