#include "analyse/explain/search/shape_sizes.hpp"

#include <algorithm>
#include <functional>

namespace peakmark {
namespace {

template <typename Compute>
ShapeSizes combine(const ShapeSizes& one, const ShapeSizes& other, const Compute& compute) {
  ShapeSizes result(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) result[i] = compute(one[i], other[i]);
  return result;
}

}  // namespace

ShapeSizes add(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_add);
}

ShapeSizes subtract(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_subtract);
}

ShapeSizes multiply(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_multiply);
}

ShapeSizes negated(ShapeSizes sizes) {
  for (Size& size : sizes) size = -size;
  return sizes;
}

bool is_zero(const ShapeSizes& sizes) {
  return std::ranges::all_of(sizes, [](Size size) { return size == 0; });
}

std::size_t ShapeSizesHash::operator()(const ShapeSizes& sizes) const {
  std::size_t hash = sizes.size();
  for (const Size size : sizes) hash = (hash ^ std::hash<Size>{}(size)) * 0x9e3779b97f4a7c15 + (hash >> 31);
  return hash;
}

Size fixed_number(const ShapeSizes& numbers) {
  Size fixed = 0;
  for (const Size one : numbers) {
    if (one == 0 || one == fixed) continue;
    if (fixed != 0) return 0;
    fixed = one;
  }
  return fixed;
}

}  // namespace peakmark
