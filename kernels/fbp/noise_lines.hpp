#pragma once

#include <vector>

#include "kernels/common/device_inputs.hpp"
#include "kernels/common/seeded.hpp"
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

}  // namespace peakmark
