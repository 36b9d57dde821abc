#pragma once

#include "device/device.hpp"
#include "kernels/padding/problem.hpp"

namespace peakmark {

/// The `constant` mode of both coordinate variants, as nabu has it: a padded image with the values of the
/// sides around zeros, kept on the device. It serves all slices: in `coords2d` one after the other,
/// each is copied into its centre, then the whole into the output; `coords1d` takes the border only from it,
/// and all slices in one launch.
Array create_padded_template(Device& device, const PaddingProblem& problem);

}  // namespace peakmark
