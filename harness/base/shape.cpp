#include "base/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/error.hpp"

namespace peakmark {

Shape::Shape(std::vector<Size> extents) : extents_(std::move(extents)) {
  for (const Size extent : extents_) {
    if (extent < 0) throw UsageError(fmt::format("shape {}: an extent is negative", text()));
  }
}

Size Shape::elements() const {
  Size product = 1;
  for (const Size extent : extents_) product = checked_multiply(product, extent);
  return product;
}

Size Shape::bytes(DType dtype) const {
  return checked_multiply(elements(), size_of(dtype));
}

std::string Shape::text() const {
  return fmt::format("({})", fmt::join(extents_, ", "));
}

}  // namespace peakmark
