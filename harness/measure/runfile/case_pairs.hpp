#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "measure/runfile/rounds.hpp"

namespace peakmark {

/// Pairs of cases from two lists that do the same work.
struct CasePairs {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< indices in base and new, in the order of new
  std::vector<std::size_t> only_base;
  std::vector<std::size_t> only_new;
};

/// What must be equal in a pair.
enum class PairBy { variant_and_axes, axes };

/// Pairs cases by backend, version and all axes, including defaults; for two variants, regardless of their
/// versions. The remaining cases are paired by name if the axes that both have are equal: a variant may have
/// an axis that the other lacks.
CasePairs pair_cases(const std::vector<const Observation*>& base, const std::vector<const Observation*>& next,
                     PairBy by);

/// Returns the part of a text that belongs to the labelled worker of `variant`. The context of a run with
/// several workers has texts such as `old=A, new=B`, where A belongs to `sum/fast.old`. Returns any other
/// text unchanged.
std::string of_worker(const std::string& text, std::string_view variant);

/// Returns the pairs of cases, by name, that may differ after the screening pass and are therefore measured
/// again in the confirmation pass (measure/statistics/time_change.hpp).
std::vector<std::pair<std::string, std::string>> candidates(const std::vector<const Observation*>& base,
                                                            const std::vector<const Observation*>& next,
                                                            const Rounds& rounds, PairBy by);

/// Returns the cases of both variants that the confirmation pass of a run with two variants measures.
std::vector<std::string> candidates_of_variants(const Run& run);

/// Returns the observations of one variant, or of all.
std::vector<const Observation*> observations_of(const Run& run, const std::string& variant);
std::vector<const Observation*> observations_of(const Run& run);

}  // namespace peakmark
