#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyse/explain/derive/peak_moments.hpp"
#include "record/ledger/allocation_sequence.hpp"

namespace peakmark {

/// Allocations with the same name, phase, call site and process that correspond to each other at every shape.
struct ExplainedAllocation : AllocationOrigin {
  Figure count;  ///< number of allocations in a case; 1 for most
  Figure bytes;  ///< of each allocation; if they differ within a shape, there is no formula, and the largest
                 ///< of each shape is recorded
  /// If they differ within a shape: the formula of the largest. The peak is derived from it.
  std::optional<Expression> largest = {};

  /// Returns the formula of the bytes of all of them; null if there is none.
  [[nodiscard]] std::optional<Expression> all_bytes() const;
  /// Returns whether the allocation exists only at some shapes, and no formula describes which.
  [[nodiscard]] bool is_at_some_shapes() const { return !count.formula && count.max_recorded == 1; }
};

/// The allocations and the peak of a variant, with their formulas.
struct Explanation {
  std::vector<ExplainedAllocation> allocations;  ///< in the order of their first use
  /// Their maximum is the peak; empty if the peak could not be derived for every shape.
  std::vector<PeakMoment> moments;
  std::size_t fitted = 0;    ///< number of shapes from which formulas were found
  std::size_t held_out = 0;  ///< number of shapes on which they were only tested
  /// Maximum over the shapes of the bytes without a formula. 0: every byte is explained.
  Size unexplained_bytes = 0;
  std::set<std::string> unknown_beyond;  ///< PeakMoments::unknown_beyond
  std::vector<std::string> notes;        ///< what is unknown, and which shapes would help

  /// Returns whether there are enough shapes to look for formulas.
  [[nodiscard]] bool has_enough_shapes() const;
  /// Returns whether names of allocations are in place of bytes without a formula in some moment.
  [[nodiscard]] bool is_partial() const;
  /// Returns the formula of the peak, without names of allocations; null if it could not be derived.
  [[nodiscard]] std::optional<Expression> peak() const;
  /// Returns the formula with such names; null if none is needed, or it could not be derived.
  [[nodiscard]] std::optional<Expression> partial_peak() const;
};

/// Explains the allocations of cases of one variant that differ only in their axes: `sequences[i]` was
/// recorded at shape i. Every fourth shape is held out. Throws UsageError if the numbers of shapes and
/// sequences differ. `fitters`: for these shapes; sharing it makes further explanations of the same shapes
/// faster.
Explanation explain(Fitters& fitters, const AllocationSequences& sequences);
Explanation explain(const Shapes& shapes, const AllocationSequences& sequences);

}  // namespace peakmark
