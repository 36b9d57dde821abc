#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyse/explain/derive/allocation_groups.hpp"
#include "analyse/explain/search/fit.hpp"

namespace peakmark {

/// A moment that is the peak at some shapes.
struct PeakMoment {
  Expression bytes;
  std::vector<std::size_t> allocations;  ///< live allocations: indices into Explanation::allocations
  std::vector<Expression>
      terms;  ///< the bytes of each entry of `allocations`, for all its live allocations together
  bool is_sum_of_terms = true;      ///< false: the moment does not occur at every shape, and is 0 there
  bool is_partial = false;          ///< names of allocations are in place of bytes without a formula
  std::vector<std::size_t> shapes;  ///< recorded shapes at which it is the peak
  /// If `shapes` is empty: a shape outside the recorded ones at which it is the peak.
  Shapes example;
};

/// The input of find_peak_moments(). `counts` and `bytes`: for each group, the formulas of the number of
/// allocations in a case and of the bytes of each.
struct PeakSearch {
  Fitters& fitters;
  const AllocationSequences& sequences;
  const std::vector<MatchedAllocations>& groups;
  const std::vector<std::optional<Expression>>& counts;
  const std::vector<std::optional<Expression>>& bytes;
  /// The recorded shapes. The name of an allocation whose bytes have no formula is an axis with its recorded
  /// bytes.
  const Shapes& shapes;
};

struct PeakMoments {
  /// Their maximum is the peak at every recorded shape. Empty if the peak at a shape has no formula. Moments
  /// that are the peak at recorded shapes come first, by the number of shapes.
  std::vector<PeakMoment> moments;
  /// Names of allocations without a formula that are live at moments which may be the peak at shapes that
  /// were not recorded. Such moments are omitted if the moments that are the peak at recorded shapes have
  /// formulas.
  std::set<std::string> unknown_beyond;
};

/// Replays the sequences with formulas. A moment that is not the peak at any recorded shape is omitted
/// - if another provably needs at least as much for all values of the axes, from 0 on, or from 1 if 0 was not
///   recorded, or
/// - if it is the peak at none of 4,096 random shapes, in which one, two or all axes are up to 8,192 times as
///   long as recorded.
/// For a program with thousands of moments, only the 2,000 with the most bytes are examined.
PeakMoments find_peak_moments(const PeakSearch& search);

}  // namespace peakmark
