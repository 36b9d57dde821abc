#pragma once

#include "device/device.hpp"

namespace peakmark {

/// Throws UsageError when [offset, offset + bytes) is not inside the array, or the array was reset.
void check_inside(const Array& array, Size offset_bytes, Size bytes);
/// Elements [first, first + count) of the array as bytes, checked.
struct ByteRange {
  Size offset;
  Size bytes;
};
ByteRange elements_inside(const Array& array, Size first, Size count);
/// What every backend demands of a copy: both ranges inside, two different pieces of memory.
void check_copy(const Array& from, Size from_offset_bytes, const Array& to, Size to_offset_bytes, Size bytes);

}  // namespace peakmark
