#include "kernels/backprojection/backprojector.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "backprojection_linear_source.hpp"
#include "backprojection_texture_source.hpp"
#include "backprojection_tiled_source.hpp"
#include "base/error.hpp"
#include "kernels/backprojection/geometry.hpp"
#include "kernels/backprojection/line_texture.hpp"
#include "kernels/common/arrays.hpp"

namespace peakmark {
namespace {

/// Returns the number of images in a stack of images of shape `image`, or 1 for an image.
Size images_in(const DeviceArray& stack, const Shape& image, const char* what) {
  const Shape extents = shape(stack);
  const bool one = extents == image;
  if (!one && !(extents.rank() == 3 && extents[1] == image[0] && extents[2] == image[1]))
    throw UsageError(fmt::format("backprojection: {} of shape {}; this geometry needs (n, {}, {})", what,
                                 extents.text(), image[0], image[1]));
  return one ? 1 : extents[0];
}

/// Tables of cosine, sine and correction of each angle, for `linear` and `texture`.
class AngleLists {
 public:
  AngleLists(Device& device, const BackprojectionGeometry& geometry, DType dtype) {
    with_floating(dtype, [&](auto zero) { push<decltype(zero)>(device, geometry); });
  }
  [[nodiscard]] const DeviceArray& cosines() const { return cosines_; }
  [[nodiscard]] const DeviceArray& sines() const { return sines_; }
  [[nodiscard]] const DeviceArray& corrections() const { return corrections_; }
  [[nodiscard]] std::int32_t has_corrections() const { return corrections_.elements() > 0 ? 1 : 0; }

 private:
  template <typename T>
  void push(Device& device, const BackprojectionGeometry& geometry) {
    const std::vector<LineView> views = line_views(geometry);
    const auto list = [&](const char* name, Size count, auto value_of) {
      std::vector<T> values(static_cast<std::size_t>(count));
      for (std::size_t a = 0; a < values.size(); ++a) values[a] = static_cast<T>(value_of(a));
      return create_with<T>(device, name, {count}, std::span<const T>(values));
    };
    const std::vector<double>& corrections = geometry.corrections;
    cosines_ = list("cosines", geometry.n_a, [&](std::size_t a) { return views[a].cosine; });
    sines_ = list("sines", geometry.n_a, [&](std::size_t a) { return views[a].sine; });
    corrections_ = list("corrections", static_cast<Size>(corrections.size()),
                        [&](std::size_t a) { return corrections[a]; });
  }

  DeviceArray cosines_, sines_, corrections_;
};

class Linear final : public Backprojector {
 public:
  Linear(Device& device, const BackprojectionGeometry& geometry, DType dtype)
      : Backprojector(device, geometry, dtype),
        lists_(device, geometry, dtype),
        kernel_(find_kernel(device, backprojection_linear_source(), "backproject_pixels", dtype)) {}

 protected:
  void enqueue(const StackPart& part) override {
    const SliceRegion& region = frame().region;
    const Size pixels = checked_multiply(part.count, region.h * region.w);
    device_.launch(kernel_, {.x = pixels},
                   {part.slices,
                    part.slices_offset,
                    part.sinograms,
                    part.sinograms_offset,
                    lists_.cosines(),
                    lists_.sines(),
                    lists_.corrections(),
                    lists_.has_corrections(),
                    part.count,
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
  AngleLists lists_;
  Kernel kernel_;
};

class Tiled final : public Backprojector {
 public:
  Tiled(Device& device, const BackprojectionGeometry& geometry)
      : Backprojector(device, geometry, DType::f32) {
    const std::vector<std::int64_t> table = angle_table(geometry);
    table_ = create_with<std::int64_t>(device, "angle_table", angle_table_shape(geometry.n_a),
                                       std::span<const std::int64_t>(table));
    by_tiles_ = device.is_cpu();
    const KernelSource& source = backprojection_tiled_source();
    kernel_ = find_kernel(device, source, by_tiles_ ? "backproject_tiles" : "backproject_groups", DType::f32);
    if (!by_tiles_) of_two_ = find_kernel(device, source, "backproject_groups_of_two", DType::f32);
  }

 protected:
  void enqueue(const StackPart& part) override {
    const Size pairs = by_tiles_ ? 0 : part.count / 2;
    if (pairs > 0) launch(of_two_, part, 0, 2 * pairs, pairs);
    if (const Size rest = part.count - 2 * pairs; rest > 0) launch(kernel_, part, 2 * pairs, rest, rest);
  }

 private:
  /// Launches over slices [first, first + count) of the part, with this number of layers of tiles.
  void launch(const Kernel& kernel, const StackPart& part, Size first, Size count, Size layers) {
    const SliceRegion& region = frame().region;
    // As the kernels have them.
    const Size tile_h = 32;
    const Size tile_w = 64;
    const Size group = by_tiles_ ? 1 : 256;
    const Size tiles = checked_multiply(layers, divide_up(region.h, tile_h) * divide_up(region.w, tile_w));
    device_.launch(kernel, {.x = checked_multiply(tiles, group), .local_x = group},
                   {part.slices, part.slices_offset + first * region.h * region.w, part.sinograms,
                    part.sinograms_offset + first * geometry().n_a * geometry().w, table_, count,
                    geometry().n_a, geometry().w, region.y0, region.x0, region.h, region.w, frame().side,
                    std::int32_t{geometry().clip ? 1 : 0}, static_cast<float>(overlap_slope(geometry()))});
  }

  bool by_tiles_ = false;
  Kernel kernel_, of_two_;
  DeviceArray table_;
};

class Texture final : public Backprojector {
 public:
  Texture(Device& device, const BackprojectionGeometry& geometry)
      : Backprojector(device, geometry, DType::f32),
        lists_(device, geometry, DType::f32),
        kernel_(find_kernel(device, backprojection_texture_source(), "backproject_texture", DType::f32)) {
    LineTexture::check(1, geometry.n_a, geometry.w);
  }
  ~Texture() override {
    try {
      device_.finish();                // kernels may still read through the textures
    } catch (const std::exception&) {  // errors of earlier work are reported by the next call that waits
    }
  }

 protected:
  void enqueue(const StackPart& part) override {
    LineTexture::check(part.count + (part.sinograms_offset > 0 ? 1 : 0), geometry().n_a, geometry().w);
    const SliceRegion& region = frame().region;
    for (Size z = 0; z < part.count; ++z) {
      const Size sinogram = part.sinograms_offset + z * geometry().n_a * geometry().w;
      const Size slice = part.slices_offset + z * region.h * region.w;
      device_.launch(
          kernel_,
          {.x = checked_multiply(divide_up(region.h, 32) * divide_up(region.w, 32), 256), .local_x = 256},
          {part.slices, slice, texture(part.sinograms, sinogram), lists_.cosines(), lists_.sines(),
           lists_.corrections(), lists_.has_corrections(), geometry().n_a, region.y0, region.x0, region.h,
           region.w, frame().side, std::int32_t{geometry().clip ? 1 : 0}, static_cast<float>(geometry().axis),
           static_cast<float>(frame().axis), static_cast<float>(overlap_slope(geometry()))});
    }
  }

 private:
  /// Keeps textures, because kernels that use them may still be in the queue, and the next call usually has
  /// the same sinograms. The address of the memory identifies a texture.
  std::uint64_t texture(const DeviceArray& sinograms, Size offset) {
    constexpr std::size_t kMaxTextures = 4096;
    const std::pair key(sinograms.handle(), offset);
    if (const auto found = textures_.find(key); found != textures_.end()) return found->second.handle();
    if (textures_.size() >= kMaxTextures) {
      device_.finish();
      textures_.clear();
    }
    return textures_.try_emplace(key, sinograms, offset, geometry().n_a, geometry().w, std::as_const(device_))
        .first->second.handle();
  }

  AngleLists lists_;
  Kernel kernel_;
  std::map<std::pair<std::uintptr_t, Size>, LineTexture> textures_;
};

}  // namespace

std::string_view to_string(BackprojectionMethod method) {
  switch (method) {
    case BackprojectionMethod::linear:
      return "linear";
    case BackprojectionMethod::tiled:
      return "tiled";
    case BackprojectionMethod::texture:
      return "texture";
  }
  return "unknown";
}

Backprojector::Backprojector(Device& device, BackprojectionGeometry geometry, DType dtype)
    : device_(device), geometry_(std::move(geometry)), frame_(slice_frame(geometry_)), dtype_(dtype) {}

void Backprojector::operator()(const DeviceArray& sinograms, DeviceArray& slices) {
  const Size count = images_in(sinograms, geometry_.sinogram_shape(), "sinograms");
  if (const Size have = images_in(slices, frame_.slice_shape(), "slices"); have != count)
    throw UsageError(fmt::format("backprojection: {} sinograms for {} slices", count, have));
  (*this)(sinograms, 0, slices, 0, count);
}

void Backprojector::operator()(const DeviceArray& sinograms, Size from, DeviceArray& slices, Size to,
                               Size count) {
  const auto check_part = [&](const DeviceArray& stack, const Shape& image, Size first, const char* what) {
    if (stack.dtype() != to_string(dtype_))
      throw UsageError(
          fmt::format("backprojection: {} are {}; {} is needed", what, stack.dtype(), to_string(dtype_)));
    const Size have = images_in(stack, image, what);
    if (first < 0 || count < 0 || count > have || first > have - count)
      throw UsageError(
          fmt::format("backprojection: {} {} beginning at index {} were asked for; the stack has {}", count,
                      what, first, have));
    return checked_multiply(first, image.elements());
  };
  const Size sinograms_offset = check_part(sinograms, geometry_.sinogram_shape(), from, "sinograms");
  const Size slices_offset = check_part(slices, frame_.slice_shape(), to, "slices");
  if (count > 0) enqueue({sinograms, sinograms_offset, slices, slices_offset, count});
}

void check_element_type(BackprojectionMethod method, DType dtype) {
  with_floating(dtype, [](auto) {});
  if (method != BackprojectionMethod::linear && dtype != DType::f32)
    throw UsageError(fmt::format("backprojection/{} works in f32, not in {}; use linear", to_string(method),
                                 to_string(dtype)));
}

void check_method(BackprojectionMethod method, const Device& device, DType dtype) {
  if (method == BackprojectionMethod::texture && device.backend() == "opencl")
    throw Unsupported("backprojection/texture runs on CUDA only; use tiled");
  with_floating(dtype, [](auto) {});
  require_dtype(device, dtype);
  check_element_type(method, dtype);
}

std::unique_ptr<Backprojector> make_backprojector(BackprojectionMethod method, Device& device,
                                                  const BackprojectionGeometry& geometry, DType dtype) {
  check(geometry);
  check_method(method, device, dtype);
  if (method == BackprojectionMethod::linear) return std::make_unique<Linear>(device, geometry, dtype);
  if (method == BackprojectionMethod::texture) return std::make_unique<Texture>(device, geometry);
  return std::make_unique<Tiled>(device, geometry);
}

std::vector<Part> table_parts(BackprojectionMethod method, Size n_a, bool corrected, DType dtype) {
  if (method == BackprojectionMethod::tiled)
    return {{"angle_table", 0, angle_table_shape(n_a).bytes(DType::i64)}};
  const Size bytes = Shape{n_a}.bytes(dtype);
  std::vector<Part> parts{{"cosines", 0, bytes}, {"sines", 0, bytes}};
  if (corrected) parts.push_back({"corrections", 0, bytes});
  return parts;
}

OverlapWeighting::OverlapWeighting(Device& device, const BackprojectionGeometry& geometry, DType dtype)
    : device_(device), geometry_(geometry) {
  check(geometry);
  if (!geometry.weighted())
    throw UsageError("backprojection: weights are for half-acquisition; this geometry has none");
  require_dtype(device, dtype);
  with_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> corrections(geometry.corrections.begin(), geometry.corrections.end());
    corrections_ = create_with<T>(device, "corrections", {static_cast<Size>(corrections.size())},
                                  std::span<const T>(corrections));
  });
  kernel_ = find_kernel(device, backprojection_linear_source(), "weigh_overlap", dtype);
}

void OverlapWeighting::operator()(DeviceArray& sinograms) {
  const Shape stack = shape(sinograms);
  const auto [n_a, w] = std::pair(geometry_.n_a, geometry_.w);
  if (!(stack == geometry_.sinogram_shape()) && !(stack.rank() == 3 && stack[1] == n_a && stack[2] == w))
    throw UsageError(fmt::format("backprojection: sinograms of shape {}; this geometry needs (n, {}, {})",
                                 stack.text(), n_a, w));
  if (sinograms.dtype() != corrections_.dtype())
    throw UsageError(fmt::format("backprojection: sinograms are {}; {} is needed", sinograms.dtype(),
                                 corrections_.dtype()));
  const DType dtype = peakmark::dtype(corrections_);
  const Size n_z = stack.rank() == 3 ? stack[0] : 1;
  const Size columns = device_.is_cpu() ? w : 1;
  const Size pieces = (w + columns - 1) / columns;
  device_.launch(kernel_, {.x = checked_multiply(checked_multiply(n_z, n_a), pieces)},
                 {sinograms, Size{0}, corrections_, std::int32_t{geometry_.corrections.empty() ? 0 : 1}, n_z,
                  n_a, w, columns, floating_argument(dtype, geometry_.axis),
                  floating_argument(dtype, overlap_slope(geometry_))});
}

}  // namespace peakmark
