#include "kernels/mul_add/mul_add.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/common/vector_rows.hpp"
#include "mul_add_source.hpp"

namespace peakmark {
namespace {

void check_array(const DeviceArray& array, DType dtype, const char* what) {
  if (array.dtype() != to_string(dtype))
    throw UsageError(
        fmt::format("{} is {}; this mul_add was made for {}", what, array.dtype(), to_string(dtype)));
}

Region one_image(Region region, Size image) {
  region.image0 += image;
  region.images = 1;
  return region;
}

}  // namespace

MulAdd::Layout MulAdd::region_layout(const Shape& stack, const Region& region) {
  const Size row = stack[2];
  const Size image = stack[1] * row;
  return {region.image0 * image + region.y0 * row + region.x0, row, image};
}

MulAdd::MulAdd(Device& device, DType dtype) : device_(device), dtype_(dtype) {
  with_floating(dtype, [](auto) {});
  require_dtype(device, dtype);
  const bool rows = device.is_cpu();
  const std::string_view element = to_string(dtype);
  mul_add_ = device.kernel(mul_add_source(), rows ? "mul_add_rows" : "mul_add_elements", element);
  copy_region_ = device.kernel(mul_add_source(), rows ? "copy_region_rows" : "copy_region_elements", element);
}

void MulAdd::operator()(DeviceArray& dst, const Region& dst_region, double a, const DeviceArray& other,
                        const Region& other_region, double b) {
  check_array(dst, dtype_, "dst");
  check_array(other, dtype_, "other");
  const Shape dst_stack = shape(dst);
  const Shape other_stack = shape(other);
  check_region(dst_region, dst_stack, "dst");
  check_region(other_region, other_stack, "other");
  check_equal_size(dst_region, other_region);

  const bool one_array = &dst == &other;
  const Hazard hazard = one_array ? hazard_in_one_array(dst_region, other_region) : Hazard::none;
  if (hazard == Hazard::none) {
    launch(dst, region_layout(dst_stack, dst_region), a, other, region_layout(other_stack, other_region), b,
           dst_region);
    return;
  }
  const Size images = dst_region.images;
  const bool descending = other_region.image0 < dst_region.image0;
  for (Size i = 0; i < images; ++i) {
    const Size image = descending ? images - 1 - i : i;
    const Region dst_image = one_image(dst_region, image);
    const Region other_image = one_image(other_region, image);
    if (hazard == Hazard::image_order) {
      launch(dst, region_layout(dst_stack, dst_image), a, other, region_layout(other_stack, other_image), b,
             dst_image);
    } else {
      copy_region(other, other_image);
      launch(dst, region_layout(dst_stack, dst_image), a, copy_of_other_, {0, other_image.w, 0}, b,
             dst_image);
    }
  }
}

void MulAdd::reserve_copy(Size h, Size w) {
  const Size elements = checked_multiply(h, w);
  if (copy_of_other_ && copy_of_other_.elements() >= elements) return;
  copy_of_other_.reset();
  copy_of_other_ = create_uninitialised(device_, "copy_of_other", {elements}, dtype_);
}

void MulAdd::launch(DeviceArray& dst, const Layout& to, double a, const DeviceArray& other,
                    const Layout& from, double b, const Region& size) {
  const Size images = size.images;
  const Size h = size.h;
  const Size w = size.w;
  const Argument factor_dst = floating_argument(dtype_, a);
  const Argument factor_other = floating_argument(dtype_, b);
  if (device_.is_cpu()) {
    device_.launch(mul_add_, {.x = checked_multiply(images, h), .local_x = 1},
                   {dst, to.first, to.row, to.image, other, from.first, from.row, from.image, images, h, w,
                    factor_dst, factor_other});
  } else {
    const Range range = vector_rows({.images = images,
                                     .rows = h,
                                     .columns = w,
                                     .first = to.first,
                                     .pitch = to.row,
                                     .element_bytes = size_of(dtype_)});
    device_.launch(mul_add_, range,
                   {dst, to.first, to.row, to.image, other, from.first, from.row, from.image, images, h, w,
                    factor_dst, factor_other, range.y, range.z});
  }
}

void MulAdd::copy_region(const DeviceArray& other, const Region& region) {
  reserve_copy(region.h, region.w);
  const Layout from = region_layout(shape(other), region);
  if (device_.is_cpu()) {
    device_.launch(copy_region_, {.x = region.h, .local_x = 1},
                   {copy_of_other_, other, from.first, from.row, region.h, region.w});
  } else {
    const Range range = vector_rows(
        {.rows = region.h, .columns = region.w, .pitch = region.w, .element_bytes = size_of(dtype_)});
    device_.launch(copy_region_, range,
                   {copy_of_other_, other, from.first, from.row, region.h, region.w, range.y});
  }
}

}  // namespace peakmark
