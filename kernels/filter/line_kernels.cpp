#include "kernels/filter/line_kernels.hpp"

#include <algorithm>

#include "filter_source.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/padding/reference.hpp"

namespace peakmark {
namespace {

std::int32_t flag(bool on) {
  return on ? 1 : 0;
}

}  // namespace

Range range_of_lines(Size columns, Size lines) {
  constexpr Size kLinesAnItem = 8;
  constexpr Size kItems = Size{1} << 16;
  const Size starts = std::max(divide_up(lines, kLinesAnItem), divide_up(kItems, columns));
  return {.x = columns, .y = std::min({lines, starts, kMaxAlongYZ})};
}

LineKernels::LineKernels(Device& device) : device_(device) {
  const bool rows = device.is_cpu();
  pad_ = find_kernel(device, filter_source(), rows ? "pad_lines_rows" : "pad_lines_elements", DType::f32);
  crop_ = find_kernel(device, filter_source(), rows ? "crop_lines_rows" : "crop_lines_elements", DType::f32);
  filter_ = find_kernel(device, filter_source(), rows ? "filter_spectra_rows" : "filter_spectra_elements",
                        DType::f32);
}

void LineKernels::pad(const DeviceArray& sinogram, Size first, Size lines, Size w, const DeviceArray& columns,
                      Size before, Size length, DeviceArray& padded, Size offset, Size pitch) {
  const std::int32_t has_columns = flag(columns.elements() > 0);
  if (device_.is_cpu()) {
    device_.launch(pad_, {.x = lines, .local_x = 1},
                   {sinogram, columns, has_columns, padded, offset, first, lines, w, before, length, pitch});
    return;
  }
  const Range range = range_of_lines(length, lines);
  device_.launch(
      pad_, range,
      {sinogram, columns, has_columns, padded, offset, first, lines, w, before, length, pitch, range.y});
}

void LineKernels::crop(const DeviceArray& padded, Size offset, Size pitch, Size before, DeviceArray& sinogram,
                       Size first, Size lines, Size w) {
  if (device_.is_cpu()) {
    device_.launch(crop_, {.x = lines, .local_x = 1},
                   {padded, offset, sinogram, first, lines, w, before, pitch});
    return;
  }
  const Range range = range_of_lines(w, lines);
  device_.launch(crop_, range, {padded, offset, sinogram, first, lines, w, before, pitch, range.y});
}

void LineKernels::filter(DeviceArray& spectra, Size offset, Size lines, Size frequencies,
                         const DeviceArray& filter, bool imaginary) {
  const Size pitch = 2 * frequencies;
  if (device_.is_cpu()) {
    device_.launch(filter_, {.x = lines, .local_x = 1},
                   {spectra, offset, filter, flag(imaginary), lines, frequencies, pitch});
    return;
  }
  const Range range = range_of_lines(frequencies, lines);
  device_.launch(filter_, range,
                 {spectra, offset, filter, flag(imaginary), lines, frequencies, pitch, range.y});
}

// With generators, which `dry` never calls.

DeviceArray push_filter(Device& device, const FilterProblem& problem) {
  return create_with<float>(device, "filter", {problem.padded_width() / 2 + 1},
                            Generator<float>([&](std::span<float> piece, Size first) {
                              const std::vector<float> values = device_filter(problem);
                              std::copy_n(values.begin() + first, piece.size(), piece.begin());
                            }));
}

DeviceArray push_columns(Device& device, const FilterProblem& problem) {
  return create_with<std::int32_t>(
      device, "columns", {problem.padded_width()},
      Generator<std::int32_t>([&](std::span<std::int32_t> piece, Size first) {
        const std::vector<Size> columns = source_columns(padding_of(problem));
        std::transform(columns.begin() + first, columns.begin() + first + std::ssize(piece), piece.begin(),
                       [](Size at) { return static_cast<std::int32_t>(at); });
      }));
}

PaddingProblem padding_of(const FilterProblem& problem) {
  PaddingProblem padding;
  padding.mode = problem.mode;
  padding.n = problem.n_z;
  padding.y = {problem.n_a, 0, 0};
  padding.x = problem.padded_line();
  padding.values = {0, 0, 0, 0};
  return padding;
}

}  // namespace peakmark
