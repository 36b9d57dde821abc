#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/size.hpp"

namespace peakmark {

/// The words of the axis `shift`, each a seeded pattern of shifts. A shift depends on its angle (and, for
/// `beyond`, on n_z), never on how many angles there are: a chunk has the shifts that it has in the whole
/// stack.
///   random8    −8 … 8         positive4  0 … 4          zero    0
///   integer8   −8 … 8, whole  negative4  −4 … 0         beyond  larger than n_z, up and down by turns
const std::vector<std::string>& shift_patterns();

/// UsageError, listing the patterns, for another word.
float shift_of_angle(std::string_view pattern, Size angle, Size n_z);
std::vector<float> shifts_of_angles(std::string_view pattern, Size n_a, Size n_z);

/// The most rows that a term of any of the angles [0, n_a) has.
Size most_shifted_rows(std::string_view pattern, Size n_a, Size n_z, DType dtype);

}  // namespace peakmark
