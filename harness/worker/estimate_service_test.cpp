#include "worker/estimate_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "worker/fake_variants.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing_support::fake_variant;
using testing_support::FakeEstimator;

class EstimateService : public testing::Test {
 protected:
  EstimateService() {
    registry_.add(fake_variant(
        "shift/new", {},
        {std::make_shared<FakeEstimator>("own", 100, 10), std::make_shared<FakeEstimator>("other", 0, 7)}));
  }
  std::string ask(std::string_view question) { return answer_estimate(registry_, question); }

  Registry registry_;
};

TEST_F(EstimateService, SlicesForABudget) {
  EXPECT_EQ(ask(R"({"variant": "shift/new", "available_bytes": 159})"),
            R"({"slices":5,"bytes":150,"dtype":"f32","terms":[{"name":"everything","per_slice_bytes":10,)"
            R"("fixed_bytes":100}],"error":null})");
}

TEST_F(EstimateService, BytesForSlices) {
  EXPECT_EQ(ask(R"({"variant": "shift/new", "parameters": {"dtype": "f64"}, "slices": 3})"),
            R"({"slices":3,"bytes":130,"dtype":"f64","terms":[{"name":"everything","per_slice_bytes":10,)"
            R"("fixed_bytes":100}],"error":null})");
}

TEST_F(EstimateService, BytesForTheCaseItself) {
  EXPECT_THAT(ask(R"({"variant": "shift/new"})"), HasSubstr(R"("slices":20,"bytes":300)"));
  EXPECT_THAT(ask(R"({"variant": "shift/new", "parameters": {"n": 2}})"), HasSubstr(R"("bytes":120)"));
}

TEST_F(EstimateService, AnotherEstimator) {
  EXPECT_THAT(ask(R"({"variant": "shift/new", "estimator": "other", "slices": 2})"),
              HasSubstr(R"("bytes":14)"));
}

TEST_F(EstimateService, MistakesAreAnsweredWithTheirReason) {
  EXPECT_THAT(ask("nonsense"), HasSubstr("parse error"));
  EXPECT_THAT(ask(R"({"variant": "shift/nev"})"), HasSubstr("did you mean 'shift/new'"));
  EXPECT_THAT(ask(R"({"variant": "shift/new", "parameters": {"m": 2}})"), HasSubstr("no axis 'm'"));
  EXPECT_THAT(ask(R"({"variant": "shift/new", "parameters": {"dtype": "f33"}})"), HasSubstr("did you mean"));
  EXPECT_THAT(ask(R"({"variant": "shift/new", "estimator": "ovn"})"), HasSubstr("did you mean 'own'"));
  EXPECT_THAT(ask(R"({"variant": "shift/new", "slice": 2})"), HasSubstr("unknown key 'slice'"));
  EXPECT_THAT(ask(R"({"variant": "shift/new", "slices": 2.5})"), HasSubstr("an integer"));
}

TEST_F(EstimateService, AnswersLineByLine) {
  std::istringstream questions("{\"variant\": \"shift/new\"}\n\nnonsense\n");
  std::ostringstream answers;
  serve_estimates(registry_, questions, answers);
  std::istringstream lines(answers.str());
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) ++count;
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace peakmark
