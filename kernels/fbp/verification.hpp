#pragma once

#include <string>
#include <vector>

#include "kernels/backprojection/geometry.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Sinograms of noise in [−1, 1). Each line of the stack is one of kDifferent lines, chosen by its number, so
/// the reference filters only these.
class NoiseLines {
 public:
  static constexpr Size kDifferent = 64;

  explicit NoiseLines(Size w) : w_(w) {}

  /// Returns the index of line `line` of the stack among the different lines.
  [[nodiscard]] static Size at(Size line) {
    return noise_line(kPattern.order_seed, line, kPattern.different, 1);
  }
  /// Returns one of the different lines.
  [[nodiscard]] std::vector<float> different(Size which) const;
  /// Enqueues writing the stack's values; lines of `sinograms` have `w` columns.
  void write(Device& device, DeviceArray& sinograms) const { write_noise(device, sinograms, kPattern); }

 private:
  static constexpr NoisePattern kPattern{.different = kDifferent, .order_seed = 50, .seed = 51};

  Size w_;
};

/// Compares slices that are reconstructed from NoiseLines with a reconstruction in double precision on the
/// host: joined (half-acquisition), filtered, projected back. Cases of up to 2^22 interpolations are compared
/// completely, of larger ones the corners of the stack and random pixels with a fixed seed. Returns what is
/// wrong; empty if all pixels are right.
///
/// The tolerance is the sum of two bounds: the rounding of the filter over n_a angles with independent errors
/// (the smaller of 8 sqrt(n_a) and n_a), and the rounding of the back-projection, 2^-24 of the largest pixel
/// for each column or angle, whichever are more.
std::string verify_fbp(const DeviceArray& slices, const FilterProblem& filter,
                       const BackprojectionGeometry& measured);

}  // namespace peakmark
