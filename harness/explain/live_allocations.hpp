#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/run_formulas.hpp"
#include "explain/shape_sizes.hpp"

// What is live at the peak of cases, as multisets: four arrays of one size that one line makes are four.
namespace peakmark {

/// Allocations of one name, call site and process that are live at the peak.
struct LiveAllocations {
  std::string name;
  std::string phase;
  std::string where;
  std::string process;
  ShapeSizes each;   ///< bytes of one of them; 0 where none is live. If those of a shape differ: of all
  ShapeSizes count;  ///< how many are live

  /// Returns whether it is an input or output: these are forgotten less often than what a program allocates
  /// besides.
  [[nodiscard]] bool is_argument() const { return phase == "inputs" || phase == "outputs"; }
};

/// Allocations with the same bytes at every shape: a number of bytes does not show which of them an estimator
/// means.
struct EqualAllocations {
  ShapeSizes each;
  ShapeSizes count;                   ///< of all members
  std::optional<Expression> formula;  ///< of the bytes of each, at the shapes where they are live
  std::vector<LiveAllocations> members;
};

/// Returns what is live at the peaks of some shapes of cases.
std::vector<LiveAllocations> live_allocations(const RecordedCases& cases,
                                              const std::vector<std::size_t>& shapes);

/// Groups allocations by their bytes. `shapes`: those of the sizes, as indices into the shapes of `cases`.
std::vector<EqualAllocations> equal_allocations(const std::vector<LiveAllocations>& live,
                                                const RecordedCases& cases,
                                                const std::vector<std::size_t>& shapes);

/// Returns the formula of sizes at the shapes where they are not 0; null if there is none.
std::optional<Expression> formula_where_not_zero(const ShapeSizes& sizes, const RecordedCases& cases,
                                                 const std::vector<std::size_t>& shapes);

}  // namespace peakmark
