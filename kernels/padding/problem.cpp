#include "kernels/padding/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "kernels/common/element_types.hpp"

namespace peakmark {
namespace {

constexpr std::array<std::string_view, 6> kModeNames = {"constant",  "edge", "reflect",
                                                        "symmetric", "wrap", "custom"};

void check_axis(std::string_view axis, const PaddedAxis& padded) {
  if (padded.extent < 1)
    throw UsageError(
        fmt::format("padding: n{} is {}; an image has at least one element", axis, padded.extent));
  if (padded.before < 0 || padded.after < 0)
    throw UsageError(fmt::format("padding: pad_{0}0 is {1} and pad_{0}1 is {2}; a pad is 0 or more", axis,
                                 padded.before, padded.after));
  try {
    checked_add(checked_add(padded.before, padded.extent), padded.after);
  } catch (const OverflowError& error) {
    throw OverflowError(fmt::format("padding: pad_{0}0 + n{0} + pad_{0}1: {1}", axis, error.what()));
  }
}

/// `custom` keeps a list as long as the padded axis on the host, also on `dry`.
void check_custom_axis(std::string_view axis, const PaddedAxis& padded) {
  check_axis(axis, padded);
  if (padded.padded() > kMaxCustomCoordinates)
    throw UsageError(
        fmt::format("padding: pad_{0}0 + n{0} + pad_{0}1 is {1}; mode custom keeps one coordinate for each; "
                    "the maximum is {2}",
                    axis, padded.padded(), kMaxCustomCoordinates));
}

void check_coordinates(std::string_view what, const std::vector<Size>& coordinates, const PaddedAxis& axis) {
  if (std::ssize(coordinates) != axis.padded())
    throw UsageError(fmt::format("padding: {} {} coordinates for {} padded {}s", coordinates.size(), what,
                                 axis.padded(), what));
  const auto outside = std::find_if(coordinates.begin(), coordinates.end(),
                                    [&](Size source) { return source < 0 || source >= axis.extent; });
  if (outside != coordinates.end())
    throw UsageError(fmt::format("padding: {} coordinate {} is {}, outside the image's {} {}s", what,
                                 outside - coordinates.begin(), *outside, axis.extent, what));
}

std::vector<Size> drawn_coordinates(const PaddedAxis& axis, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](Size bound) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(bound));
  };
  std::vector<Size> coordinates;
  coordinates.reserve(static_cast<std::size_t>(axis.padded()));
  while (std::ssize(coordinates) < axis.padded()) {
    const Size step = below(3) - 1;
    const Size length = std::min(1 + below(axis.extent), axis.padded() - std::ssize(coordinates));
    Size source = below(axis.extent);
    for (Size i = 0; i < length; ++i, source += step)
      coordinates.push_back(std::clamp<Size>(source, 0, axis.extent - 1));
  }
  return coordinates;
}

}  // namespace

std::string_view to_string(PaddingMode mode) {
  return kModeNames.at(static_cast<std::size_t>(mode));
}

PaddingMode parse_padding_mode(std::string_view name) {
  const auto found = std::find(kModeNames.begin(), kModeNames.end(), name);
  if (found == kModeNames.end())
    throw UsageError(
        fmt::format("padding: unknown mode '{}'; write one of {}", name, fmt::join(kModeNames, ", ")));
  return static_cast<PaddingMode>(found - kModeNames.begin());
}

std::vector<std::string> padding_mode_names() {
  return {kModeNames.begin(), kModeNames.end()};
}

std::uint64_t element_bits(double value, DType dtype) {
  return with_element_type(dtype, [&]<typename T>(T) {
    if constexpr (std::is_integral_v<T>) {
      // 2^digits is exact as a double; the largest value of a 64-bit type is not.
      const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
      const double least = std::is_signed_v<T> ? -end : 0.0;
      if (!(value >= least && value < end) || value != std::trunc(value))
        throw UsageError(
            fmt::format("padding: {} cannot hold the value {} of a side", to_string(dtype), value));
    }
    const T element = static_cast<T>(value);
    if constexpr (sizeof(T) == 8) return std::bit_cast<std::uint64_t>(element);
    if constexpr (sizeof(T) == 4) return std::uint64_t{std::bit_cast<std::uint32_t>(element)};
    if constexpr (sizeof(T) == 2) return std::uint64_t{std::bit_cast<std::uint16_t>(element)};
    if constexpr (sizeof(T) == 1) return std::uint64_t{std::bit_cast<std::uint8_t>(element)};
  });
}

void check(const PaddingProblem& problem) {
  if (problem.n < 1)
    throw UsageError(fmt::format("padding: n is {}; a stack has at least one slice", problem.n));
  check_axis("y", problem.y);
  check_axis("x", problem.x);
  checked_add(problem.input_shape().bytes(problem.dtype), problem.output_shape().bytes(problem.dtype));
  with_element_type(problem.dtype, []<typename T>(T) {});
  if (problem.mode == PaddingMode::constant)
    for (const double value : {problem.values.y0, problem.values.y1, problem.values.x0, problem.values.x1})
      element_bits(value, problem.dtype);
  if (problem.mode == PaddingMode::custom) {
    check_coordinates("row", problem.rows, problem.y);
    check_coordinates("column", problem.columns, problem.x);
  }
}

PaddingProblem padding_problem(const Case& asked) {
  PaddingProblem problem;
  problem.mode = parse_padding_mode(asked.word("mode"));
  problem.n = asked["n"];
  problem.y = {asked["ny"], asked["pad_y0"], asked["pad_y1"]};
  problem.x = {asked["nx"], asked["pad_x0"], asked["pad_x1"]};
  problem.dtype = parse_dtype(asked.word("dtype"));
  if (problem.mode == PaddingMode::custom) {
    check_custom_axis("y", problem.y);
    check_custom_axis("x", problem.x);
    problem.rows = drawn_coordinates(problem.y, 1);
    problem.columns = drawn_coordinates(problem.x, 2);
  }
  check(problem);
  return problem;
}

}  // namespace peakmark
