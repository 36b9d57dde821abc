#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "base/dtype.hpp"
#include "base/size.hpp"

namespace peakmark {

/// One element as a device holds it: little-endian, in the first `size` bytes.
struct Element {
  std::array<std::byte, 16> bytes{};
  Size size = 0;
  [[nodiscard]] std::span<const std::byte> span() const {
    return {bytes.data(), static_cast<std::size_t>(size)};
  }
};

/// `value` as an element of `dtype`; the real part of a complex one. Throws UsageError when the dtype does
/// not hold the value exactly (a fraction or a number out of range for an integer, a double that f32 would
/// round): who wants the nearest float converts it first. Infinities and NaN are values of the float types.
Element element_of(double value, DType dtype);

}  // namespace peakmark
