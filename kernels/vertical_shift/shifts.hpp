#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/size.hpp"

namespace peakmark {

/// One of the two terms of a shifted radio: `rows` rows from row `from` of the radio, times `factor`, are
/// added to the rows from `to` on. 0 rows: the term is dropped.
struct ShiftTerm {
  Size from = 0;
  Size to = 0;
  Size rows = 0;
  double factor = 0;  ///< as computed in the dtype of the radios
};

/// new[z] = (1 − f)·r[z + S0] + f·r[z + S0 + 1] with S0 = floor(shift), f = shift − S0, as two terms of a
/// radio of n_z rows. A term that reaches no row, or whose factor is 0, is dropped.
std::array<ShiftTerm, 2> shift_terms(float shift, Size n_z, DType dtype);

/// Returns the shifts of a chunk of radios: radio i of the chunk was taken at angle `angles[i]`, an index
/// into the shifts of all angles. The angles may be in any order and may repeat. Throws UsageError for an
/// index out of range.
std::vector<float> shifts_of_chunk(std::span<const float> shifts, std::span<const Size> angles);

/// Throws UsageError, which names the radio, unless there is one finite shift for each of n_a radios.
void check_shifts(std::span<const float> shifts, Size n_a);

/// The words of the axis `shift`, each a seeded pattern of shifts. A shift depends on its angle (and, for
/// `beyond`, on n_z), never on how many angles there are: a chunk has the shifts that it has in the whole
/// stack.
///   random8    −8 … 8         positive4  0 … 4          zero    0
///   integer8   −8 … 8, whole  negative4  −4 … 0         beyond  larger than n_z, alternately up and down
const std::vector<std::string>& shift_patterns();

/// Throws UsageError, which lists the patterns, for another word.
float shift_of_angle(std::string_view pattern, Size angle, Size n_z);
std::vector<float> shifts_of_angles(std::string_view pattern, Size n_a, Size n_z);

/// Returns the max number of rows of a term at any of the angles [0, n_a).
Size max_shifted_rows(std::string_view pattern, Size n_a, Size n_z, DType dtype);

}  // namespace peakmark
