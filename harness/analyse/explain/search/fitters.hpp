#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/search/fit.hpp"

namespace peakmark {

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
