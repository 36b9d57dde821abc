#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ledger/allocation_sequence.hpp"

// Allocations of the same variant at different shapes, matched by phase, name, call site, process and order.
namespace peakmark {

/// Allocations that play one part.
struct MatchedAllocations {
  std::string phase;
  std::string name;
  std::string where;
  std::string process;
  std::vector<std::vector<std::size_t>> members;  ///< of each shape the indices into its sequence, in order
};

/// Groups the allocations of sequences, one a shape. Allocations of one key that come equally often at every
/// shape but differ in size get a group each, by their order; if they do not come equally often, the last is
/// a group of its own: the rest of a chunked axis.
std::vector<MatchedAllocations> group_allocations(const AllocationSequences& sequences);

/// What is live at a moment: groups in order, how many allocations of each, and all their bytes.
struct LiveMoment {
  std::vector<std::pair<std::size_t, Size>> live;
  Size bytes = 0;
  /// Returns the groups that are live, whatever their number.
  [[nodiscard]] std::vector<std::size_t> pattern() const;
  /// Returns how many allocations of a live group there are.
  [[nodiscard]] Size count(std::size_t group) const;
};

/// Returns the moments of a shape that no later moment without a release between exceeds: just before each
/// run of releases, and the end. Of very many, those with the most bytes: a million live groups in all.
std::vector<LiveMoment> high_points(const AllocationSequence& sequence,
                                    const std::vector<MatchedAllocations>& groups, std::size_t shape);

}  // namespace peakmark
