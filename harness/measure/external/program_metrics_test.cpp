#include "measure/external/program_metrics.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

class ProgramMetrics : public testing::Test {
 protected:
  Observation read(const std::string& text) {
    const auto file = folder_.path() / "metrics";
    std::ofstream(file) << text;
    Observation observation;
    observation.metrics = {{"earlier", 1}};
    read_metrics(file, observation);
    return observation;
  }

  TemporaryFolder folder_;
};

TEST_F(ProgramMetrics, HaveALineEach) {
  const Observation observation = read("iterations 12\n\n  rate\t1.5e3 higher\nerror 2e-7 lower");
  EXPECT_THAT(observation.metrics,
              ElementsAre(Pair("error", 2e-7), Pair("iterations", 12), Pair("rate", 1500)));
  EXPECT_THAT(observation.metric_directions, ElementsAre(Pair("error", "lower"), Pair("rate", "higher")));
}

TEST_F(ProgramMetrics, MayBeMissing) {
  EXPECT_THAT(read("").metrics, ElementsAre(Pair("earlier", 1)));
  Observation observation;
  read_metrics(folder_.path() / "none", observation);
  EXPECT_THAT(observation.metrics, IsEmpty());
}

TEST_F(ProgramMetrics, AreRefusedWithTheirLine) {
  const struct {
    std::string text;
    std::string message;
  } wrong[] = {{"a 1\nb fast", "$PEAKMARK_METRICS, line 2: metric 'b' is 'fast': report a number"},
               {"a", "line 1: 'a' is not a metric: write NAME VALUE, and higher or lower if it is better"},
               {"a 1 up", "line 1: 'a 1 up' is not a metric"},
               {"a 1 lower 2", "line 1: 'a 1 lower 2' is not a metric"},
               {"a nan", "line 1: metric 'a' is nan: report a finite number"},
               {"a -inf", "line 1: metric 'a' is -inf: report a finite number"},
               {"a 1\na 2", "line 2: metric 'a' is reported twice"},
               {"peak 3", "line 1: a metric cannot be called 'peak'"},
               {"a/b 3", "line 1: 'a/b' is not the name of a metric"}};
  for (const auto& one : wrong) {
    EXPECT_THAT([&] { read(one.text); }, ThrowsMessage<UsageError>(HasSubstr(one.message)));
  }
}

}  // namespace
}  // namespace peakmark
