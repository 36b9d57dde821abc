#pragma once

#include <span>
#include <vector>

#include "kernels/padding/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Throws Unsupported when the image has an axis that int32 coordinates cannot count.
void require_int32_coordinates(const PaddingProblem& problem);

/// The int32 vectors of a source row for each padded row and of a source column for each padded column. Not
/// for `constant`, whose padding has no source.
struct CoordinateVectors {
  DeviceArray rows, columns;
};
CoordinateVectors push_coordinate_vectors(Device& device, const PaddingProblem& problem);

/// The same, spread over a padded image: two int32 images (padded rows, padded columns). Made on the device,
/// but for `custom`, whose lists are the host's.
CoordinateVectors create_coordinate_images(Device& device, const PaddingProblem& problem);

/// The `constant` mode of both coordinate variants, as nabu has it: a padded image with the values of the
/// sides around zeros, kept on the device. It serves all slices: in `coords2d` one after the other,
/// each is copied into its centre, then the whole into the output; `coords1d` takes the border only from it,
/// and all slices in one launch.
DeviceArray create_padded_template(Device& device, const PaddingProblem& problem);

}  // namespace peakmark
