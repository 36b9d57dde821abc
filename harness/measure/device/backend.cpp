#include "measure/device/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace peakmark {

using backend::Array;
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
bool holds(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return true;
  } else if constexpr (std::is_same_v<T, float>) {
    if (std::isnan(value) || std::isinf(value)) return true;
    // A conversion beyond the range of float would be undefined behaviour.
    return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()) &&
           static_cast<double>(static_cast<float>(value)) == value;
  } else {
    // 2^digits can be represented as a double for every integer type; the largest integer cannot.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double begin = std::numeric_limits<T>::is_signed ? -end : 0.0;
    return value >= begin && value < end && std::trunc(value) == value;
  }
}

template <typename T>
Element convert(double value, DType dtype) {
  if (!holds<T>(value)) {
    throw UsageError(
        fmt::format("{} cannot hold the value {} exactly; convert it first", to_string(dtype), value));
  }
  Element element{.size = size_of(dtype)};
  const T converted = static_cast<T>(value);
  std::memcpy(element.bytes.data(), &converted, sizeof(T));
  return element;
}

// A multiple of every warp and wavefront, and small enough for full occupancy.
constexpr Size kGpuGroup = 256;
constexpr Size kCpuGroup = 64;  // amortises the cost of starting a group
constexpr Size kGroupsPerCpuUnit = 8;

/// Returns the largest power of two ≤ `value`, at least 1.
Size power_of_two_below(Size value) {
  Size power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

/// Returns the smallest power of two ≥ `value`, at most `max`.
Size power_of_two_above(Size value, Size max) {
  Size power = 1;
  while (power < value && power < max) power *= 2;
  return power;
}

/// Returns the work-items of a group if the caller gives no local size.
Size default_group(const Range& range, const DeviceInfo& device, Size max_group) {
  if (!device.is_cpu) return power_of_two_below(std::min(kGpuGroup, max_group));
  // On a CPU a work-item is often a whole row: groups of several rows would leave cores idle.
  const Size items = checked_multiply(checked_multiply(range.x, range.y), range.z);
  const Size groups = std::max<Size>(1, device.compute_units) * kGroupsPerCpuUnit;
  return power_of_two_below(std::min({kCpuGroup, max_group, std::max<Size>(1, items / groups)}));
}

}  // namespace

void check_inside(const Array& array, Size offset_bytes, Size bytes) {
  const Size total = array.bytes();
  if (total > 0 && !array) throw UsageError("array without memory: it was reset or never created");
  if (offset_bytes < 0 || bytes < 0 || offset_bytes > total || bytes > total - offset_bytes) {
    throw UsageError(
        fmt::format("range outside the array: {} bytes from byte {} of an array {} of {} ({} bytes)", bytes,
                    offset_bytes, array.shape().text(), to_string(array.dtype()), total));
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
    throw UsageError("copy from an array into itself; copy through a second array");
  }
}

Element element_of(double value, DType dtype) {
  switch (dtype) {
    case DType::u8:
      return convert<std::uint8_t>(value, dtype);
    case DType::i8:
      return convert<std::int8_t>(value, dtype);
    case DType::u16:
      return convert<std::uint16_t>(value, dtype);
    case DType::i16:
      return convert<std::int16_t>(value, dtype);
    case DType::u32:
      return convert<std::uint32_t>(value, dtype);
    case DType::i32:
      return convert<std::int32_t>(value, dtype);
    case DType::u64:
      return convert<std::uint64_t>(value, dtype);
    case DType::i64:
      return convert<std::int64_t>(value, dtype);
    case DType::f32:
    case DType::c64:
      return convert<float>(value, dtype);
    case DType::f64:
    case DType::c128:
      return convert<double>(value, dtype);
  }
  throw std::logic_error("not a dtype");
}

LaunchGeometry launch_geometry(const Range& range, const DeviceInfo& device, Size max_group) {
  LaunchGeometry geometry;
  geometry.global = {range.x, range.y, range.z};
  geometry.local = {range.local_x, range.local_y, range.local_z};
  for (const Size extent : {range.x, range.y, range.z, range.local_x, range.local_y, range.local_z}) {
    if (extent < 0) throw UsageError(fmt::format("negative size of a launch: {} work-items", extent));
  }
  if (geometry.empty()) return geometry;
  if (geometry.local == std::array<Size, 3>{0, 0, 0}) {
    const Size group = default_group(range, device, max_group);
    geometry.local[0] = power_of_two_above(range.x, group);
    geometry.local[1] = power_of_two_above(range.y, group / geometry.local[0]);
  }
  Size items = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    Size& local = geometry.local[i];
    local = std::max<Size>(1, local);
    items = checked_multiply(items, local);
    const Size groups = geometry.global[i] / local + (geometry.global[i] % local != 0 ? 1 : 0);
    geometry.global[i] = checked_multiply(groups, local);
  }
  if (items > max_group) {
    throw UsageError(fmt::format("work-group too large: {} items; this kernel may have {} on {}", items,
                                 max_group, device.name));
  }
  return geometry;
}

}  // namespace peakmark
