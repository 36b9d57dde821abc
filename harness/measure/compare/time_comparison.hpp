#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "measure/runfile/rounds.hpp"
#include "measure/statistics/time_change.hpp"

namespace peakmark {

/// The two sides of a case.
struct TimePair {
  const Observation* base = nullptr;
  const Observation* next = nullptr;
};

struct TimeComparison {
  std::optional<TimeChange> change;  ///< null if there is nothing to compare
  double adjusted_p = 1;             ///< adjusted over the cases judged together
  int pass = 1;  ///< the pass whose blocks count: 1 screening, 2 confirmation; `look` in JSON
  TimeVerdict verdict = TimeVerdict::undecided;
  std::string advice;  ///< what to do if the verdict is undecided, suspicious or not comparable
};

/// Compares the times of pairs, in their order; null if neither side has a time. `interleaved`: the rounds of
/// the job that measured both sides; null if there was no such job.
std::vector<std::optional<TimeComparison>> compare_times(const std::vector<TimePair>& pairs,
                                                         const std::optional<Rounds>& interleaved);

}  // namespace peakmark
