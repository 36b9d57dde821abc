#include "measure/estimate/estimator.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

/// The example in httomo's documentation: other dimensions (10, 20), float32, 14,450 bytes, with input and
/// output only, gives 9 slices.
EstimateRequest example() {
  return {0, {10, 20}, DType::f32, 14'450, {}};
}

std::vector<EstimateTerm> input_and_output(const EstimateRequest& request) {
  const Size slice = request.other_dimensions[0] * request.other_dimensions[1] * size_of(request.dtype);
  return {{"input", slice, 0}, {"output", slice, 0}};
}

std::vector<std::shared_ptr<const FormulaEstimator>> all_forms() {
  return {make_direct_estimator({"direct", 0, {}}, 2),
          make_module_estimator({"module", 0, {}}, input_and_output),
          make_iterative_estimator({"iterative", 0, {}},
                                   [](const EstimateRequest& request, Size slices) {
                                     return checked_multiply(1600, slices) *
                                            (request.dtype == DType::f32 ? 1 : 2);
                                   }),
          make_documented_estimator("documented", 0, [](const EstimateRequest& request) {
            return SlicesAnswer{request.available_bytes / 1600, request.dtype};
          })};
}

TEST(Forms, AnswerHttomosExampleWithNine) {
  for (const auto& estimator : all_forms()) {
    const SlicesAnswer answer = estimator->max_slices(example());
    EXPECT_EQ(answer.slices, 9) << estimator->name();
    EXPECT_EQ(answer.dtype, DType::f32);
    EXPECT_EQ(estimator->bytes(example(), 9), 14'400) << estimator->name();
    EXPECT_EQ(estimator->form(), estimator->name());
  }
}

TEST(Forms, BytesAreTheLeastMemoryForSoManySlices) {
  for (const auto& estimator : all_forms()) {
    for (const Size slices : {1, 2, 7, 100, 12'345}) {
      EstimateRequest request = example();
      request.available_bytes = estimator->bytes(request, slices);
      EXPECT_EQ(estimator->max_slices(request).slices, slices) << estimator->name();
      --request.available_bytes;
      EXPECT_EQ(estimator->max_slices(request).slices, slices - 1) << estimator->name();
    }
  }
}

TEST(Forms, NothingFitsIsZero) {
  for (const auto& estimator : all_forms()) {
    EstimateRequest request = example();
    request.available_bytes = 1599;
    EXPECT_EQ(estimator->max_slices(request).slices, 0) << estimator->name();
  }
}

TEST(Forms, RefuseAnotherSliceDimension) {
  EstimateRequest request = example();
  request.slice_dimension = 1;
  for (const auto& estimator : all_forms()) {
    EXPECT_THROW(static_cast<void>(estimator->max_slices(request)), UsageError) << estimator->name();
    EXPECT_THROW(static_cast<void>(estimator->bytes(request, 1)), UsageError) << estimator->name();
  }
}

TEST(Forms, FixedBytesComeOffFirst) {
  const auto estimator = make_module_estimator({"fixed", 0, {}}, [](const EstimateRequest&) {
    return std::vector<EstimateTerm>{{"input", 100, 0}, {"plan", 0, 1000}};
  });
  EstimateRequest request = example();
  request.available_bytes = 999;
  EXPECT_EQ(estimator->max_slices(request).slices, 0);
  request.available_bytes = 1299;
  EXPECT_EQ(estimator->max_slices(request).slices, 2);
  EXPECT_EQ(estimator->bytes(request, 3), 1300);
}

TEST(Forms, TheOutputMayHaveAnotherDtype) {
  const auto widen = [](DType) { return DType::f64; };
  EXPECT_EQ(make_direct_estimator({"widening", 0, widen}, 3)->max_slices(example()).dtype, DType::f64);
}

TEST(Forms, ANumberThatIsNoNeedIsAnError) {
  EXPECT_THROW(static_cast<void>(make_direct_estimator({"zero", 0, {}}, 0)->max_slices(example())),
               UsageError);
  EXPECT_THROW(static_cast<void>(make_direct_estimator({"minus", 0, {}}, -1)->max_slices(example())),
               UsageError);
  EXPECT_THROW(static_cast<void>(make_direct_estimator({"huge", 0, {}}, 1e300)->max_slices(example())),
               OverflowError);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(static_cast<void>(make_direct_estimator({"nan", 0, {}}, nan)->max_slices(example())),
               OverflowError);
  const auto negative = make_module_estimator({"negative", 0, {}}, [](const EstimateRequest&) {
    return std::vector<EstimateTerm>{{"input", 100, -1}};
  });
  EXPECT_THROW(static_cast<void>(negative->max_slices(example())), UsageError);
  const auto constant =
      make_iterative_estimator({"constant", 0, {}}, [](const EstimateRequest&, Size) { return 5; });
  EXPECT_THROW(static_cast<void>(constant->max_slices(example())), UsageError);
}

TEST(Forms, IterativeIsExactUpToTheEndOf64Bits) {
  const auto square = make_iterative_estimator({"square", 0, {}}, [](const EstimateRequest&, Size slices) {
    return checked_multiply(slices, slices);
  });
  EstimateRequest request = example();
  request.available_bytes = 1'000'000;
  EXPECT_EQ(square->max_slices(request).slices, 1000);
  request.available_bytes = std::numeric_limits<Size>::max();
  EXPECT_EQ(square->max_slices(request).slices, 3'037'000'499);  // floor of the root of 2^63 − 1
}

}  // namespace
}  // namespace peakmark
