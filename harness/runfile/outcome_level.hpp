#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runfile/observation.hpp"

namespace peakmark {

/// How a case ended, from best to worst: the one order by which check, compare, trends and reports decide
/// that an outcome got worse (docs/verdicts.md).
enum class OutcomeLevel : std::uint8_t {
  ok,
  as_expected,  ///< another outcome, which the suite expects: not worse than `ok`
  incomplete,   ///< `ok`, without a peak or a time that an earlier run has
  unsupported,
  lost,  ///< planned, and the run has no observation of it
  out_of_memory,
  wrong_answer,
  timeout,
  crashed,
};
std::string_view to_string(OutcomeLevel level);

/// Returns the level of an outcome, of `incomplete` or of `lost`. Throws UsageError for another word.
OutcomeLevel parse_outcome_level(std::string_view name);

/// `is_expected`: by the suite.
OutcomeLevel level_of(Outcome outcome, bool is_expected);

/// Returns true if `after` is worse. What a suite expects is as good as `ok`.
bool is_worse(OutcomeLevel before, OutcomeLevel after);

}  // namespace peakmark
