#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>

#include "base/size.hpp"

namespace peakmark {

/// seeded.kernel.h, compiled for the host.
namespace seeded_kernel {
using pm_int = std::int32_t;
using pm_uint = std::uint32_t;
using pm_long = std::int64_t;
using pm_ulong = std::uint64_t;
#define PM_DEVICE constexpr
#include "kernels/common/seeded.kernel.h"
#undef SEEDED_ELEMENT
#undef PM_DEVICE
}  // namespace seeded_kernel

/// Returns 32 random bits of element `index` of the array `seed`. Each element is computed independently, so
/// an input of any size can be made, restored and checked in pieces.
constexpr std::uint32_t seeded_bits(std::uint32_t seed, Size index) {
  return seeded_kernel::pm_seeded_bits(seed, index);
}

/// Returns element `index` of the array `seed`: for floating types a multiple of 2^-23 in [-1, 1), which
/// float represents exactly; for integers any value of the type's lowest 32 bits.
template <typename T>
constexpr T seeded_value(std::uint32_t seed, Size index) {
  if constexpr (std::floating_point<T>) {
    return seeded_kernel::pm_seeded_float(seeded_bits(seed, index));
  } else {
    return static_cast<T>(seeded_bits(seed, index));
  }
}

/// Writes elements [first, first + values.size()) of the array `seed`.
template <typename T>
void fill_seeded(std::span<T> values, std::uint32_t seed, Size first) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = seeded_value<T>(seed, first + static_cast<Size>(i));
}

/// Returns the element of the array of noise at which line `line` of a stack begins: it is one of `different`
/// lines of `w` elements, drawn with `order_seed`.
constexpr Size noise_line(std::uint32_t order_seed, Size line, std::int32_t different, Size w) {
  return seeded_kernel::pm_noise_line(order_seed, line, different, w);
}

/// Returns a generator with which tests write arrays. Operations make inputs with device_inputs.hpp.
template <typename T>
std::function<void(std::span<T> piece, Size first)> seeded_generator(std::uint32_t seed) {
  return [seed](std::span<T> piece, Size first) { fill_seeded(piece, seed, first); };
}

}  // namespace peakmark
