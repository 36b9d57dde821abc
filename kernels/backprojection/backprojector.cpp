#include "kernels/backprojection/backprojector.hpp"

#include <fmt/format.h>

#include "backprojection_linear_source.hpp"
#include "backprojection_tiled_source.hpp"
#include "base/error.hpp"
#include "kernels/backprojection/angle_table.hpp"
#include "kernels/common/floating.hpp"

namespace peakmark {
namespace {

Size divide_up(Size a, Size b) {
  return (a + b - 1) / b;
}

/// Number of images in a stack of images `image`, or in one image.
Size images_in(const Array& stack, const Shape& image, const char* what) {
  const Shape& shape = stack.shape();
  const bool one = shape == image;
  if (!one && !(shape.rank() == 3 && shape[1] == image[0] && shape[2] == image[1]))
    throw UsageError(fmt::format("backprojection: {} of shape {}; this geometry needs (n, {}, {})", what,
                                 shape.text(), image[0], image[1]));
  return one ? 1 : shape[0];
}

class Linear final : public Backprojector {
 public:
  Linear(Device& device, const BackprojectionGeometry& geometry, DType dtype)
      : Backprojector(device, geometry, dtype) {
    with_floating(dtype, [&](auto zero) { push_tables<decltype(zero)>(); });
    kernel_ = device.kernel(backprojection_linear_source(), "backproject_pixels", dtype);
  }

 protected:
  void enqueue(const Stretch& stretch) override {
    const SliceRegion& region = frame().region;
    const Size pixels = checked_multiply(stretch.count, region.h * region.w);
    device_.launch(kernel_, {.x = pixels},
                   {&stretch.slices,
                    stretch.slices_offset,
                    &stretch.sinograms,
                    stretch.sinograms_offset,
                    &cosines_,
                    &sines_,
                    &corrections_,
                    std::int32_t{corrections_ ? 1 : 0},
                    stretch.count,
                    geometry().n_a,
                    geometry().w,
                    region.y0,
                    region.x0,
                    region.h,
                    region.w,
                    frame().side,
                    std::int32_t{geometry().clip ? 1 : 0},
                    floating_argument(dtype(), geometry().axis),
                    floating_argument(dtype(), frame().axis),
                    floating_argument(dtype(), overlap_slope(geometry()))});
  }

 private:
  template <typename T>
  void push_tables() {
    const std::vector<LineView> views = line_views(geometry());
    std::vector<T> values(views.size());
    const auto push = [&](const char* name, auto value_of) {
      for (std::size_t a = 0; a < views.size(); ++a) values[a] = static_cast<T>(value_of(a));
      return device_.push<T>(name, {geometry().n_a}, std::span<const T>(values));
    };
    cosines_ = push("cosines", [&](std::size_t a) { return views[a].cosine; });
    sines_ = push("sines", [&](std::size_t a) { return views[a].sine; });
    const std::vector<double>& corrections = geometry().corrections;
    if (!corrections.empty())
      corrections_ = push("corrections", [&](std::size_t a) { return corrections[a]; });
    else
      corrections_ = device_.create_uninitialised("corrections", {0}, dtype_of<T>);
  }

  Kernel kernel_;
  Array cosines_, sines_, corrections_;
};

class Tiled final : public Backprojector {
 public:
  Tiled(Device& device, const BackprojectionGeometry& geometry)
      : Backprojector(device, geometry, DType::f32) {
    const std::vector<std::int64_t> table = angle_table(geometry);
    table_ = device.push<std::int64_t>("angle_table", angle_table_shape(geometry.n_a), std::span(table));
    by_tiles_ = device.info().is_cpu;
    kernel_ = device.kernel(backprojection_tiled_source(),
                            by_tiles_ ? "backproject_tiles" : "backproject_groups", DType::f32);
  }

 protected:
  void enqueue(const Stretch& stretch) override {
    const SliceRegion& region = frame().region;
    // As the kernels have them.
    const Size tile_h = by_tiles_ ? 8 : 32;
    const Size tile_w = by_tiles_ ? 64 : 32;
    const Size group = by_tiles_ ? 1 : 256;
    const Size tiles =
        checked_multiply(stretch.count, divide_up(region.h, tile_h) * divide_up(region.w, tile_w));
    device_.launch(
        kernel_, {.x = checked_multiply(tiles, group), .local_x = group},
        {&stretch.slices, stretch.slices_offset, &stretch.sinograms, stretch.sinograms_offset, &table_,
         stretch.count, geometry().n_a, geometry().w, region.y0, region.x0, region.h, region.w, frame().side,
         std::int32_t{geometry().clip ? 1 : 0}, static_cast<float>(overlap_slope(geometry()))});
  }

 private:
  bool by_tiles_ = false;
  Kernel kernel_;
  Array table_;
};

}  // namespace

std::string_view name_of(BackprojectionWay way) {
  return way == BackprojectionWay::linear ? "linear" : "tiled";
}

Backprojector::Backprojector(Device& device, BackprojectionGeometry geometry, DType dtype)
    : device_(device), geometry_(std::move(geometry)), frame_(slice_frame(geometry_)), dtype_(dtype) {}

void Backprojector::operator()(const Array& sinograms, Array& slices) {
  const Size count = images_in(sinograms, geometry_.sinogram_shape(), "sinograms");
  if (const Size have = images_in(slices, frame_.slice_shape(), "slices"); have != count)
    throw UsageError(fmt::format("backprojection: {} sinograms for {} slices", count, have));
  (*this)(sinograms, 0, slices, 0, count);
}

void Backprojector::operator()(const Array& sinograms, Size from, Array& slices, Size to, Size count) {
  const auto check_part = [&](const Array& stack, const Shape& image, Size first, const char* what) {
    if (stack.dtype() != dtype_)
      throw UsageError(fmt::format("backprojection: {} are {}; {} was asked for", what,
                                   name_of(stack.dtype()), name_of(dtype_)));
    const Size have = images_in(stack, image, what);
    if (first < 0 || count < 0 || count > have || first > have - count)
      throw UsageError(
          fmt::format("backprojection: {} from {} on in a stack of {} {}", count, first, have, what));
    return checked_multiply(first, image.elements());
  };
  const Size sinograms_offset = check_part(sinograms, geometry_.sinogram_shape(), from, "sinograms");
  const Size slices_offset = check_part(slices, frame_.slice_shape(), to, "slices");
  if (count > 0) enqueue({sinograms, sinograms_offset, slices, slices_offset, count});
}

void check_dtype(BackprojectionWay way, const DeviceInfo& device, DType dtype) {
  with_floating(dtype, [](auto) {});
  require_dtype(device, dtype);
  if (way != BackprojectionWay::linear && dtype != DType::f32)
    throw UsageError(
        fmt::format("backprojection/{} works in f32, not in {}; use linear", name_of(way), name_of(dtype)));
}

std::unique_ptr<Backprojector> make_backprojector(BackprojectionWay way, Device& device,
                                                  const BackprojectionGeometry& geometry, DType dtype) {
  check(geometry);
  check_dtype(way, device.info(), dtype);
  if (way == BackprojectionWay::linear) return std::make_unique<Linear>(device, geometry, dtype);
  return std::make_unique<Tiled>(device, geometry);
}

std::vector<Term> table_terms(BackprojectionWay way, Size n_a, bool corrected, DType dtype) {
  if (way == BackprojectionWay::tiled) return {{"angle_table", 0, angle_table_shape(n_a).bytes(DType::i64)}};
  const Size bytes = Shape{n_a}.bytes(dtype);
  std::vector<Term> terms{{"cosines", 0, bytes}, {"sines", 0, bytes}};
  if (corrected) terms.push_back({"corrections", 0, bytes});
  return terms;
}

}  // namespace peakmark
