#include "measure/worker/worker_services.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <sstream>

#include "measure/worker/fake_variants.hpp"

namespace peakmark {

namespace {

using testing::HasSubstr;
using testing_support::fake_variant;
using testing_support::FakeErrors;
using testing_support::FakeEstimator;

class EstimateService : public testing::Test {
 protected:
  EstimateService() {
    registry_.add(
        fake_variant("shift/new", {}, {FakeEstimator{"own", 100, 10}, FakeEstimator{"other", 0, 7}}));
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

// The terms are for the same number of slices as the bytes.
TEST_F(EstimateService, TermsAreThoseOfTheSlicesAnswered) {
  FakeEstimator estimator{"chunked"};
  estimator.bytes = [](Size n) { return n + 10 * std::min<Size>(5, n); };
  estimator.parts = [](Size n) {
    return std::vector<EstimateTerm>{{"work", 0, 10 * std::min<Size>(5, n)}, {"input", 1, 0}};
  };
  registry_.add(fake_variant("shift/chunked", {}, {estimator}));
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
  FakeErrors errors;
  errors.check = [](Size n) { checked_add(n, 512); };
  registry_.add(fake_variant("shift/wide", {}, {FakeEstimator{"own", 0, 1}}, errors));
  EXPECT_THAT(ask(R"({"variant": "shift/wide", "parameters": {"n": 9223372036854775807}})"),
              HasSubstr("9223372036854775807 + 512 does not fit 64 bits; the largest axis is n = 92"));
}

TEST_F(EstimateService, AnExceptionOfAnEstimatorNamesTheEstimator) {
  registry_.add(fake_variant("shift/broken", {}, {FakeEstimator{"own", 0, 0}}));
  EXPECT_THAT(ask(R"({"variant": "shift/broken", "available_bytes": 159})"),
              HasSubstr(R"("error":"the estimator 'own' failed: )"));
}

TEST_F(EstimateService, AnswersLineByLine) {
  std::istringstream questions("{\"variant\": \"shift/new\"}\n\nnonsense\n");
  std::vector<std::string> answers;
  serve_estimates(registry_, questions, [&](const std::string& line) { answers.push_back(line); });
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_THAT(answers[1], HasSubstr("parse error"));
}

std::string answers_to(const std::string& names) {
  Registry registry;
  FakeErrors errors;
  errors.make = [](Size n) {
    if (n == 1) throw OutOfMemoryError("not here");
    if (n == 2) throw UnsupportedError("not so");
    if (n == 3) throw std::bad_alloc();
    if (n == 5) throw UsageError("five is wrong");
    checked_multiply(n, 4);
  };
  registry.add(fake_variant("a/b", {}, {}, errors));
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

FakeEstimator two_overflow() {
  FakeEstimator estimator{"a/b"};
  estimator.bytes = [](Size n) {
    if (n == 5) throw UsageError("five are not estimated");
    return checked_multiply(n, Size{1} << 62);
  };
  return estimator;
}

TEST(CaseCheck, SoIsATotalThatDoesNotFitThoughEachArrayDoes) {
  Registry registry;
  registry.add(fake_variant("a/b", {}, {two_overflow()}));
  std::istringstream in("a/b/dry/n:1\na/b/dry/n:2\na/b/dry/n:5\n");
  std::ostringstream out;
  serve_checks(registry, in, out);
  EXPECT_EQ(out.str(),
            "{\"case\":\"a/b/dry/n:1\",\"error\":null}\n"
            "{\"case\":\"a/b/dry/n:2\",\"error\":\"2 * 4611686018427387904 does not fit 64 bits; "
            "the largest axis is n = 2\"}\n"
            "{\"case\":\"a/b/dry/n:5\",\"error\":null}\n");
}

// The estimator might end this process or never answer. That should happen only when its own case runs.
TEST(CaseCheck, AnEstimatorOfAProgramIsNotAsked) {
  RegisteredVariant variant = fake_variant("a/b", {}, {two_overflow()});
  variant.is_own_operation = false;
  Registry registry;
  registry.add(std::move(variant));
  std::istringstream in("a/b/dry/n:2\n");
  std::ostringstream out;
  serve_checks(registry, in, out);
  EXPECT_EQ(out.str(), "{\"case\":\"a/b/dry/n:2\",\"error\":null}\n");
}

TEST(CaseCheck, BytesAreEstimatedWhereTheEstimatorIsOurOwnAndAnswers) {
  RegisteredVariant variant = fake_variant("a/b", {}, {two_overflow()});
  const auto estimated = [&](Size n) {
    return estimated_bytes(variant, Parameters({{"n", n}, {"dtype", std::string("f32")}}));
  };
  EXPECT_EQ(estimated(1), Size{1} << 62);
  EXPECT_EQ(estimated(5), std::nullopt);
  EXPECT_THROW(estimated(2), OverflowError);
  variant.is_own_operation = false;
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
            "{\"case\":\"a/b/dry/n:5\",\"error\":\"variant a/b: what makes its cases (a constructor, or the "
            "function given to Worker::add) threw: five is wrong (report invalid cases in the variant's "
            "`mistake`)\","
            "\"of_worker\":true}\n");
}

TEST(CaseCheck, ANameThatIsNoCaseIsAMistake) {
  EXPECT_THAT(answers_to("a/c/dry\n"), testing::HasSubstr("a/b"));
}

}  // namespace

}  // namespace peakmark
