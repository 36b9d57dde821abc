#pragma once

#include <string>

#include "kernels/backprojection/geometry.hpp"
#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Compares slices reconstructed from NoiseLines with what double precision on the host makes of them:
/// joined (half-acquisition), filtered, projected back. Cases of up to 2^22 interpolations whole, of larger
/// ones the corners of a stack and pixels drawn from a fixed seed. Returns what is wrong; empty if nothing
/// is.
///
/// The tolerance is what the rounding of the filter comes to over n_a angles, whose errors know nothing of
/// each other (8 times the root of their number, at most their number), and that of the back-projection:
/// 2^-24 of the largest pixel for each column or angle, whichever are more.
std::string verify_fbp(const DeviceArray& slices, const FilterProblem& filter,
                       const BackprojectionGeometry& measured);

}  // namespace peakmark
