#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>

#include "base/size.hpp"
#include "device/device.hpp"

namespace peakmark {

/// 32 random bits of element `index` of the array `seed`. Each element is known by itself, so that an input
/// of any size can be made, restored and checked by pieces; 32-bit mixing, so that compilers vectorise it.
constexpr std::uint32_t seeded_bits(std::uint32_t seed, Size index) {
  const auto wide = static_cast<std::uint64_t>(index);
  std::uint32_t bits = static_cast<std::uint32_t>(wide) ^
                       (static_cast<std::uint32_t>(wide >> 32) * 0x9e3779b9U) ^ (seed * 0x85ebca6bU);
  bits ^= bits >> 16;
  bits *= 0x7feb352dU;
  bits ^= bits >> 15;
  bits *= 0x846ca68bU;
  bits ^= bits >> 16;
  return bits;
}

/// Element `index` of the array `seed`: for floating types a multiple of 2^-23 in [-1, 1), which float holds
/// exactly; for integers every value of the type's lowest 32 bits.
template <typename T>
constexpr T seeded_value(std::uint32_t seed, Size index) {
  if constexpr (std::floating_point<T>) {
    const auto steps = static_cast<std::int32_t>(seeded_bits(seed, index) >> 8) - (1 << 23);
    return static_cast<T>(steps) * static_cast<T>(1.0 / (1 << 23));
  } else {
    return static_cast<T>(seeded_bits(seed, index));
  }
}

/// Elements [first, first + values.size()) of the array `seed`.
template <typename T>
void fill_seeded(std::span<T> values, std::uint32_t seed, Size first) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = seeded_value<T>(seed, first + static_cast<Size>(i));
}

/// For Device::push and Device::write.
template <typename T>
Generator<T> seeded_generator(std::uint32_t seed) {
  return [seed](std::span<T> piece, Size first) { fill_seeded(piece, seed, first); };
}

}  // namespace peakmark
