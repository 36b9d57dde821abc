#include "measure/worker/estimator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "measure/worker/fake_variants.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using testing_support::fake_variant;
using testing_support::FakeEstimator;

RegisteredEstimator registered(FakeEstimator estimator) {
  return fake_variant("a/b", {}, {std::move(estimator)}).estimators.front();
}

const Parameters kCase({{"n", Size{20}}, {"dtype", std::string("f32")}});

/// The example in httomo's documentation: other dimensions (10, 20), float32, 14,450 bytes, with input and
/// output only, gives 9 slices.
std::vector<FakeEstimator> all_forms() {
  FakeEstimator iterative{"iterative"};
  iterative.bytes = [](Size n) { return checked_multiply(1600, n); };
  FakeEstimator documented{"documented"};
  documented.slices = [](Size available) { return available / 1600; };
  return {FakeEstimator{"module", 0, 1600}, iterative, documented};
}

TEST(Forms, AnswerHttomosExampleWithNine) {
  for (const FakeEstimator& fake : all_forms()) {
    const RegisteredEstimator estimator = registered(fake);
    EXPECT_EQ(estimator.max_slices(kCase, 14'450), 9) << fake.name;
    EXPECT_EQ(estimator.bytes(kCase, 9), 14'400) << fake.name;
    EXPECT_EQ(estimator.form(), fake.name);
    EXPECT_EQ(estimator.name(), fake.name);
  }
}

TEST(Forms, BytesAreTheSmallestMemoryForANumberOfSlices) {
  for (const FakeEstimator& fake : all_forms()) {
    const RegisteredEstimator estimator = registered(fake);
    for (const Size slices : {1, 2, 7, 100, 12'345}) {
      const Size bytes = estimator.bytes(kCase, slices);
      EXPECT_EQ(estimator.max_slices(kCase, bytes), slices) << fake.name;
      EXPECT_EQ(estimator.max_slices(kCase, bytes - 1), slices - 1) << fake.name;
    }
    EXPECT_EQ(estimator.bytes(kCase, 0), 0) << fake.name;
    EXPECT_THROW(static_cast<void>(estimator.bytes(kCase, -1)), UsageError) << fake.name;
  }
}

TEST(Forms, ZeroSlicesFitIntoTooLittleMemory) {
  for (const FakeEstimator& fake : all_forms())
    EXPECT_EQ(registered(fake).max_slices(kCase, 1599), 0) << fake.name;
}

TEST(Forms, FixedBytesAreSubtractedFirst) {
  FakeEstimator fake{"fixed"};
  fake.parts = [](Size) { return std::vector<EstimateTerm>{{"input", 100, 0}, {"plan", 0, 1000}}; };
  const RegisteredEstimator estimator = registered(fake);
  EXPECT_EQ(estimator.max_slices(kCase, 999), 0);
  EXPECT_EQ(estimator.max_slices(kCase, 1299), 2);
  EXPECT_EQ(estimator.bytes(kCase, 3), 1300);
}

TEST(Forms, OnlyPartsAreTerms) {
  FakeEstimator with_parts{"iterative"};
  with_parts.bytes = [](Size n) { return n; };
  with_parts.parts = [](Size n) { return std::vector<EstimateTerm>{{"work", 1, n}}; };
  const std::vector<EstimateTerm> terms = registered(with_parts).terms(kCase);
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms[0].fixed_bytes, 20);
  EXPECT_THAT(registered(all_forms()[2]).terms(kCase), ElementsAre());
}

void expect_refused(const FakeEstimator& fake, const std::string& message) {
  EXPECT_THAT([&] { static_cast<void>(registered(fake).max_slices(kCase, 14'450)); },
              ThrowsMessage<UsageError>(HasSubstr(message)));
}

TEST(Forms, ImpossibleAnswersAreErrors) {
  expect_refused({"zero", 0, 0}, "0 bytes per slice");
  expect_refused({"minus", 0, -1}, "negative size of everything: -1 bytes");
  expect_refused({"negative", -1, 100}, "negative size of everything: -1 bytes");
  FakeEstimator constant{"constant"};
  constant.bytes = [](Size) { return 5; };
  expect_refused(constant, "0 bytes per slice");
  FakeEstimator falling{"falling"};
  falling.bytes = [](Size n) { return 5 - 2 * n; };
  expect_refused(falling, "negative size of a slice: -2 bytes");
  FakeEstimator negative{"negative"};
  negative.slices = [](Size) { return -3; };
  expect_refused(negative, "it answers -3 slices for 14450 bytes of available memory; answer max(0, slices)");
}

TEST(Forms, FewerSlicesForAnyMemoryIsAnError) {
  FakeEstimator fake{"three"};
  fake.slices = [](Size available) { return std::min<Size>(3, available); };
  const RegisteredEstimator three = registered(fake);
  EXPECT_EQ(three.bytes(kCase, 3), 3);
  EXPECT_THAT([&] { static_cast<void>(three.bytes(kCase, 9)); },
              ThrowsMessage<UsageError>(HasSubstr("fewer than 9 slices for any memory")));
}

TEST(Forms, IterativeIsExactUpToTheEndOf64Bits) {
  FakeEstimator fake{"square"};
  fake.bytes = [](Size n) { return checked_multiply(n, n); };
  const RegisteredEstimator square = registered(fake);
  EXPECT_EQ(square.max_slices(kCase, 1'000'000), 1000);
  EXPECT_EQ(square.max_slices(kCase, std::numeric_limits<Size>::max()),
            3'037'000'499);  // floor of the root of 2^63 − 1
}

}  // namespace
}  // namespace peakmark
