#include "worker/worker_services.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
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

// Terms are for the same number of slices as the bytes.
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

TEST_F(EstimateService, AnExceptionOfAnEstimatorNamesTheEstimator) {
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

std::string answers_to(const std::string& names) {
  Registry registry;
  Variant variant = testing_support::fake_variant("a/b", {});
  variant.make = [](Device&, const Parameters& parameters) -> std::unique_ptr<Computation> {
    const Size n = parameters.integer("n");
    if (n == 1) throw OutOfMemory("not here");
    if (n == 2) throw Unsupported("not so");
    if (n == 3) throw std::bad_alloc();
    if (n == 5) throw WorkerMistake("variant a/b is wrong");
    checked_multiply(n, 4);
    return nullptr;
  };
  registry.add(std::move(variant));
  std::istringstream in(names);
  std::ostringstream out;
  serve_checks(registry, in, out);
  return out.str();
}

TEST(CaseCheck, ASizeThatDoesNotFitIsAMistake) {
  EXPECT_EQ(answers_to("a/b/dry/n:4\na/b/auto/n:4611686018427387904\n"),
            "{\"case\":\"a/b/dry/n:4\",\"error\":null}\n"
            "{\"case\":\"a/b/auto/n:4611686018427387904\","
            "\"error\":\"4611686018427387904 * 4 does not fit 64 bits; "
            "the largest axis is n = 4611686018427387904\"}\n");
}

class OneOverflows final : public Estimator {
 public:
  [[nodiscard]] std::string_view name() const override { return "a/b"; }
  [[nodiscard]] std::string_view form() const override { return "direct"; }
  [[nodiscard]] EstimateAnswer max_slices(const EstimateRequest& request) const override {
    return {0, request.dtype};
  }
  [[nodiscard]] Size bytes(const EstimateRequest&, Size slices) const override {
    if (slices == 5) throw UsageError("five are not estimated");
    return checked_multiply(slices, Size{1} << 62);
  }
};

TEST(CaseCheck, SoIsATotalThatDoesNotFitThoughEachArrayDoes) {
  Registry registry;
  registry.add(testing_support::fake_variant("a/b", {}, {std::make_shared<OneOverflows>()}));
  std::istringstream in("a/b/dry/n:1\na/b/dry/n:2\na/b/dry/n:5\n");
  std::ostringstream out;
  serve_checks(registry, in, out);
  EXPECT_EQ(out.str(),
            "{\"case\":\"a/b/dry/n:1\",\"error\":null}\n"
            "{\"case\":\"a/b/dry/n:2\",\"error\":\"2 * 4611686018427387904 does not fit 64 bits; "
            "the largest axis is n = 2\"}\n"
            "{\"case\":\"a/b/dry/n:5\",\"error\":null}\n");
}

// It might end this process, or never answer; then it is its case that shall end.
TEST(CaseCheck, AnEstimatorOfAProgramIsNotAsked) {
  Variant variant = testing_support::fake_variant("a/b", {}, {std::make_shared<OneOverflows>()});
  variant.is_of_a_program = true;
  Registry registry;
  registry.add(std::move(variant));
  std::istringstream in("a/b/dry/n:2\n");
  std::ostringstream out;
  serve_checks(registry, in, out);
  EXPECT_EQ(out.str(), "{\"case\":\"a/b/dry/n:2\",\"error\":null}\n");
}

TEST(CaseCheck, BytesAreEstimatedWhereTheEstimatorIsOurOwnAndAnswers) {
  Variant variant = testing_support::fake_variant("a/b", {}, {std::make_shared<OneOverflows>()});
  const auto estimated = [&](Size n) {
    return estimated_bytes(variant, Parameters({{"n", n}, {"dtype", std::string("f32")}}));
  };
  EXPECT_EQ(estimated(1), Size{1} << 62);
  EXPECT_EQ(estimated(5), std::nullopt);
  EXPECT_THROW(estimated(2), OverflowError);
  variant.is_of_a_program = true;
  EXPECT_EQ(estimated(1), std::nullopt);
}

TEST(CaseCheck, WhatADeviceCannotDoIsNone) {
  EXPECT_EQ(answers_to("a/b/dry/n:1\na/b/dry/n:2\na/b/dry/n:3\n"),
            "{\"case\":\"a/b/dry/n:1\",\"error\":null}\n"
            "{\"case\":\"a/b/dry/n:2\",\"error\":null}\n"
            "{\"case\":\"a/b/dry/n:3\",\"error\":null}\n");
}

TEST(CaseCheck, AnErrorOfTheWorkerIsReportedAsSuch) {
  EXPECT_EQ(answers_to("a/b/dry/n:5\n"),
            "{\"case\":\"a/b/dry/n:5\",\"error\":\"variant a/b is wrong\",\"of_worker\":true}\n");
}

TEST(CaseCheck, ANameThatIsNoCaseIsAMistake) {
  EXPECT_THAT(answers_to("a/c/dry\n"), testing::HasSubstr("a/b"));
}

}  // namespace

}  // namespace peakmark
