#pragma once

#include <string>
#include <string_view>

#include "base/dtype.hpp"
#include "estimate/estimator.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// An axis of integers: a size (least 1), or a pad, an offset, a switch (least 0).
inline AxisDescription size_axis(std::string name, Size default_value, std::string help, Size least = 1) {
  return {std::move(name), default_value, {}, least, std::move(help)};
}

inline AxisDescription word_axis(std::string name, std::string default_value,
                                 std::vector<std::string> choices, std::string help) {
  return {std::move(name), std::move(default_value), std::move(choices), 0, std::move(help)};
}

/// `dtype`, f32 by default.
inline AxisDescription dtype_axis(std::vector<std::string> choices) {
  return word_axis("dtype", "f32", std::move(choices), "element type");
}

inline DType dtype_of_case(const Parameters& parameters) {
  return parse_dtype(parameters.word("dtype"));
}

/// httomo's request for a stack whose slice axis has httomo's number `slice_dimension`; `first` and `second`
/// name the axes of the other two dimensions of the input, in order.
inline EstimateRequest stack_request(const Parameters& parameters, int slice_dimension,
                                     std::string_view first, std::string_view second) {
  return {.slice_dimension = slice_dimension,
          .other_dimensions = {parameters.integer(first), parameters.integer(second)},
          .dtype = dtype_of_case(parameters),
          .available_bytes = 0,
          .parameters = parameters};
}

}  // namespace peakmark
