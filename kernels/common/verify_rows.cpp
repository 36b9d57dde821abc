#include "kernels/common/verify_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace peakmark {

std::string RowComparison::error() const {
  if (wrong_ == 0) return {};
  return fmt::format("{} of {} elements compared are wrong; {}", wrong_, compared_, first_);
}

void RowComparison::note_first(Size row, Size x, double expected, double actual, double tolerance) {
  std::vector<Size> position(shape_.rank());
  position.back() = x;
  for (std::size_t axis = shape_.rank() - 1; axis-- > 0;) {
    position[axis] = row % shape_[axis];
    row /= shape_[axis];
  }
  first_ = fmt::format("the first at ({}) is {} instead of {} (tolerance {})", fmt::join(position, ", "),
                       actual, expected, tolerance);
}

std::vector<Size> rows_to_verify(const Shape& shape, std::span<const Size> always) {
  const Size width = shape[shape.rank() - 1];
  const Size count = width == 0 ? 0 : shape.elements() / width;
  std::vector<Size> rows;
  if (shape.elements() <= kWholeElements || count <= kSampledRows) {
    for (Size row = 0; row < count; ++row) rows.push_back(row);
    return rows;
  }
  rows.assign(always.begin(), always.end());
  rows.push_back(0);
  rows.push_back(count - 1);
  constexpr std::uint32_t kSeed = 1;
  for (Size i = 0; i < kSampledRows; ++i) {
    const auto wide =
        (static_cast<std::uint64_t>(seeded_bits(kSeed, 2 * i)) << 32) | seeded_bits(kSeed, 2 * i + 1);
    rows.push_back(static_cast<Size>(wide % static_cast<std::uint64_t>(count)));
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace peakmark
