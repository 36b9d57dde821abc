#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "measure/runfile/observation.hpp"

namespace peakmark {

/// How a case ended, from best to worst: by this order check, compare, trends and reports decide whether an
/// outcome got worse (docs/verdicts.md).
enum class OutcomeLevel : std::uint8_t {
  ok,
  as_expected,  ///< another outcome, which the suite expects: not worse than `ok`
  incomplete,   ///< `ok`, but without a peak or a time that an earlier run has
  unsupported,
  lost,  ///< planned, but the run has no observation of it
  out_of_memory,
  wrong_answer,
  timeout,
  crashed,
};
std::string_view to_string(OutcomeLevel level);

/// Returns the level named by an outcome, by `incomplete` or by `lost`. Throws UsageError for another word.
OutcomeLevel parse_outcome_level(std::string_view name);

/// `is_expected`: whether the suite expects the outcome.
OutcomeLevel level_of(Outcome outcome, bool is_expected);

/// Returns true if `after` is worse. An outcome that the suite expects is as good as `ok`.
bool is_worse(OutcomeLevel before, OutcomeLevel after);

}  // namespace peakmark
