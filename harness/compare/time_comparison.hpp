#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runfile/observation.hpp"
#include "runfile/rounds.hpp"
#include "statistics/time_change.hpp"

namespace peakmark {

/// One case's two sides.
struct TimePair {
  const Observation* base = nullptr;
  const Observation* next = nullptr;
};

struct TimeComparison {
  std::optional<TimeChange> change;  ///< none where there is nothing to compare
  double adjusted_p = 1;             ///< over the cases judged with it
  int look = 1;                      ///< whose blocks count
  TimeVerdict verdict = TimeVerdict::undecided;
  std::string advice;  ///< what to do, where the verdict is undecided, suspicious or not comparable
};

/// In the order of the pairs; none where neither side has a time. `interleaved`: the rounds of the job in
/// which both sides were measured; null where they were not.
std::vector<std::optional<TimeComparison>> compare_times(const std::vector<TimePair>& pairs,
                                                         const std::optional<Rounds>& interleaved);

}  // namespace peakmark
