#include "device/bounds.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace peakmark {

void check_inside(const Array& array, Size offset_bytes, Size bytes) {
  const Size total = array.bytes();
  if (total > 0 && !array) throw UsageError("an array without memory: it was reset or never made");
  if (offset_bytes < 0 || bytes < 0 || offset_bytes > total || bytes > total - offset_bytes) {
    throw UsageError(fmt::format("{} bytes from byte {} on do not lie inside an array {} of {} ({} bytes)",
                                 bytes, offset_bytes, array.shape().text(), to_string(array.dtype()), total));
  }
}

ByteRange elements_inside(const Array& array, Size first, Size count) {
  const Size size = size_of(array.dtype());
  const ByteRange range{checked_multiply(first, size), checked_multiply(count, size)};
  check_inside(array, range.offset, range.bytes);
  return range;
}

void check_copy(const Array& from, Size from_offset_bytes, const Array& to, Size to_offset_bytes,
                Size bytes) {
  check_inside(from, from_offset_bytes, bytes);
  check_inside(to, to_offset_bytes, bytes);
  if (bytes > 0 && &from.buffer() == &to.buffer()) {
    throw UsageError("a copy from an array into itself: copy through a second array");
  }
}

}  // namespace peakmark
