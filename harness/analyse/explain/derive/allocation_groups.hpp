#pragma once

#include <string>
#include <utility>
#include <vector>

#include "record/ledger/allocation_sequence.hpp"

// Allocations of the same variant at different shapes, matched by phase, name, call site, process and order.
namespace peakmark {

/// What allocations have in common that correspond to each other: see SequencedAllocation.
struct AllocationOrigin {
  std::string name;
  std::string phase;
  std::string where;
  std::string process;
};

/// Allocations that correspond to each other at different shapes.
struct MatchedAllocations : AllocationOrigin {
  std::vector<std::vector<std::size_t>> members;  ///< for each shape, the indices into its sequence, in order
};

/// Groups the allocations of sequences, one per shape. If allocations with the same key are equally many at
/// every shape but differ in size, each has its own group, by order. If they are not equally many, the last
/// one has its own group: the rest of a chunked axis.
std::vector<MatchedAllocations> group_allocations(const AllocationSequences& sequences);

/// Returns the group of each allocation of a shape, by its index into the sequence.
std::vector<std::size_t> groups_of(const AllocationSequence& sequence,
                                   const std::vector<MatchedAllocations>& groups, std::size_t shape);

/// The allocations that are live at a moment: groups in order with their number of allocations, and the sum
/// of all bytes.
struct LiveMoment {
  std::vector<std::pair<std::size_t, Size>> live;
  Size bytes = 0;
  /// Returns the live groups, whatever their numbers of allocations.
  [[nodiscard]] std::vector<std::size_t> pattern() const;
  /// Returns the number of live allocations of a group.
  [[nodiscard]] Size count(std::size_t group) const;
};

/// Returns the local maxima of live memory of a shape: the states just before each run of releases, and at
/// the end. Limited to those with the most bytes: a million live groups in total.
std::vector<LiveMoment> high_points(const AllocationSequence& sequence,
                                    const std::vector<MatchedAllocations>& groups, std::size_t shape);

}  // namespace peakmark
