#pragma once

#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// `filter`: device_filter() on the device.
DeviceArray push_filter(Device& device, const FilterProblem& problem);

/// `columns` (int32): for each column of a padded line the column of the line that it shows. Not for
/// `constant`, beside whose lines there are zeros.
DeviceArray push_columns(Device& device, const FilterProblem& problem);

/// The stack of sinograms as an operation pads it: each line in the middle of a wider one, zeros for
/// `constant`.
PaddingProblem padding_of(const FilterProblem& problem);

}  // namespace peakmark
