#pragma once

// For tests of filters on devices: compares both methods with numpy's results.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/common/arrays.hpp"
#include "kernels/filter/line_filter.hpp"
#include "kernels/filter/numpy_vectors.hpp"
#include "kernels/filter/reference.hpp"
#include "kernels/filter/whole_filter.hpp"

namespace peakmark::testing_filter {

inline void expect_numpys(Device& device, const NumpyFilter& vector, FftLibrary fft) {
  FilterProblem problem{.n_a = vector.n_a, .w = vector.w, .fft = fft};
  problem.filter = parse_filter_name(vector.filter);
  problem.mode = parse_padding_mode(vector.mode);
  std::vector<float> lines;
  for (Size a = 0; a < vector.n_a; ++a) lines.insert(lines.end(), vector.line.begin(), vector.line.end());
  DeviceArray sinogram =
      create_with<float>(device, "sinogram", {1, vector.n_a, vector.w}, std::span<const float>(lines));
  DeviceArray filtered = create(device, "filtered", {1, vector.n_a, vector.w}, DType::f32);
  WholeFilter whole_filter(device, problem);
  whole_filter.set_up();
  whole_filter(sinogram, filtered);
  LineFilter line_filter(device, problem, batch_of(problem, std::min<Size>(3, vector.n_a)));
  line_filter.set_up();
  line_filter(sinogram, sinogram, 0, vector.n_a);
  const double tolerance = FilterReference(problem).tolerance();
  for (const DeviceArray* array : {&filtered, &sinogram}) {
    const std::vector<float> values = array->read<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], vector.filtered[i % vector.filtered.size()], tolerance)
          << vector.filter << " " << vector.mode << " " << i;
  }
}

}  // namespace peakmark::testing_filter
