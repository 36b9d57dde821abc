#pragma once

#include <span>
#include <vector>

#include "kernels/padding/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Throws Unsupported if the image has an axis that int32 coordinates cannot index.
void require_int32_coordinates(const PaddingProblem& problem);

/// Returns int32 vectors: a source row for each padded row, and a source column for each padded column. Not
/// for `constant`, whose padding has no source.
struct CoordinateVectors {
  DeviceArray rows, columns;
};
CoordinateVectors push_coordinate_vectors(Device& device, const PaddingProblem& problem);

/// Returns the same as two int32 images (padded rows, padded columns). They are made on the device, except
/// for `custom`, whose lists are on the host.
CoordinateVectors create_coordinate_images(Device& device, const PaddingProblem& problem);

/// Returns the template of `constant` for both coordinate variants, as nabu has it: a padded image with the
/// values of the sides around zeros, kept on the device for all slices. `coords2d` copies one slice after the
/// other into its centre, and then the whole template into the output. `coords1d` copies only the border from
/// it, for all slices in one launch.
DeviceArray create_padded_template(Device& device, const PaddingProblem& problem);

}  // namespace peakmark
