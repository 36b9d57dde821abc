#include "analyse/explain/search/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

// The axes of a stack of projections, as the suites have them.
constexpr std::array<const char*, 6> kAxisNames{"n_a", "w", "n_z", "pad", "ny", "nx"};
constexpr std::size_t kAxes = kAxisNames.size();
constexpr std::size_t kShapes = 110;
constexpr std::size_t kHeldOut = 28;
using AxisValues = std::array<Size, kAxes>;
enum : std::size_t { n_a, w, n_z, pad, ny, nx };

// First one axis varies at a time, then pairs of axes, then any axes.
std::vector<AxisValues> fitted_shapes() {
  const AxisValues base{37, 101, 5, 7, 61, 83};
  std::vector<AxisValues> shapes{base};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    for (const Size step : {3, 11, 24, 29, 64, 100}) {
      shapes.push_back(base);
      shapes.back()[axis] += step;
    }
  }
  for (std::size_t a = 0; a < kAxes; ++a) {
    for (std::size_t b = a + 1; b < kAxes; ++b) {
      shapes.push_back(base);
      shapes.back()[a] += 13;
      shapes.back()[b] += 22;
    }
  }
  std::mt19937_64 random(5);
  while (shapes.size() < kShapes) {
    AxisValues shape{};
    for (Size& value : shape) value = 3 + static_cast<Size>(random() % 200);
    shapes.push_back(shape);
  }
  return shapes;
}

Shapes fitted_axes(const std::vector<AxisValues>& shapes) {
  Shapes result;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    result.axes.push_back({kAxisNames[axis], {}});
    for (const AxisValues& shape : shapes) result.axes.back().values.push_back(shape[axis]);
  }
  return result;
}

// Every second one of the last shapes is held out: the others show how more than two axes act together.
std::vector<std::size_t> held_out() {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < kHeldOut; ++i) indices.push_back(kShapes - 1 - 2 * i);
  return indices;
}

// Shapes that are not fitted (10,000 without a sanitizer), up to the size of a full detector.
const std::vector<AxisValues>& shapes_of_full_size() {
  static const std::vector<AxisValues> shapes = [] {
    std::mt19937_64 random(11);
    std::vector<AxisValues> drawn(PEAKMARK_UNSEEN_SHAPES);
    for (AxisValues& shape : drawn) {
      for (Size& value : shape) value = 1 + static_cast<Size>(random() % 5000);
    }
    return drawn;
  }();
  return shapes;
}

class FitterTest : public testing::Test {
 protected:
  using Bytes = std::function<Size(const AxisValues&)>;

  std::optional<Fit> fit(const Bytes& bytes) {
    std::vector<Size> sizes;
    for (const AxisValues& shape : shapes_) sizes.push_back(bytes(shape));
    return fitter_.fit(sizes);
  }

  // The formula gives the same as `bytes` at shapes that were not fitted.
  void expect_found(const Bytes& bytes) {
    const auto found = fit(bytes);
    ASSERT_TRUE(found);
    static const Shapes unseen_axes = fitted_axes(shapes_of_full_size());
    const auto values = evaluate(found->formula, unseen_axes);
    ASSERT_TRUE(values);
    for (std::size_t i = 0; i < values->size(); ++i) {
      ASSERT_EQ((*values)[i], bytes(shapes_of_full_size()[i]))
          << to_text(found->formula) << " at " << testing::PrintToString(shapes_of_full_size()[i]);
    }
  }

  const std::vector<AxisValues> shapes_ = fitted_shapes();
  Fitter fitter_{fitted_axes(shapes_), held_out()};
};

// Independent functions for rounded lengths: they search, and do not use the functions under test.
Size power_from(Size least) {
  Size power = 1;
  while (power < least) power *= 2;
  return power;
}
// The table is indexed by length. Each length is tested by division once.
const std::vector<Size>& smooth_lengths(Size largest_prime) {
  constexpr Size kMaxLength = 1 << 15;
  static std::map<Size, std::vector<Size>> tables;
  std::vector<Size>& table = tables[largest_prime];
  if (!table.empty()) return table;
  table.resize(kMaxLength + 1);
  Size next = 0;
  for (Size length = kMaxLength; length > 0; --length) {
    Size rest = length;
    for (Size prime = 2; prime <= largest_prime; ++prime) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) next = length;
    table[static_cast<std::size_t>(length)] = next;
  }
  return table;
}
Size smooth_from(Size length, Size largest_prime) {
  return smooth_lengths(largest_prime).at(static_cast<std::size_t>(length));
}
Size blocks(Size a, Size b) {
  return a / b + (a % b == 0 ? 0 : 1);
}

TEST_F(FitterTest, FindsImagesAndPaddedImages) {
  expect_found([](const AxisValues&) { return Size{4096}; });
  expect_found([](const AxisValues& s) { return 4 * s[ny] * s[nx]; });
  expect_found([](const AxisValues& s) { return 4 * s[n_z] * s[ny] * s[nx]; });
  expect_found([](const AxisValues& s) { return 4 * (s[ny] + 2 * s[pad]) * (s[nx] + 2 * s[pad]); });
  expect_found([](const AxisValues& s) { return 4 * (s[ny] + s[pad] + s[n_z]) * (s[nx] + 2 * s[pad]); });
  expect_found([](const AxisValues& s) { return 4 * (s[ny] + 2 * s[pad]) + 4 * (s[nx] + 2 * s[pad]); });
}

TEST_F(FitterTest, FindsLengthsOfFouriersTransforms) {
  expect_found([](const AxisValues& s) { return 8 * s[n_a] * (s[w] + 1); });
  expect_found([](const AxisValues& s) { return 8 * s[n_a] * (power_from(2 * s[w]) / 2 + 1); });
  expect_found([](const AxisValues& s) { return 8 * s[n_z] * s[n_a] * smooth_from(2 * s[w], 7); });
  expect_found([](const AxisValues& s) {
    return 4 * smooth_from(s[ny] + 2 * s[pad], 13) * smooth_from(s[nx] + 2 * s[pad], 13) * s[n_z];
  });
}

// Real data have lengths that are even or multiples of 4.
TEST_F(FitterTest, FindsEvenLengthsOfFouriersTransforms) {
  const auto multiple_from = [](Size least, Size multiple, Size largest_prime) {
    Size length = smooth_from(least, largest_prime);
    while (length % multiple != 0) length = smooth_from(length + 1, largest_prime);
    return length;
  };
  expect_found([&](const AxisValues& s) { return 4 * (multiple_from(2 * s[w], 4, 7) / 2 + 1); });
  expect_found([&](const AxisValues& s) { return 4 * s[n_a] * multiple_from(s[nx] + 2 * s[pad], 2, 5); });
}

TEST_F(FitterTest, FindsAlignmentAndPitch) {
  expect_found([](const AxisValues& s) { return 512 * blocks(4 * s[ny] * s[nx], 512); });
  expect_found([](const AxisValues& s) { return 256 * blocks(4 * s[nx], 256) * s[ny]; });
}

TEST_F(FitterTest, FindsSumsOfTerms) {
  expect_found([](const AxisValues& s) { return 4 * s[ny] * s[nx] + 8 * s[n_a] * power_from(s[w]); });
  expect_found([](const AxisValues& s) { return 4 * s[n_z] * s[ny] * s[nx] + 4 * s[n_a] * s[w] + 1024; });
  expect_found([](const AxisValues& s) { return 8 * power_from(s[ny]) + 8 * power_from(s[nx]); });
  expect_found([](const AxisValues& s) { return s[ny] * s[ny] * s[nx]; });
}

TEST_F(FitterTest, FindsTheLastChunkAndWhatIsThereForOddLengthsOnly) {
  expect_found([](const AxisValues& s) { return s[n_a] - s[n_z] * (blocks(s[n_a], s[n_z]) - 1); });
  expect_found(
      [](const AxisValues& s) { return 4 * s[ny] * (s[n_a] - s[n_z] * (blocks(s[n_a], s[n_z]) - 1)); });
  expect_found([](const AxisValues& s) { return blocks(s[n_a], s[n_z]); });
  expect_found([](const AxisValues& s) { return 4 * s[ny] * (s[nx] % 2); });
  expect_found([](const AxisValues& s) { return 4 * std::min(s[n_a], s[n_z]) * s[ny] * s[nx]; });
}

// Among four widths, nx % 3 is 1 only at the even one.
TEST(Fitter, PrefersAMultipleToADifference) {
  Shapes shapes{{{"n", {}}, {"nx", {}}}};
  std::vector<Size> counts;
  for (const Size n : {3, 4, 5, 7}) {
    for (const Size nx : {41, 64, 77, 95}) {
      shapes.axes[0].values.push_back(n);
      shapes.axes[1].values.push_back(nx);
      counts.push_back(2 * (nx % 2));
    }
  }
  const auto found = Fitter(shapes, {3, 7, 11, 15}).fit(counts);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(found->formula), "2 * (nx % 2)");
}

TEST_F(FitterTest, WritesProductsAsProducts) {
  const auto found = fit([](const AxisValues& s) { return 4 * (s[ny] + 2 * s[pad]) * (s[nx] + 2 * s[pad]); });
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(found->formula), "4 * (ny + 2 * pad) * (nx + 2 * pad)");
}

TEST_F(FitterTest, FindsNothingInRandomSizes) {
  std::mt19937_64 random(3);
  EXPECT_FALSE(fit([&](const AxisValues&) { return static_cast<Size>(random() % 100'000); }));
}

TEST_F(FitterTest, ASizeThatIsOffByOneByteAtAShapeHeldOutHasNoFormula) {
  const AxisValues& tested = shapes_.back();
  EXPECT_FALSE(fit([&](const AxisValues& s) { return 4 * s[ny] * s[nx] + (s == tested ? 1 : 0); }));
}

// Formulas drawn from a seed, with up to three factors, which are sums and rounded sums, and sometimes a
// second term.
TEST_F(FitterTest, FindsFormulasDrawnAtRandom) {
  std::mt19937_64 random(2026);
  const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  for (int i = 0; i < PEAKMARK_RANDOM_FORMULAS; ++i) {
    std::vector<std::size_t> order(kAxes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random);
    std::vector<Bytes> factors;
    for (std::size_t factor = 0; factor <= pick(3); ++factor) {
      const std::size_t a = order[2 * factor];
      const std::size_t b = order[2 * factor + 1];
      const std::array<Bytes, 7> forms{[=](const AxisValues& s) { return s[a]; },
                                       [=](const AxisValues& s) { return s[a] + s[b]; },
                                       [=](const AxisValues& s) { return s[a] + 2 * s[b]; },
                                       [=](const AxisValues& s) { return 16 * blocks(s[a], 16); },
                                       [=](const AxisValues& s) { return power_from(s[a]); },
                                       [=](const AxisValues& s) { return smooth_from(2 * s[a], 7); },
                                       [=](const AxisValues& s) { return power_from(2 * s[a]) / 2 + 1; }};
      factors.push_back(forms[pick(forms.size())]);
    }
    const Size element = Size{1} << pick(4);
    const Size constant = pick(3) == 0 ? 1024 : 0;
    SCOPED_TRACE(i);
    expect_found([&](const AxisValues& s) {
      Size product = element;
      for (const Bytes& factor : factors) product *= factor(s);
      return product + constant;
    });
  }
}

// There are six axes, of which two or three vary at a time, and the sizes do not depend on them.
TEST(Fitter, FindsNoPolynomialByCoincidence) {
  Shapes shapes;
  for (const char* const name : {"n", "h", "w", "y", "x", "c"}) shapes.axes.push_back({name, {}});
  std::vector<Size> sizes;
  for (std::size_t shape = 0; shape < 30; ++shape) {
    for (std::size_t axis = 0; axis < shapes.axes.size(); ++axis)
      shapes.axes[axis].values.push_back(axis == shape % 6 ? 1 + static_cast<Size>(shape / 6) : 0);
    sizes.push_back(shape % 6 == 0 ? 4096 : 4096 + static_cast<Size>(7919 * (shape % 6)));
  }
  EXPECT_FALSE(Fitter(shapes, {3, 7, 11, 15, 19, 23, 27}).fit(sizes));
}

// Returns the formula for the sizes at shapes of two axes. The last two shapes are held out.
std::string formula_of(const std::vector<std::pair<Size, Size>>& shapes,
                       const std::function<Size(Size nx, Size ny)>& bytes) {
  Shapes axes{{{"nx", {}}, {"ny", {}}}};
  std::vector<Size> sizes;
  for (const auto& [nx, ny] : shapes) {
    axes.axes[0].values.push_back(nx);
    axes.axes[1].values.push_back(ny);
    sizes.push_back(bytes(nx, ny));
  }
  const auto found = Fitter(axes, {shapes.size() - 2, shapes.size() - 1}).fit(sizes);
  return found ? to_text(found->formula) : "";
}

const std::vector<std::pair<Size, Size>> kEvenShapes{{128, 64},  {256, 64},  {270, 64},
                                                     {128, 100}, {256, 100}, {270, 100}};

TEST(Fitter, OfEvenLengthsNothingIsRounded) {
  EXPECT_EQ(formula_of(kEvenShapes, [](Size nx, Size ny) { return 4 * nx * ny; }), "4 * nx * ny");
  EXPECT_EQ(formula_of(kEvenShapes, [](Size nx, Size ny) { return nx * ny; }), "nx * ny");
  EXPECT_EQ(formula_of(kEvenShapes, [](Size nx, Size ny) { return 4 * nx * ny + 1024; }),
            "4 * nx * ny + 1024");
  EXPECT_EQ(formula_of(kEvenShapes, [](Size nx, Size ny) { return 8 * (nx / 2 + 1) * ny; }),
            "4 * ny * (nx + 2)");
  EXPECT_EQ(formula_of({{129, 64}, {256, 64}, {271, 64}, {129, 101}, {256, 101}, {271, 101}},
                       [](Size nx, Size ny) { return 8 * blocks(nx * ny, 2); }),
            "8 * ceil_div(nx * ny, 2)");
}

TEST(Fitter, FindsLargeOddCoefficientsFromFewShapes) {
  for (const Size coefficient : {124, 372, 513, 744, 99'999}) {
    EXPECT_EQ(formula_of(kEvenShapes, [&](Size nx, Size ny) { return coefficient * (nx + 1) * (ny + 1); }),
              std::to_string(coefficient) + " * (nx + 1) * (ny + 1)");
  }
  // Two sizes are not enough to show a coefficient.
  EXPECT_EQ(formula_of(kEvenShapes, [](Size nx, Size ny) { return nx * ny == 27'000 ? 60'753 : 2 * 60'753; }),
            "");
}

// Returns the formula for the sizes at shapes of n, ny and nx, or an empty text if there is none.
std::string formula_of_stack(const Shapes& shapes,
                             const std::function<Size(Size n, Size ny, Size nx)>& bytes) {
  std::vector<Size> sizes;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < shapes.count(); ++i) {
    all.push_back(i);
    sizes.push_back(bytes(shapes.axes[0].values[i], shapes.axes[1].values[i], shapes.axes[2].values[i]));
  }
  const auto formula = Fitters(shapes).fit(all, sizes).formula;
  return formula ? to_text(*formula) : "";
}

const Shapes kEightStacks{{{"n", {8, 20, 9, 11, 6, 7, 13, 5}},
                           {"ny", {17, 31, 13, 37, 64, 19, 10, 43}},
                           {"nx", {33, 41, 29, 23, 48, 51, 15, 47}}}};
const Shapes kTwelveStacks{{{"n", {5, 6, 11, 7, 9, 13, 5, 8, 10, 14, 12, 15}},
                            {"ny", {31, 37, 48, 29, 64, 41, 53, 36, 44, 33, 50, 39}},
                            {"nx", {41, 64, 77, 58, 95, 44, 33, 70, 81, 52, 67, 46}}}};

const Shapes kDrawnStacks{
    {{"n", {8, 19, 18, 5, 12, 20, 16, 21, 19, 3, 20, 1, 27, 16, 9, 18, 8, 7, 23, 16, 18, 27, 18, 16}},
     {"ny", {55, 86, 24, 34, 86, 24, 71, 54, 6, 13, 25, 80, 10, 43, 8, 39, 65, 81, 54, 59, 55, 78, 61, 22}},
     {"nx", {51, 17, 9, 22, 68, 32, 38, 60, 85, 43, 58, 69, 54, 78, 49, 73, 79, 57, 79, 34, 48, 8, 40, 82}}}};

// The shapes prove a constant or a product of axes, however many bits its coefficient has.
TEST(Fitter, FindsConstantsAndProductsWithAnyCoefficient) {
  const Shapes six = kEightStacks.subset(std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
  for (const Size odd : {4097, 1337, 99'999, 1'000'003}) {
    EXPECT_EQ(formula_of_stack(six, [&](Size, Size, Size) { return odd; }), std::to_string(odd));
    EXPECT_EQ(formula_of_stack(kEightStacks, [&](Size n, Size, Size) { return 4 * odd * n; }),
              std::to_string(4 * odd) + " * n");
    EXPECT_EQ(formula_of_stack(kEightStacks, [&](Size n, Size, Size nx) { return odd * n * nx; }),
              std::to_string(odd) + " * n * nx");
  }
  // Two lengths of an axis are enough to find a product with it.
  const Shapes two_lengths{{{"n", {64, 64, 64, 64, 100, 100, 100, 100}},
                            {"ny", {7, 10, 16, 33, 7, 10, 16, 33}},
                            {"nx", {1, 1, 1, 1, 1, 1, 1, 1}}}};
  EXPECT_EQ(formula_of_stack(two_lengths, [](Size n, Size, Size) { return 5348 * n; }), "5348 * n");
  EXPECT_EQ(formula_of_stack(kDrawnStacks, [](Size n, Size, Size nx) { return 1337 * n * nx + 4097; }),
            "1337 * n * nx + 4097");
}

TEST(Fitter, FindsNothingInRandomTables) {
  std::mt19937_64 random(41);
  const auto draw = [&](Size max) {
    return 1 + static_cast<Size>(random() % static_cast<std::uint64_t>(max));
  };
  for (const Shapes& shapes : {kEightStacks, kTwelveStacks}) {
    Fitters fitters(shapes);
    std::vector<std::size_t> all(shapes.count());
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (int table = 0; table < PEAKMARK_RANDOM_FORMULAS / 4; ++table) {
      const Size max = table % 2 == 0 ? 5000 : 50'000'000;
      // In every second table, shapes with the same length of an axis have the same size.
      std::map<Size, Size> by_length;
      std::vector<Size> sizes;
      for (const Size n : shapes.axes[0].values)
        sizes.push_back(table % 4 < 2 ? draw(max) : by_length.try_emplace(n, draw(max)).first->second);
      EXPECT_FALSE(fitters.fit(all, sizes).formula) << testing::PrintToString(sizes);
    }
  }
}

// A program that processes at most 7 slices at once.
TEST(Fitter, FindsLengthsThatAConstantLimits) {
  EXPECT_EQ(formula_of_stack(kDrawnStacks, [](Size n, Size, Size) { return 1000 * std::min<Size>(n, 7); }),
            "1000 * min(n, 7)");
  EXPECT_EQ(formula_of_stack(kDrawnStacks,
                             [](Size n, Size ny, Size nx) { return 8 * std::min<Size>(n, 7) * ny * nx; }),
            "8 * ny * nx * min(n, 7)");
  EXPECT_EQ(formula_of_stack(kDrawnStacks, [](Size, Size, Size nx) { return 4 * std::max<Size>(nx, 32); }),
            "4 * max(nx, 32)");
  // Only one length is above the limit, so any size there would suggest some limit.
  EXPECT_EQ(formula_of_stack(kEightStacks, [](Size n, Size, Size) { return n == 20 ? 14 : n; }), "");
}

// Sizes that change between two recorded lengths. A pair of limits, or a rounded length with two values,
// would put the change at an arbitrary place: 4·(n·nx - 1500·min(n, 11) + 1500·min(n, 12)), 4·nx·(n + 15·⌊n /
// 16⌋).
TEST(Fitter, FindsNoThresholdBetweenTwoRecordedLengths) {
  const Shapes shapes{{{"n", {4,  5,  7,  8,  11, 4,  4,  4,  4,  13, 23, 14, 18,
                              30, 19, 24, 13, 18, 28, 14, 23, 19, 24, 30, 18, 13}},
                       {"ny", std::vector<Size>(26, 1)},
                       {"nx", {41, 41, 41, 41, 41, 44, 52, 65, 70, 37, 81, 55, 62,
                               43, 91, 50, 66, 39, 71, 83, 47, 59, 68, 77, 85, 49}}}};
  for (const Size from : {12, 16, 21, 26}) {
    EXPECT_EQ(
        formula_of_stack(shapes, [&](Size n, Size, Size nx) { return 4 * n * nx + (n >= from ? 6000 : 0); }),
        "");
    EXPECT_EQ(formula_of_stack(shapes,
                               [&](Size n, Size, Size nx) { return 4 * n * nx + (n >= from ? 60 * nx : 0); }),
              "");
  }
  for (const Size from : {14, 17})
    EXPECT_EQ(formula_of_stack(kDrawnStacks, [&](Size n, Size, Size) { return n >= from ? 8192 : 4096; }),
              "");
  EXPECT_EQ(
      formula_of_stack(kDrawnStacks, [](Size n, Size ny, Size nx) { return n >= 2 ? 16 * ny * nx : 0; }), "");
}

TEST(Fitter, FindsConstantPadsFromTheNumberOfShapesThatDocsRecommend) {
  for (const Shapes& shapes : {kEightStacks, kTwelveStacks}) {
    for (const Size pad : {3, 16, 64, 100, 256}) {
      const std::string length = "(ny + " + std::to_string(pad) + ") * (nx + " + std::to_string(pad) + ")";
      EXPECT_EQ(
          formula_of_stack(shapes, [&](Size n, Size ny, Size nx) { return 4 * n * (ny + pad) * (nx + pad); }),
          "4 * n * " + length);
    }
    EXPECT_EQ(formula_of_stack(shapes, [](Size, Size ny, Size) { return 12 * (ny + 64); }), "12 * (ny + 64)");
  }
}

TEST(Fitter, FindsMarginsOfSeveralRadii) {
  const std::vector<std::pair<Size, Size>> shapes{{64, 3}, {100, 3}, {129, 3}, {64, 5}, {100, 7}, {131, 8}};
  for (const Size factor : {3, 4}) {
    const std::string width = "(nx + " + std::to_string(factor) + " * ny)";
    EXPECT_EQ(
        formula_of(shapes, [&](Size nx, Size ny) { return 16 * (nx + factor * ny) * (nx + factor * ny); }),
        "16 * " + width + " * " + width);
  }
  EXPECT_EQ(formula_of(shapes, [](Size nx, Size ny) { return 16 * (nx + 2 * ny) * (nx + 4 * ny); }),
            "16 * (nx + 4 * ny) * (nx + 2 * ny)");
}

// A padded length is found from few shapes in which the pads never vary.
TEST(Fitter, FindsLengthsWithAxesThatNeverVary) {
  Shapes shapes{{{"ny", {}}, {"nx", {}}, {"pad_y0", {}}, {"pad_y1", {}}, {"pad_x0", {}}, {"pad_x1", {}}}};
  std::vector<Size> sizes;
  for (const Size ny : {17, 64, 101}) {
    for (const Size nx : {33, 77}) {
      for (const Size pad : {0, 5}) {
        const std::array<Size, 6> values{ny, nx, pad, 64, 64, 64};
        for (std::size_t axis = 0; axis < values.size(); ++axis)
          shapes.axes[axis].values.push_back(values[axis]);
        sizes.push_back(4 * (ny + pad + 64) * (nx + 128));
      }
    }
  }
  const auto found = Fitter(shapes, {3, 7, 11}).fit(sizes);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(found->formula), "4 * (nx + 128) * (ny + pad_y0 + 64)");
}

// A region of slices: `h` = 0 means all rows from y0 on, `chunk` = 0 means all slices, and `half` = 1 makes
// slices wider.
class ZeroMeansAll : public testing::Test {
 protected:
  struct Shape {
    Size n, w, y0, h, chunk, half;
  };
  ZeroMeansAll() {
    for (const char* const name : {"n", "w", "y0", "h", "chunk", "half"}) axes_.axes.push_back({name, {}});
    const Shape base{11, 41, 5, 7, 3, 0};
    std::vector<Shape> shapes;
    for (const Size longer : {0, 12, 4, 29, 7, 18}) {
      for (const auto axis : {&Shape::n, &Shape::w, &Shape::y0, &Shape::h}) {
        shapes.push_back(base);
        shapes.back().*axis += longer;
      }
      for (const auto zero : {&Shape::h, &Shape::chunk}) {
        shapes.push_back({base.n + longer, base.w + 2 * longer, base.y0 + longer % 5, 7, 3, longer % 2});
        shapes.back().*zero = 0;
      }
      shapes.push_back({base.n + longer, base.w + longer, base.y0, base.h, 3 + 2 * longer, 1});
    }
    for (const Shape& s : shapes) {
      std::size_t axis = 0;
      for (const Size value : {s.n, s.w, s.y0, s.h, s.chunk, s.half})
        axes_.axes[axis++].values.push_back(value);
      slices_.push_back(4 * s.n * (s.h == 0 ? s.w + s.half - s.y0 : s.h));
      chunks_.push_back(8 * s.w * (s.chunk == 0 ? s.n : std::min(s.chunk, s.n)));
      rounds_.push_back(s.chunk == 0 ? 1 : blocks(s.n, s.chunk));
      partly_known_.push_back(s.chunk == 0 ? 1 + (7919 * s.w + s.n * s.n) % 1000 : 16 * s.chunk);
    }
    for (std::size_t i = 0; i < shapes.size(); ++i) all_.push_back(i);
  }
  Shapes axes_;
  std::vector<std::size_t> all_;
  std::vector<Size> slices_, chunks_, rounds_, partly_known_;
};

TEST_F(ZeroMeansAll, IsALength) {
  Fitter fitter(axes_, {3, 7, 11, 15, 19, 23, 27});
  const auto slices = fitter.fit(slices_);
  ASSERT_TRUE(slices);
  EXPECT_EQ(to_text(slices->formula), "4 * n * if_zero(h, w + half - y0, h)");
  const auto chunks = fitter.fit(chunks_);
  ASSERT_TRUE(chunks);
  EXPECT_EQ(to_text(chunks->formula), "8 * w * if_zero(chunk, n, min(chunk, n))");
}

// At the only shapes where `w` is 0 the size is nx - x0, which happens to be x0 + y0.
TEST(Fitter, FindsNoChoiceByCoincidence) {
  Shapes shapes;
  for (const char* const name : {"nx", "w", "x0", "y0"}) shapes.axes.push_back({name, {}});
  std::vector<Size> sizes;
  const auto add = [&](Size nx, Size w, Size x0, Size y0) {
    std::size_t axis = 0;
    for (const Size value : {nx, w, x0, y0}) shapes.axes[axis++].values.push_back(value);
    sizes.push_back(4 * (w == 0 ? nx - x0 - (nx % 7) : w));
  };
  for (const Size step : {0, 1, 4, 11, 29, 60}) {
    add(113, 5 + step, 7, 3);
    add(113 + step, 5, 7, 3);
    add(113, 5, 7 + step, 3);
    add(113, 5, 7, 3 + step);
  }
  add(64, 0, 21, 21);
  add(64, 0, 21, 21);
  add(80, 0, 30, 17);
  EXPECT_FALSE(Fitter(shapes, {3, 7, 11, 15, 19, 23}).fit(sizes));
}

TEST_F(ZeroMeansAll, HasAFormulaOfEachCase) {
  Fitters fitters(axes_);
  const Figure& rounds = fitters.fit(all_, rounds_);
  ASSERT_TRUE(rounds.formula);
  EXPECT_EQ(evaluate(*rounds.formula, axes_), rounds_);
  const Figure& partly_known = fitters.fit(all_, partly_known_);
  EXPECT_FALSE(partly_known.formula);
  ASSERT_TRUE(partly_known.part);
  EXPECT_EQ(to_text(partly_known.part->formula), "16 * chunk");
  EXPECT_EQ(partly_known.part->condition, "chunk is not 0");
}

TEST(Fitter, RefusesAxesOfDifferentLength) {
  EXPECT_THAT(
      [] {
        Fitter({{{"ny", {1, 2}}, {"nx", {1}}}}, {});
      },
      testing::ThrowsMessage<UsageError>(HasSubstr("axis 'nx' has 1 values, but 'ny' has 2")));
}

}  // namespace
}  // namespace peakmark
