#pragma once

#include <string>

#include "base/shape.hpp"
#include "base/size.hpp"

namespace peakmark {

/// A y-x region of some neighbouring images of a stack (n, ny, nx), in elements.
struct Region {
  Size image0 = 0;
  Size images = 0;
  Size y0 = 0;
  Size x0 = 0;
  Size h = 0;
  Size w = 0;

  [[nodiscard]] std::string text() const;
  friend bool operator==(const Region&, const Region&) = default;
};

/// All of a stack.
Region whole_region(const Shape& stack);

/// Throw UsageError, `what` naming the region: it is empty, or does not lie in the stack (n, ny, nx); the two
/// have not one size.
void check_region(const Region& region, const Shape& stack, const char* what);
void check_equal_size(const Region& dst, const Region& other);

/// Where dst and other lie in one array: how other is read before it is overwritten.
enum class Hazard {
  none,         ///< no element is read after it was written by another
  image_order,  ///< images must be done one after the other, ascending when other lies behind dst, else
                ///< descending
  copy,         ///< other must be copied first: the two regions of an image overlap, and are not the same
};
Hazard hazard_in_one_array(const Region& dst, const Region& other);

}  // namespace peakmark
