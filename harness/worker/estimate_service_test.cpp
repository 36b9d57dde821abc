#include "worker/estimate_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "estimate/estimator.hpp"
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

// Terms are asked of as many slices as the bytes are told of.
TEST_F(EstimateService, TermsAreThoseOfTheSlicesAnswered) {
  const auto terms = [](const EstimateRequest& request) {
    const Size together = std::min<Size>(5, request.parameters.integer("n"));
    return std::vector<Term>{{"work", 0, 10 * together}, {"input", 1, 0}};
  };
  registry_.add(fake_variant(
      "shift/chunked", {},
      {make_iterative_estimator(
          {"chunked", 0, {}},
          [](const EstimateRequest&, Size slices) { return slices + 10 * std::min<Size>(5, slices); },
          terms)}));
  EXPECT_EQ(ask(R"({"variant": "shift/chunked", "available_bytes": 33})"),
            R"({"slices":3,"bytes":33,"dtype":"f32","terms":[{"name":"work","per_slice_bytes":0,)"
            R"("fixed_bytes":30},{"name":"input","per_slice_bytes":1,"fixed_bytes":0}],"error":null})");
  EXPECT_THAT(ask(R"({"variant": "shift/chunked", "slices": 20})"), HasSubstr(R"("fixed_bytes":50)"));
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

TEST_F(EstimateService, BytesThatDoNotFitNameAnAxis) {
  Variant variant = fake_variant("shift/wide", {}, {std::make_shared<FakeEstimator>("own", 0, 1)});
  variant.request = [](const Parameters& parameters) {
    checked_add(parameters.integer("n"), 512);
    return EstimateRequest{};
  };
  registry_.add(std::move(variant));
  EXPECT_THAT(ask(R"({"variant": "shift/wide", "parameters": {"n": 9223372036854775807}})"),
              HasSubstr("9223372036854775807 + 512 does not fit 64 bits; the largest axis is n = 92"));
}

TEST_F(EstimateService, WhatAnEstimatorThrowsIsToldToBeItsOwn) {
  registry_.add(fake_variant("shift/broken", {}, {std::make_shared<FakeEstimator>("own", 0, 0)}));
  EXPECT_THAT(ask(R"({"variant": "shift/broken", "available_bytes": 159})"),
              HasSubstr(R"("error":"the estimator 'own' failed: )"));
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
