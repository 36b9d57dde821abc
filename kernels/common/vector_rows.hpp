#pragma once

#include "base/size.hpp"
#include "peakmark/worker/kernel.hpp"

namespace peakmark {

/// Rows of one region of each image of a stack, as a GPU writes them: 16 bytes per work-item.
struct RowsToWrite {
  Size images = 1;
  Size rows = 1;     ///< of the region
  Size columns = 1;  ///< of the region
  Size first = 0;    ///< the region's first element, counted from an address that is a multiple of 16
  Size pitch = 1;    ///< elements from a row to the next; the distance of images is a multiple of it
  Size element_bytes = 4;
};

inline constexpr Size kVectorBytes = 16;

/// Returns a launch over vectors, which start at multiples of 16 bytes wherever a row starts. x counts the
/// vectors of a row, and the item (x, y, z) processes rows y, y + range.y, … of images z, z + range.z, …. Its
/// rows of one image have the same alignment: range.y rows are a multiple of 16 bytes. range.y may exceed the
/// number of rows.
Range vector_rows(const RowsToWrite& rows);

}  // namespace peakmark
