#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/seeded.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/filter/filter_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_right;

// Few padded lengths, since PoCL needs a second to compile each.
class FilterOnOpenCl : public testing::TestWithParam<testing_variants::Grain> {
 protected:
  const testing_variants::TestVariant& whole() { return variants_.find("filter/whole"); }
  const testing_variants::TestVariant& inplace() { return variants_.find("filter/inplace"); }
  testing_variants::TestVariants variants_{add_filter};
  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

TEST_P(FilterOnOpenCl, IsNumpys) {
  for (const NumpyFilter& vector : numpy_filters())
    if (vector.w == 7 || std::string(vector.filter) == "ramlak")
      testing_filter::expect_numpys(*device_, vector, FftLibrary::vkfft);
}

TEST_P(FilterOnOpenCl, EveryFilterAndModeIsRight) {
  for (const std::string& filter : filter_names()) {
    expect_right(device_, whole(), {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"filter", filter}});
    expect_right(device_, inplace(), {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"filter", filter}, {"batch", 8}});
  }
  for (const std::string& mode : filter_padding_names()) {
    expect_right(device_, whole(), {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"mode", mode}});
    expect_right(device_, inplace(), {{"n_z", 2}, {"n_a", 33}, {"w", 211}, {"mode", mode}, {"batch", 8}});
  }
}

TEST_P(FilterOnOpenCl, BatchesOfAnySizeAreRight) {
  for (const Size batch : {1, 7, 8, 32, 33})
    expect_right(device_, inplace(), {{"n_z", 3}, {"n_a", 33}, {"w", 211}, {"batch", batch}});
  expect_right(device_, inplace(), {{"n_z", 1}, {"n_a", 1000}, {"w", 211}});
}

// On a GPU an item then processes several lines, four at a time and the rest one by one.
TEST_P(FilterOnOpenCl, ManyLinesAtATimeAreRight) {
  for (const char* filter : {"ramlak", "hilbert"})
    for (const Size n_a : {253, 256})
      expect_right(
          device_, inplace(),
          {{"n_z", 2}, {"n_a", n_a}, {"w", 1024}, {"filter", filter}, {"mode", "edge"}, {"batch", n_a}});
}

TEST_P(FilterOnOpenCl, LinesInSeveralPassesAreRight) {
  expect_right(device_, whole(), {{"n_z", 2}, {"n_a", 101}, {"w", 4200}});
  expect_right(device_, inplace(), {{"n_z", 2}, {"n_a", 301}, {"w", 4200}, {"mode", "edge"}});
}

TEST_P(FilterOnOpenCl, FiltersIntoAnotherArrayAndAPartOfOne) {
  const FilterProblem problem{.n_a = 10, .w = 211};
  const FilterReference reference(problem);
  DeviceArray from = create_with<float>(*device_, "from", {10, 211}, seeded_generator<float>(5));
  DeviceArray to = create(*device_, "to", {10, 211}, DType::f32);
  LineFilter filter(*device_, problem, batch_of(problem, 4));
  filter.set_up();
  filter(from, to, 3, 5);
  const std::vector<float> before = from.read<float>();
  const std::vector<float> after = to.read<float>();
  for (Size line = 0; line < 10; ++line) {
    const auto values = std::span(before).subspan(static_cast<std::size_t>(line) * 211, 211);
    const std::vector<double> expected = reference.line(values);
    for (Size x = 0; x < 211; ++x)
      EXPECT_NEAR(after[line * 211 + x], line >= 3 && line < 8 ? expected[x] : 0.0, reference.tolerance());
    EXPECT_EQ(values[7], seeded_value<float>(5, line * 211 + 7));
  }
}

/// Returns the largest difference divided by the largest value.
double relative_error(Device& device, const FilterProblem& problem) {
  const FilterReference reference(problem);
  DeviceArray sinogram =
      create_with<float>(device, "sinogram", {problem.n_a, problem.w}, seeded_generator<float>(31));
  const std::vector<float> before = sinogram.read<float>();
  LineFilter filter(device, problem, batch_of(problem, 4));
  filter.set_up();
  filter(sinogram, sinogram, 0, problem.n_a);
  const std::vector<float> after = sinogram.read<float>();
  double wrong = 0;
  double largest = 0;
  for (Size line = 0; line < problem.n_a; ++line) {
    const std::vector<double> expected = reference.line(std::span(before).subspan(
        static_cast<std::size_t>(line * problem.w), static_cast<std::size_t>(problem.w)));
    for (Size x = 0; x < problem.w; ++x) {
      wrong = std::max(wrong, std::abs(after[line * problem.w + x] - expected[x]));
      largest = std::max(largest, std::abs(expected[x]));
    }
  }
  return wrong / largest;
}

TEST_P(FilterOnOpenCl, LongLinesLoseFewDigits) {
  for (const Size w : {211, 16'384}) EXPECT_LE(relative_error(*device_, {.n_a = 8, .w = w}), 5e-7) << w;
}

// The table of docs/operations/filter.md.
TEST_P(FilterOnOpenCl, DISABLED_AccuracyTable) {
  fmt::print("| w | ramlak | hilbert |\n|---|---|---|\n");
  for (const Size w : {64, 256, 1024, 4200, 16'384}) {
    fmt::print("| {} | {:.1e} | {:.1e} |\n", w, relative_error(*device_, {.n_a = 8, .w = w}),
               relative_error(*device_, {.n_a = 8, .w = w, .filter = FilterName::hilbert}));
  }
}

INSTANTIATE_TEST_SUITE_P(Grains, FilterOnOpenCl,
                         testing::Values(testing_variants::Grain::cpu, testing_variants::Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
