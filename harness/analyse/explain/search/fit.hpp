#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
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

/// A figure in bytes as a formula, or as the recorded numbers if no formula was found.
struct Figure {
  std::optional<Expression> formula;
  std::vector<Size> recorded;       ///< one for each shape that has a value
  std::vector<std::size_t> shapes;  ///< the shape of each recorded value
  Size max_recorded = 0;
  std::optional<Expression> rival;  ///< Fit::rival, and the shape that decides
  Shapes deciding_shape;
  /// If there is no formula: one that is exact only where an axis is 0, or only where it is not.
  struct Part {
    Expression formula;
    std::string condition;  ///< `batch is not 0`
  };
  std::optional<Part> part;
};

/// Finds formulas of sizes that were recorded at some of a set of shapes. Each subset of the shapes is
/// prepared once and shared by all fits. Not thread-safe.
class Fitters {
 public:
  explicit Fitters(Shapes shapes);

  [[nodiscard]] const Shapes& shapes() const { return shapes_; }

  /// Fits `sizes` at the shapes with the indices `at`; every fourth is held out. In addition to Fitter's
  /// formulas, finds bytes that stop growing at a bound, and bytes with one formula where an axis is 0 and
  /// another where it is not. With fewer than kMinExplainedShapes, returns only the numbers.
  const Figure& fit(const std::vector<std::size_t>& at, const std::vector<Size>& sizes);

 private:
  using Indices = std::vector<std::size_t>;
  struct Entry {
    std::unique_ptr<Fitter> fitter;
    std::map<std::vector<Size>, Figure> figures;
  };

  std::optional<Fit> fit_exactly(const Indices& at, const std::vector<Size>& sizes);
  std::optional<Expression> fit_bounded(const Indices& at, const std::vector<Size>& sizes);
  std::optional<Expression> fit_cases(const Indices& at, const std::vector<Size>& sizes, Figure& figure);

  [[nodiscard]] bool may_depend_on_zero(const Shapes::Axis& axis, const Indices& at,
                                        const std::vector<Size>& sizes) const;

  Shapes shapes_;
  Fitter all_;  ///< of all shapes
  std::map<Indices, Entry> entries_;
};

}  // namespace peakmark
