#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analyse/explain/search/shapes.hpp"

namespace peakmark {

/// A formula that gives every recorded size exactly.
struct Fit {
  Expression formula;
  /// Another formula of about the same complexity that is also exact but differs elsewhere, and the shape at
  /// which the two differ: recording it decides between them.
  std::optional<Expression> rival = {};
  Shapes deciding_shape = {};
};

/// Finds formulas for sizes by exact integer arithmetic: nothing is approximated. A formula is correct at
/// every shape, or it is not returned.
///
/// It tries, simplest first: a constant; a product of up to three factors; a polynomial in the axes; a
/// polynomial in the axes and one or two rounded lengths. A factor is a sum of axes, such a sum divided and
/// rounded, or rounded to a power of two or to a length for an FFT, a minimum or maximum, or a choice by an
/// axis whose 0 means "all".
///
/// Preparing a set of shapes takes a few milliseconds; a fit takes microseconds to milliseconds. Not
/// thread-safe.
class Fitter {
 public:
  /// `held_out`: indices of shapes that only test a formula. Throws UsageError if axes have different numbers
  /// of values.
  Fitter(Shapes shapes, std::vector<std::size_t> held_out);
  /// Prepares the shapes `at` (indices) of another Fitter, which must outlive this one. This is faster.
  Fitter(Fitter& all, std::vector<std::size_t> at, std::vector<std::size_t> held_out);
  ~Fitter();
  Fitter(const Fitter&) = delete;
  Fitter& operator=(const Fitter&) = delete;

  /// Returns the simplest formula found for `sizes`, one per shape; null if none is exact at every shape.
  std::optional<Fit> fit(std::span<const Size> sizes);

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace peakmark
