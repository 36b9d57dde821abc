#include "kernels/mul_add/region.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"

namespace peakmark {
namespace {

bool lies_in(Size first, Size count, Size extent) {
  return first >= 0 && count > 0 && count <= extent && first <= extent - count;
}

}  // namespace

std::string Region::text() const {
  return fmt::format("images {}+{}, y {}+{}, x {}+{}", image0, images, y0, h, x0, w);
}

Region whole_region(const Shape& stack) {
  return {0, stack[0], 0, 0, stack[1], stack[2]};
}

void check_region(const Region& region, const Shape& stack, const char* what) {
  if (stack.rank() != 3)
    throw UsageError(fmt::format("{} has shape {}; a stack (n, ny, nx) is needed", what, stack.text()));
  if (region.images <= 0 || region.h <= 0 || region.w <= 0)
    throw UsageError(fmt::format("the region of {} ({}) is empty", what, region.text()));
  if (!lies_in(region.image0, region.images, stack[0]) || !lies_in(region.y0, region.h, stack[1]) ||
      !lies_in(region.x0, region.w, stack[2]))
    throw UsageError(
        fmt::format("the region of {} ({}) does not lie in the stack {}; make it smaller or move it", what,
                    region.text(), stack.text()));
}

void check_equal_size(const Region& dst, const Region& other) {
  if (dst.images != other.images || dst.h != other.h || dst.w != other.w)
    throw UsageError(
        fmt::format("the regions of dst ({}) and other ({}) are unequal in size", dst.text(), other.text()));
}

Hazard hazard_in_one_array(const Region& dst, const Region& other) {
  const bool rows_meet = std::abs(dst.y0 - other.y0) < dst.h;
  const bool columns_meet = std::abs(dst.x0 - other.x0) < dst.w;
  if (!rows_meet || !columns_meet) return Hazard::none;
  const Size images_apart = std::abs(dst.image0 - other.image0);
  if (images_apart >= dst.images) return Hazard::none;
  if (images_apart > 0) return Hazard::image_order;
  return dst.y0 == other.y0 && dst.x0 == other.x0 ? Hazard::none : Hazard::copy;
}

}  // namespace peakmark
