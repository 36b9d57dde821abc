#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runfile/observation.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

struct Run;

/// How a run took its times in rounds: one block of each case per round, in a new order, in new worker
/// processes.
struct Rounds {
  std::string job;  ///< the id of what was measured interleaved: this run, or both runs of a comparison
  int rounds = 0;   ///< per pass
  std::uint64_t seed = 0;
  std::optional<std::pair<std::string, std::string>> variants;  ///< old and new, if the run compares two
  /// The run has a confirmation pass: it compares two variants, or is one side of a comparison.
  bool two_passes = false;
  /// The cases of the confirmation pass, whose rounds are rounds + 1 … 2 × rounds. Null until the screening
  /// pass is complete.
  std::optional<std::vector<std::string>> confirmation_pass;
};

/// Per pass.
inline constexpr int kMaxRounds = 1000;

/// Returns the cases in the order of a round. It depends on seed and round alone, on every machine.
std::vector<PlannedCase> in_order_of_round(std::vector<PlannedCase> cases, std::uint64_t seed, int round);

/// Returns the observation of one round: all samples form one block of that round.
Observation as_round(Observation observation, int round);

/// Adds a later round to the observation of a case. Bytes stay those of the first round. A case that fails in
/// any round has failed; its blocks stay.
void add_round(Observation& known, const Observation& later);

/// Returns true if both have a block of the same round.
bool shares_a_round(const Observation& one, const Observation& other);

/// Returns the planned cases that are still to be measured in a round (1, 2, …). Cases that failed or have no
/// time are left out; in rounds of the confirmation pass so are cases that it does not repeat.
std::vector<PlannedCase> left_in_round(const Run& run, int round);

/// Returns true if every round of every pass is complete.
bool has_all_rounds(const Run& run);

/// Returns the medians of all blocks that are not empty, in their order.
std::vector<double> block_medians(const GpuTime& time);
/// Returns the medians of the blocks of a pass (1: screening, 2: confirmation), in the order of rounds. All
/// blocks of a run without rounds belong to pass 1. Empty without a time.
std::vector<double> block_medians(const Observation& observation, const std::optional<Rounds>& rounds,
                                  int pass);

}  // namespace peakmark
