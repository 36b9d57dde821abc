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

/// How a run took its times where each case got one block a round: in an order of its own each round, each
/// round in worker processes of its own.
struct Rounds {
  std::string job;  ///< the id of what was measured in turns: of this run, or of two builds
  int rounds = 0;   ///< of each look
  std::uint64_t seed = 0;
  std::optional<std::pair<std::string, std::string>> variants;  ///< old and new, where the run compares two
  /// The run may take a second look: it compares two variants, or is one side of two builds.
  bool two_passes = false;
  /// The cases of the second look, whose rounds go on from those of the first: rounds + 1 … 2 × rounds. Null
  /// until the first look is through.
  std::optional<std::vector<std::string>> confirmation_pass;
};

/// At most this many a look.
inline constexpr int kMaxRounds = 1000;

/// The cases in the order of a round: shuffled by seed and round alone, alike on every machine.
std::vector<PlannedCase> in_order_of_round(std::vector<PlannedCase> cases, std::uint64_t seed, int round);

/// The observation of one round: all that was timed in it is one block, of that round.
Observation as_round(Observation observation, int round);

/// Adds a later round to what is known of a case. Bytes stay those of the first round. A case that fails in
/// any round has failed; its blocks stay.
void add_round(Observation& known, const Observation& later);

/// Both have a block of one round.
bool shares_a_round(const Observation& one, const Observation& other);

/// The planned cases that are still to be measured in a round (1, 2, …) of its run. None are once they failed
/// or have no time at all, and none that are not of the second look in its rounds.
std::vector<PlannedCase> left_in_round(const Run& run, int round);

/// Every round of every look is through.
bool rounds_are_through(const Run& run);

/// Medians of all blocks that hold something, in their order.
std::vector<double> block_medians(const GpuTime& time);
/// Medians of the blocks of a look (1 or 2), in the order of rounds; of a run without rounds all blocks, as
/// its only look. Empty where there is no time.
std::vector<double> block_medians(const Observation& observation, const std::optional<Rounds>& rounds,
                                  int look);

}  // namespace peakmark
