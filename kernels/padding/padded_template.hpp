#pragma once

#include "device/device.hpp"
#include "kernels/padding/problem.hpp"

namespace peakmark {

/// The `constant` mode of both coordinate variants, as nabu has it: a padded image with the values of the
/// sides, made on the host and kept on the device. It serves all slices, one after the other: each is copied
/// into its centre, then the whole into the output.
Array push_padded_template(Device& device, const PaddingProblem& problem);

}  // namespace peakmark
