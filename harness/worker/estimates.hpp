#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "runfile/observation.hpp"
#include "worker/variant.hpp"

namespace peakmark {

/// Asks every estimator of a variant about one case: how many slices fit `available_bytes` (not asked when
/// null), and how many bytes the case's slices need. An estimator that throws answers with an error. `tell`
/// is told of each before it is asked; without it, one that takes long is named on standard error.
std::vector<EstimateObservation> ask_estimators(const Variant& variant, const Parameters& parameters,
                                                std::optional<Size> available_bytes,
                                                const std::function<void(std::string_view)>& tell = nullptr);

}  // namespace peakmark
