#include "kernels/padding/reference.hpp"

#include <algorithm>

namespace peakmark {
namespace {

Size remainder(Size i, Size period) {
  const Size rest = i % period;
  return rest < 0 ? rest + period : rest;
}

std::vector<Size> sources(const PaddedAxis& axis, PaddingMode mode, const std::vector<Size>& custom) {
  if (mode == PaddingMode::custom) return custom;
  std::vector<Size> result;
  result.reserve(static_cast<std::size_t>(axis.padded()));
  for (Size i = -axis.before; i < axis.extent + axis.after; ++i)
    result.push_back(source_index(i, axis.extent, mode).value_or(-1));
  return result;
}

}  // namespace

std::optional<Size> source_index(Size i, Size extent, PaddingMode mode) {
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case PaddingMode::edge:
      return i < 0 ? 0 : extent - 1;
    case PaddingMode::wrap:
      return remainder(i, extent);
    case PaddingMode::symmetric: {
      const Size phase = remainder(i, 2 * extent);
      return phase < extent ? phase : 2 * extent - 1 - phase;
    }
    case PaddingMode::reflect: {
      // An axis with one element cannot be reflected; numpy repeats the element.
      if (extent == 1) return 0;
      const Size phase = remainder(i, 2 * (extent - 1));
      return phase < extent ? phase : 2 * (extent - 1) - phase;
    }
    case PaddingMode::constant:
    case PaddingMode::custom:
      break;
  }
  return std::nullopt;
}

std::vector<Size> source_rows(const PaddingProblem& problem) {
  return sources(problem.y, problem.mode, problem.rows);
}

std::vector<Size> source_columns(const PaddingProblem& problem) {
  return sources(problem.x, problem.mode, problem.columns);
}

template <typename T>
void pad_row(const PaddingProblem& problem, Size row, std::span<const Size> columns,
             std::span<const T> image_row, std::span<T> padded_row) {
  if (problem.mode != PaddingMode::constant) {
    for (std::size_t i = 0; i < padded_row.size(); ++i)
      padded_row[i] = image_row[static_cast<std::size_t>(columns[i])];
    return;
  }
  const Size y = row - problem.y.before;
  for (std::size_t i = 0; i < padded_row.size(); ++i) {
    const Size x = static_cast<Size>(i) - problem.x.before;
    if (x < 0)
      padded_row[i] = static_cast<T>(problem.values.x0);
    else if (x >= problem.x.extent)
      padded_row[i] = static_cast<T>(problem.values.x1);
    else if (y < 0)
      padded_row[i] = static_cast<T>(problem.values.y0);
    else if (y >= problem.y.extent)
      padded_row[i] = static_cast<T>(problem.values.y1);
    else
      padded_row[i] = image_row[static_cast<std::size_t>(x)];
  }
}

template <typename T>
std::vector<T> pad(const PaddingProblem& problem, std::span<const T> input) {
  const std::vector<Size> rows = source_rows(problem);
  const std::vector<Size> columns = source_columns(problem);
  std::vector<T> output(static_cast<std::size_t>(problem.output_shape().elements()));
  const auto image_width = static_cast<std::size_t>(problem.x.extent);
  for (Size slice = 0; slice < problem.n; ++slice)
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto from = static_cast<std::size_t>(slice * problem.y.extent + std::max<Size>(rows[row], 0));
      const auto to = static_cast<std::size_t>(slice) * rows.size() + row;
      pad_row<T>(problem, static_cast<Size>(row), columns, input.subspan(from * image_width, image_width),
                 std::span(output).subspan(to * columns.size(), columns.size()));
    }
  return output;
}

#define PEAKMARK_PADDING_REFERENCE(T)                                                              \
  template void pad_row<T>(const PaddingProblem&, Size, std::span<const Size>, std::span<const T>, \
                           std::span<T>);                                                          \
  template std::vector<T> pad<T>(const PaddingProblem&, std::span<const T>);
PEAKMARK_PADDING_REFERENCE(std::uint8_t)
PEAKMARK_PADDING_REFERENCE(std::int8_t)
PEAKMARK_PADDING_REFERENCE(std::uint16_t)
PEAKMARK_PADDING_REFERENCE(std::int16_t)
PEAKMARK_PADDING_REFERENCE(std::uint32_t)
PEAKMARK_PADDING_REFERENCE(std::int32_t)
PEAKMARK_PADDING_REFERENCE(std::uint64_t)
PEAKMARK_PADDING_REFERENCE(std::int64_t)
PEAKMARK_PADDING_REFERENCE(float)
PEAKMARK_PADDING_REFERENCE(double)
#undef PEAKMARK_PADDING_REFERENCE

}  // namespace peakmark
