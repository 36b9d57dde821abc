#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runfile/observation.hpp"

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

}  // namespace peakmark
