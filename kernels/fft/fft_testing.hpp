#pragma once

// For tests of transforms on devices: makes a plan, runs it forward and backward, and compares the results
// with the host's transform.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/common/arrays.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/host_fft.hpp"

namespace peakmark::testing_fft {

/// Transforms lines [first, first + lines) of arrays that have more lines, forward and backward, and compares
/// with the host's transform. Returns the plan, so that a test can check its memory.
inline std::unique_ptr<RealFft> expect_right(Device& device, FftLibrary library, const FftPlan& plan,
                                             Size first = 0) {
  const Size n = plan.length;
  const Size pitch = n + 2;
  const Size rows = std::max(plan.lines, plan.array_lines);
  const Size real_pitch = plan.in_place ? pitch : n;
  std::unique_ptr<RealFft> fft = make_real_fft(device, library, plan);
  DeviceArray reals = create_with<float>(device, "reals", {rows, real_pitch}, seeded_generator<float>(1));
  DeviceArray apart = create(device, "spectra", {plan.in_place ? 0 : rows, pitch}, DType::f32);
  DeviceArray& spectra = plan.in_place ? reals : apart;
  const std::vector<float> before = reals.read<float>();

  fft->forward(reals, spectra, first);
  const std::vector<float> transformed = spectra.read<float>();
  for (Size line = first; line < first + plan.lines; ++line) {
    std::vector<std::complex<double>> values(static_cast<std::size_t>(n));
    for (Size i = 0; i < n; ++i) values[i] = before[line * real_pitch + i];
    const std::vector<std::complex<double>> expected = host_fft(values);
    double wrong = 0;
    double all = 0;
    for (Size k = 0; k <= n / 2; ++k) {
      const std::complex<double> actual(transformed[line * pitch + 2 * k],
                                        transformed[line * pitch + 2 * k + 1]);
      wrong += std::norm(actual - expected[k]);
      all += std::norm(expected[k]);
    }
    EXPECT_LE(std::sqrt(wrong / all), 5e-7) << "length " << n << ", line " << line;
  }

  fft->backward(spectra, reals, first);
  const std::vector<float> after = reals.read<float>();
  double largest = 0;
  for (Size line = 0; line < rows; ++line) {
    const bool touched = line >= first && line < first + plan.lines;
    for (Size i = 0; i < n; ++i) {
      const Size at = line * real_pitch + i;
      const double expected = before[at] * (touched ? static_cast<double>(n) : 1.0);
      largest = std::max(largest, std::abs(after[at] - expected) / (touched ? static_cast<double>(n) : 1.0));
    }
  }
  EXPECT_LE(largest, 2e-6) << "length " << n;
  return fft;
}

}  // namespace peakmark::testing_fft
