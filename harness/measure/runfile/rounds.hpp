#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

struct Run;

/// How a run measured its times in rounds: one block of each case per round, in a new order, in new worker
/// processes.
struct Rounds {
  std::string job;  ///< id of the interleaved measurement: this run, or both runs of a comparison
  int rounds = 0;   ///< per pass
  std::uint64_t seed = 0;
  std::optional<std::pair<std::string, std::string>> variants;  ///< old and new, if the run compares two
  /// Whether the run has a confirmation pass: it compares two variants, or is one side of a comparison.
  bool two_passes = false;
  /// The cases of the confirmation pass, whose rounds are rounds + 1 … 2 × rounds. Null until the screening
  /// pass is complete.
  std::optional<std::vector<std::string>> confirmation_pass;
};

/// Maximum per pass.
inline constexpr int kMaxRounds = 1000;

/// Returns the cases in the order of a round. The order depends only on seed and round, on every machine.
std::vector<PlannedCase> in_order_of_round(std::vector<PlannedCase> cases, std::uint64_t seed, int round);

/// Returns the observation of one round: all samples form one block of that round.
Observation as_round(Observation observation, int round);

/// Adds a later round to the observation of a case. The bytes stay those of the first round. A case that
/// fails in any round has failed, but keeps its blocks.
void add_round(Observation& known, const Observation& later);

/// Returns true if both have a block of the same round.
bool shares_a_round(const Observation& one, const Observation& other);

/// Returns the planned cases that remain to be measured in a round (1, 2, …). Cases that failed or have no
/// time are omitted; in the confirmation pass also cases that it does not repeat.
std::vector<PlannedCase> left_in_round(const Run& run, int round);

/// Returns true if every round of every pass is complete.
bool has_all_rounds(const Run& run);

/// Returns the medians of all blocks that are not empty, in their order.
std::vector<double> block_medians(const GpuTime& time);
/// Returns the medians of the blocks of a pass (1: screening, 2: confirmation), in the order of rounds. In a
/// run without rounds, all blocks belong to pass 1. Empty without a time.
std::vector<double> block_medians(const Observation& observation, const std::optional<Rounds>& rounds,
                                  int pass);

}  // namespace peakmark
