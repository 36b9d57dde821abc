#include "kernels/padding/computation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/element_types.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/common/vector_rows.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/padding/reference.hpp"
#include "padding_source.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kInputSeed = 3;
constexpr Size kVerifiedWholeBytes = Size{64} << 20;
constexpr Size kReadBytes = Size{4} << 20;

/// Outputs of at least this size bypass the caches. On a CPU with 32 MiB of last-level cache, cached stores
/// were faster up to 14 MiB and slower from 24 MiB on.
constexpr Size kPastCacheBytes = Size{16} << 20;

/// From this number of items on, an item that owns elements processes several slices, which have the same
/// coordinates.
constexpr Size kEnoughItems = Size{1} << 19;
constexpr Size kGpuGroup = 256;
/// On a CPU, enough items to balance the load while other programs run, but enough rows for each to amortise
/// its setup.
constexpr Size kItemsAUnit = 32;
constexpr Size kItemBytes = Size{256} << 10;

Size distinct(std::vector<Size> coordinates) {
  std::ranges::sort(coordinates);
  return std::unique(coordinates.begin(), coordinates.end()) - coordinates.begin();
}

/// Rows of the output at which something changes, in the first, the middle and the last slice.
std::vector<Size> border_rows(const PaddingProblem& problem) {
  std::vector<Size> rows;
  const Size padded = problem.y.padded();
  const Size end = problem.y.before + problem.y.extent;
  for (const Size slice : {Size{0}, problem.n / 2, problem.n - 1})
    for (const Size row : {Size{0}, problem.y.before - 1, problem.y.before, end - 1, end, padded - 1})
      rows.push_back(slice * padded + std::clamp<Size>(row, 0, padded - 1));
  return rows;
}

/// Returns the rows to compare, as ranges [first, end) that are read at once.
std::vector<std::pair<Size, Size>> ranges_to_verify(const PaddingProblem& problem) {
  const Shape shape = problem.output_shape();
  std::vector<std::pair<Size, Size>> ranges;
  if (shape.bytes(problem.dtype) >= kVerifiedWholeBytes) {
    for (const Size row : rows_to_verify(shape, border_rows(problem))) ranges.emplace_back(row, row + 1);
    return ranges;
  }
  const Size count = problem.n * problem.y.padded();
  const Size at_once = std::max<Size>(1, kReadBytes / (problem.x.padded() * size_of(problem.dtype)));
  for (Size row = 0; row < count; row += at_once) ranges.emplace_back(row, std::min(row + at_once, count));
  return ranges;
}

/// Computes the expected rows from the seed of the input.
template <typename T>
class ExpectedRows {
 public:
  explicit ExpectedRows(const PaddingProblem& problem)
      : problem_(problem),
        rows_(source_rows(problem)),
        columns_(source_columns(problem)),
        image_row_(static_cast<std::size_t>(problem.x.extent)),
        padded_row_(columns_.size()) {}

  std::span<const T> row(Size row) {
    const Size slice = row / problem_.y.padded();
    const Size y = row % problem_.y.padded();
    const Size source = rows_[static_cast<std::size_t>(y)];
    if (source >= 0)
      fill_seeded<T>(image_row_, kInputSeed, (slice * problem_.y.extent + source) * problem_.x.extent);
    pad_row<T>(problem_, y, columns_, image_row_, padded_row_);
    return padded_row_;
  }

 private:
  const PaddingProblem& problem_;
  std::vector<Size> rows_, columns_;
  std::vector<T> image_row_, padded_row_;
};

/// Compares bits, not values: a NaN equals itself, and −0 differs from 0.
template <typename T>
bool same_bits(std::span<const T> one, std::span<const T> other) {
  return std::memcmp(std::as_bytes(one).data(), std::as_bytes(other).data(), one.size_bytes()) == 0;
}

template <typename T>
std::string difference(const PaddingProblem& problem, Size row, std::span<const T> expected,
                       std::span<const T> actual) {
  std::size_t x = 0;
  while (same_bits(expected.subspan(x, 1), actual.subspan(x, 1))) ++x;
  return fmt::format("padding {}: output[{}, {}, {}] is {} instead of {}", to_string(problem.mode),
                     row / problem.y.padded(), row % problem.y.padded(), x, actual[x], expected[x]);
}

}  // namespace

KernelGrain grain_for(const Device& device) {
  return device.is_cpu() ? KernelGrain::rows : KernelGrain::elements;
}

PaddingComputation::PaddingComputation(Device& device, PaddingProblem problem, KernelGrain kernel_grain)
    : device_(device), problem_(std::move(problem)), kernel_grain_(kernel_grain) {
  check(problem_);
}

void PaddingComputation::create_inputs() {
  input_ = create_seeded(device_, "input", problem_.input_shape(), problem_.dtype, kInputSeed);
}

void PaddingComputation::create_outputs() {
  output_ = create(device_, "output", problem_.output_shape(), problem_.dtype);
}

std::string PaddingComputation::verify() {
  return with_element_type(problem_.dtype, [&]<typename T>(T) -> std::string {
    const auto width = static_cast<std::size_t>(problem_.x.padded());
    ExpectedRows<T> expected_rows(problem_);
    std::vector<T> read;
    for (const auto& [first, end] : ranges_to_verify(problem_)) {
      read.resize(static_cast<std::size_t>(end - first) * width);
      output_.read_part<T>(first * problem_.x.padded(), std::span(read));
      for (Size row = first; row < end; ++row) {
        const std::span<const T> expected = expected_rows.row(row);
        const auto actual =
            std::span<const T>(read).subspan(static_cast<std::size_t>(row - first) * width, width);
        if (!same_bits(expected, actual)) return difference<T>(problem_, row, expected, actual);
      }
    }
    return "";
  });
}

std::optional<Size> PaddingComputation::bytes_moved() const {
  Size read = problem_.input_shape().bytes(problem_.dtype);
  if (problem_.mode == PaddingMode::custom)
    read = Shape{problem_.n, distinct(problem_.rows), distinct(problem_.columns)}.bytes(problem_.dtype);
  return checked_add(read, problem_.output_shape().bytes(problem_.dtype));
}

Kernel PaddingComputation::kernel(std::string_view name) const {
  return find_kernel(device_, padding_source(), fmt::format("{}_{}", name, by_rows() ? "rows" : "elements"),
                     bits_of(problem_.dtype));
}

PaddingComputation::Grain PaddingComputation::grain(Size n, Size rows, Size columns, Size first) const {
  if (by_rows()) {
    const Size all_rows = n * rows;
    const Size row_bytes = problem_.x.padded() * size_of(problem_.dtype);
    const Size enough_items = std::max<Size>(1, device_.compute_units()) * kItemsAUnit;
    const Size y_step =
        std::clamp(all_rows / enough_items, Size{1}, std::max(Size{1}, kItemBytes / row_bytes));
    const bool past_cache = kernel_grain_ == KernelGrain::streamed_rows ||
                            problem_.output_shape().bytes(problem_.dtype) >= kPastCacheBytes;
    return {.range = {.x = divide_up(all_rows, y_step), .local_x = 4},
            .y_step = y_step,
            .past_cache = past_cache ? 1 : 0};
  }
  const Size pitch = problem_.x.padded();
  const Range range = vector_rows({.images = n,
                                   .rows = rows,
                                   .columns = columns,
                                   .first = first,
                                   .pitch = pitch,
                                   .element_bytes = size_of(problem_.dtype)});
  return {.range = range, .y_step = range.y, .z_step = range.z};
}

PaddingComputation::Grain PaddingComputation::gather_images_grain() const {
  const Size rows = problem_.y.padded();
  const Size columns = problem_.x.padded();
  if (by_rows()) return grain(problem_.n, rows, columns);
  const Size items = divide_up(rows * columns, std::min(Size{4}, kVectorBytes / size_of(problem_.dtype)));
  const Size z_step = std::clamp(divide_up(kEnoughItems, items), Size{1}, std::min(problem_.n, kMaxAlongYZ));
  return {.range = {.x = items, .y = 1, .z = z_step, .local_x = kGpuGroup, .local_y = 1, .local_z = 1},
          .z_step = z_step};
}

}  // namespace peakmark
