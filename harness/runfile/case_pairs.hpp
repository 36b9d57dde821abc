#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runfile/observation.hpp"
#include "runfile/rounds.hpp"

namespace peakmark {

/// Which cases of two lists are the same work.
struct CasePairs {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< places in base and new, in the order of new
  std::vector<std::size_t> only_base;
  std::vector<std::size_t> only_new;
};

/// Whether the variant is part of what must be alike.
enum class PairBy { variant_and_axes, axes };

/// Cases are paired by backend and all axes, defaults included; what is left, by name, since a variant may
/// have got an axis, or have one that the other has not: as long as no axis that both have differs.
CasePairs pair_cases(const std::vector<const Observation*>& base, const std::vector<const Observation*>& next,
                     PairBy by);

/// In the context of a run with several labelled workers a text has the form `old=A, new=B` where they
/// differ. Returns the part of the worker that measured `variant` (A for `sum/fast.old`), or the text itself.
std::string of_worker(const std::string& text, std::string_view variant);

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
