#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/peak_moments.hpp"
#include "ledger/allocation_sequence.hpp"

namespace peakmark {

/// Allocations of one name, phase, call site and process that play the same part at every shape.
struct ExplainedAllocation {
  std::string name;
  std::string phase;
  std::string where;
  std::string process;  ///< SequencedAllocation::process
  Figure count;         ///< how many a case makes; 1 for most
  Figure bytes;         ///< of each; if those of a shape differ, without a formula: the largest of each shape
  /// If those of a shape differ: the formula of the largest. The peak is derived from it.
  std::optional<Expression> largest = {};
};

/// What the memory of a variant is made of.
struct Explanation {
  std::vector<ExplainedAllocation> allocations;  ///< in the order of their first use
  /// The peak is the maximum of these; empty where it could not be derived for every shape.
  std::vector<PeakMoment> moments;
  /// If `moments` is empty since some allocations have no formula for their bytes: the moments with the names
  /// of these allocations in place of their bytes. Empty if not even these could be derived.
  std::vector<PeakMoment> partial_moments;
  std::size_t fitted = 0;    ///< shapes that formulas were found with
  std::size_t held_out = 0;  ///< shapes that they were tested on only
  /// Of the allocations without a formula: most bytes at one shape. 0: every byte is explained.
  Size unexplained_bytes = 0;
  /// How far the peak's formula is off at the shapes held out: 0, since no other is returned; nothing where
  /// the peak has no formula.
  std::optional<Size> worst_bytes_off;
  std::vector<std::string> unknown_beyond;  ///< PeakMoments::unknown_beyond
  std::vector<std::string> notes;           ///< what is not known, and which shapes would help

  /// Returns whether there are enough shapes to look for formulas.
  [[nodiscard]] bool has_enough_shapes() const;
  /// Returns the formula of the peak; nothing where it could not be derived.
  [[nodiscard]] std::optional<Expression> peak() const;
  /// Returns the peak with names of allocations in place of bytes without a formula; nothing if there is a
  /// formula, or `partial_moments` is empty.
  [[nodiscard]] std::optional<Expression> partial_peak() const;
};

/// Explains the allocations of cases of one variant that differ in their axes only: `sequences[i]` was
/// recorded at shape i. Every fourth shape is held out. Throws UsageError where the numbers of shapes and
/// sequences differ. `fitters`: of the shapes; explanations of the same shapes are faster if they share it.
Explanation explain(Fitters& fitters, const AllocationSequences& sequences);
Explanation explain(const Shapes& shapes, const AllocationSequences& sequences);

}  // namespace peakmark
