#include "kernels/filter/filter_arrays.hpp"

#include <algorithm>

#include "kernels/common/arrays.hpp"
#include "kernels/padding/reference.hpp"

namespace peakmark {

// By generators, which `dry` never asks.

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
