#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runfile/case_pairs.hpp"
#include "runfile/rounds.hpp"

namespace peakmark {

/// The pairs of cases, by name, whose first look gives reason for a second (statistics/time_change.hpp).
std::vector<std::pair<std::string, std::string>> candidates(const std::vector<const Observation*>& base,
                                                            const std::vector<const Observation*>& next,
                                                            const Rounds& rounds, PairBy by);

/// Of a run that compares two variants: the cases of both, that it measures again.
std::vector<std::string> candidates_of_variants(const Run& run);

/// The observations of one variant.
std::vector<const Observation*> observations_of(const Run& run, const std::string& variant);
std::vector<const Observation*> observations_of(const Run& run);

}  // namespace peakmark
