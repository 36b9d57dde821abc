#pragma once

#include <string>
#include <vector>

#include "kernels/backprojection/geometry.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Sinograms of noise in [−1, 1) that can be verified whatever their size: each line is drawn, by its number,
/// from kDifferent lines, so that a reference filters those few and no more.
class NoiseLines {
 public:
  static constexpr Size kDifferent = 64;

  explicit NoiseLines(Size w) : w_(w) {}

  /// Which of the different lines is line `line` of the stack.
  [[nodiscard]] static Size at(Size line) {
    return noise_line(kPattern.order_seed, line, kPattern.different, 1);
  }
  /// A whole one of the different lines.
  [[nodiscard]] std::vector<float> different(Size which) const;
  /// Enqueues the stack's values; `sinograms` has lines of `w`.
  void write(Device& device, DeviceArray& sinograms) const { write_noise(device, sinograms, kPattern); }

 private:
  static constexpr NoisePattern kPattern{.different = kDifferent, .order_seed = 50, .seed = 51};

  Size w_;
};

/// Compares slices reconstructed from NoiseLines with what double precision on the host makes of them:
/// joined (half-acquisition), filtered, projected back. Cases of up to 2^22 interpolations whole, of larger
/// ones the corners of a stack and pixels drawn from a fixed seed. Returns what is wrong; empty if nothing
/// is.
///
/// The tolerance is what the rounding of the filter comes to over n_a angles, whose errors know nothing of
/// each other (8 times the root of their number, at most their number), and that of the back-projection:
/// 2^-24 of the largest pixel for each column or angle, whichever are more.
std::string verify_fbp(const DeviceArray& slices, const FilterProblem& filter,
                       const BackprojectionGeometry& measured);

}  // namespace peakmark
