#include "device/element.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
bool holds(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return true;
  } else if constexpr (std::is_same_v<T, float>) {
    if (std::isnan(value) || std::isinf(value)) return true;
    // Beyond the range of float the conversion itself would be undefined.
    return std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()) &&
           static_cast<double>(static_cast<float>(value)) == value;
  } else {
    // 2^digits is a double for every integer type, the largest integer itself is not.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double begin = std::numeric_limits<T>::is_signed ? -end : 0.0;
    return value >= begin && value < end && std::trunc(value) == value;
  }
}

template <typename T>
Element convert(double value, DType dtype) {
  if (!holds<T>(value)) {
    throw UsageError(
        fmt::format("{} does not hold the value {} exactly; convert it before", to_string(dtype), value));
  }
  Element element{.size = size_of(dtype)};
  const T converted = static_cast<T>(value);
  std::memcpy(element.bytes.data(), &converted, sizeof(T));
  return element;
}

}  // namespace

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

}  // namespace peakmark
