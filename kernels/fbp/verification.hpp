#pragma once

#include <string>

#include "kernels/backprojection/geometry.hpp"
#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Compares slices that are reconstructed from NoiseLines with a reconstruction in double precision on the
/// host: joined (half-acquisition), filtered, projected back. Cases of up to 2^22 interpolations are compared
/// completely, of larger ones the corners of the stack and random pixels with a fixed seed. Returns what is
/// wrong; empty if all pixels are right.
///
/// The tolerance is the rounding error of the filter over n_a angles, which are independent (8 times the root
/// of their number, max their number), and that of the back-projection: 2^-24 of the largest pixel for each
/// column or angle, whichever are more.
std::string verify_fbp(const DeviceArray& slices, const FilterProblem& filter,
                       const BackprojectionGeometry& measured);

}  // namespace peakmark
