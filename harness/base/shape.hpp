#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/size.hpp"

namespace peakmark {

/// The extents of an array in C order, slowest first: (z, y, x), like numpy.
/// An extent may be 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Size> extents) : Shape(std::vector<Size>(extents)) {}
  /// Throws UsageError if an extent is negative.
  explicit Shape(std::vector<Size> extents);

  [[nodiscard]] std::size_t rank() const { return extents_.size(); }
  [[nodiscard]] Size operator[](std::size_t axis) const { return extents_.at(axis); }
  [[nodiscard]] const std::vector<Size>& extents() const { return extents_; }

  /// Returns the number of elements; 1 for rank 0. Throws OverflowError.
  [[nodiscard]] Size elements() const;
  /// Returns the bytes of all elements. Throws OverflowError.
  [[nodiscard]] Size bytes(DType dtype) const;
  /// Returns `(20, 512, 512)`.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<Size> extents_;
};

}  // namespace peakmark
