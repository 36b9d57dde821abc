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

/// Returns the region that contains all of a stack.
Region whole_region(const Shape& stack);

/// Throw UsageError if a region is empty or not inside the stack (n, ny, nx), or if two regions differ in
/// size. `what` names the region.
void check_region(const Region& region, const Shape& stack, const char* what);
void check_equal_size(const Region& dst, const Region& other);

/// How other is read before it is overwritten, if dst and other are in one array.
enum class Hazard {
  none,         ///< no element is read after it was written by another
  image_order,  ///< images must be processed one after the other, ascending if other is behind dst, else
                ///< descending
  copy,         ///< other must be copied first: the two regions of an image overlap, but are not equal
};
Hazard hazard_in_one_array(const Region& dst, const Region& other);

}  // namespace peakmark
