#pragma once

#include <span>
#include <vector>

#include "device/device.hpp"
#include "kernels/common/seeded.hpp"

namespace peakmark {

/// Sinograms of noise in [−1, 1) that can be verified whatever their size: each line is drawn, by its number,
/// from kDifferent lines, so that a reference filters those few and no more.
class NoiseLines {
 public:
  static constexpr Size kDifferent = 64;

  explicit NoiseLines(Size w) : w_(w) {}

  /// Which of the different lines stands in line `line` of the stack.
  [[nodiscard]] static Size at(Size line) {
    return static_cast<Size>(seeded_bits(kSeedOrder, line)) % kDifferent;
  }
  /// A whole one of the different lines.
  [[nodiscard]] std::vector<float> different(Size which) const;
  /// For Device::push and Device::write.
  [[nodiscard]] Generator<float> generator() const;

 private:
  static constexpr std::uint32_t kSeedOrder = 50, kSeedValues = 51;

  Size w_;
};

}  // namespace peakmark
