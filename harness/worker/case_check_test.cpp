#include "worker/case_check.hpp"

#include <gmock/gmock.h>

#include <new>
#include <sstream>

#include "worker/fake_variants.hpp"

namespace peakmark {
namespace {

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

TEST(CaseCheck, AMistakeOfTheWorkerIsToldToBeOne) {
  EXPECT_EQ(answers_to("a/b/dry/n:5\n"),
            "{\"case\":\"a/b/dry/n:5\",\"error\":\"variant a/b is wrong\",\"of_worker\":true}\n");
}

TEST(CaseCheck, ANameThatIsNoCaseIsAMistake) {
  EXPECT_THAT(answers_to("a/c/dry\n"), testing::HasSubstr("a/b"));
}

}  // namespace
}  // namespace peakmark
