#include "kernels/padding/estimators.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "kernels/padding/problem.hpp"

namespace peakmark {
namespace {

EstimateRequest request(const std::string& mode, Size ny, Size nx, std::array<Size, 4> pads,
                        DType dtype = DType::f32) {
  EstimateRequest result;
  result.other_dimensions = {ny, nx};
  result.dtype = dtype;
  result.parameters = Parameters(
      {{"mode", mode}, {"pad_y0", pads[0]}, {"pad_y1", pads[1]}, {"pad_x0", pads[2]}, {"pad_x1", pads[3]}});
  return result;
}

// nabu, recorded through pyopencl on PoCL: one image of 4096² f32 padded by 2048 a side.
TEST(PaddingEstimators, GiveThePeaksRecordedOfNabu) {
  const EstimateRequest edge = request("edge", 4096, 4096, {2048, 2048, 2048, 2048});
  EXPECT_EQ(coords2d_estimator()->bytes(edge, 1), 872'415'232);
  EXPECT_EQ(coords1d_estimator()->bytes(edge, 1), 335'609'856);
  const EstimateRequest constant = request("constant", 4096, 4096, {2048, 2048, 2048, 2048});
  const Size image = Size{4096} * 4096 * 4;
  const Size padded = Size{8192} * 8192 * 4;
  EXPECT_EQ(coords2d_estimator()->bytes(constant, 1), image + 2 * padded);
  EXPECT_EQ(coords1d_estimator()->bytes(constant, 1), image + 2 * padded);
}

TEST(PaddingEstimators, ComputedNeedsInputAndOutputOnly) {
  for (const std::string& mode : padding_mode_names()) {
    const Size vectors = mode == "custom" ? Size{4} * ((1 + 5 + 2) + (3 + 7 + 4)) : 0;
    EXPECT_EQ(computed_estimator()->bytes(request(mode, 5, 7, {1, 2, 3, 4}, DType::u16), 11),
              Size{11} * 2 * (5 * 7 + (1 + 5 + 2) * (3 + 7 + 4)) + vectors)
        << mode;
  }
}

TEST(PaddingEstimators, CoordinatesAreFixedAndDoNotGrowWithTheElement) {
  const EstimateRequest doubles = request("wrap", 5, 7, {1, 2, 3, 4}, DType::f64);
  const Size slice = Size{8} * (5 * 7 + 8 * 14);
  EXPECT_EQ(coords2d_estimator()->bytes(doubles, 3), 3 * slice + Size{2} * 4 * 8 * 14);
  EXPECT_EQ(coords1d_estimator()->bytes(doubles, 3), 3 * slice + Size{4} * (8 + 14));
}

TEST(PaddingEstimators, AnswerTheSlicesThatFit) {
  EstimateRequest edge = request("edge", 10, 20, {1, 1, 1, 1});
  const Size slice = Size{4} * (10 * 20 + 12 * 22);
  const Size fixed = Size{4} * (12 + 22);
  edge.available_bytes = 9 * slice + fixed;
  EXPECT_EQ(coords1d_estimator()->max_slices(edge).slices, 9);
  EXPECT_EQ(coords1d_estimator()->max_slices(edge).dtype, DType::f32);
  edge.available_bytes -= 1;
  EXPECT_EQ(coords1d_estimator()->max_slices(edge).slices, 8);
  edge.slice_dimension = 1;
  EXPECT_THROW(static_cast<void>(coords1d_estimator()->max_slices(edge)), UsageError);
}

}  // namespace
}  // namespace peakmark
