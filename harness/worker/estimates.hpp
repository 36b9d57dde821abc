#pragma once

#include <optional>
#include <vector>

#include "run/observation.hpp"
#include "worker/variant.hpp"

namespace peakmark {

/// Asks every estimator of a variant about one case: how many slices fit `available_bytes` (not asked when
/// null), and how many bytes the case's slices need. An estimator that throws answers with an error.
std::vector<EstimateObservation> ask_estimators(const Variant& variant, const Parameters& parameters,
                                                std::optional<Size> available_bytes);

}  // namespace peakmark
