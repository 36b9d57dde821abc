// Compares the tables of the coordinate variants, which are made on the device, with the reference.
#include "kernels/padding/tables.hpp"

#include "kernels/common/variant_testing.hpp"
#include "kernels/padding/reference.hpp"

namespace peakmark {
namespace {

using testing_variants::Grain;

class PaddingTables : public testing::TestWithParam<Grain> {
 protected:
  testing_variants::TestDevice device_ = testing_variants::open_tested(GetParam());
};

/// Larger than a run of a CPU's work-item; pads longer than the image, and an axis of one element.
std::vector<PaddingProblem> problems(PaddingMode mode) {
  std::vector<PaddingProblem> all(3);
  all[0].y = {23, 60, 31}, all[0].x = {71, 5, 200};
  all[1].y = {1, 4, 5}, all[1].x = {2, 9, 0};
  all[2].y = {5, 0, 1}, all[2].x = {1, 3, 2};
  for (PaddingProblem& problem : all) problem.mode = mode;
  return all;
}

TEST_P(PaddingTables, CoordinatesAreTheSourcesOfTheReference) {
  for (const PaddingMode mode :
       {PaddingMode::edge, PaddingMode::reflect, PaddingMode::symmetric, PaddingMode::wrap})
    for (const PaddingProblem& problem : problems(mode)) {
      const CoordinateVectors images = create_coordinate_images(*device_, problem);
      const std::vector<std::int32_t> rows = images.rows.read<std::int32_t>();
      const std::vector<std::int32_t> columns = images.columns.read<std::int32_t>();
      const std::vector<Size> source_row = source_rows(problem);
      const std::vector<Size> source_column = source_columns(problem);
      const Size width = problem.x.padded();
      for (Size i = 0; i < std::ssize(rows); ++i) {
        ASSERT_EQ(rows[i], source_row[i / width]) << to_string(mode) << " " << i;
        ASSERT_EQ(columns[i], source_column[i % width]) << to_string(mode) << " " << i;
      }
    }
}

template <typename T>
void expect_template(Device& device, PaddingProblem problem) {
  problem.dtype = dtype_of<T>;
  const std::vector<T> actual = create_padded_template(device, problem).read<T>();
  const std::vector<Size> columns = source_columns(problem);
  const std::vector<T> image_row(static_cast<std::size_t>(problem.x.extent));
  std::vector<T> expected(columns.size());
  for (Size row = 0; row < problem.y.padded(); ++row) {
    pad_row<T>(problem, row, columns, image_row, expected);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin() + row * std::ssize(expected)))
        << to_string(problem.dtype) << " row " << row;
  }
}

TEST_P(PaddingTables, TheTemplateHasTheValuesOfTheSides) {
  for (PaddingProblem problem : problems(PaddingMode::constant)) {
    problem.values = {1, 2, 3, 4};
    expect_template<std::uint8_t>(*device_, problem);
    expect_template<std::uint16_t>(*device_, problem);
    problem.values = {-1, 2, -3, 4};
    expect_template<std::int64_t>(*device_, problem);
    problem.values = {0.5, -2.25, 1e30F, 0};
    expect_template<float>(*device_, problem);
    expect_template<double>(*device_, problem);
  }
}

INSTANTIATE_TEST_SUITE_P(Grains, PaddingTables, testing::Values(Grain::cpu, Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
