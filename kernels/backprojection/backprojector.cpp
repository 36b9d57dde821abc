#include "kernels/backprojection/backprojector.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "backprojection_linear_source.hpp"
#include "backprojection_texture_source.hpp"
#include "backprojection_tiled_source.hpp"
#include "base/error.hpp"
#include "kernels/backprojection/angle_table.hpp"
#include "kernels/backprojection/line_texture.hpp"
#include "kernels/common/arrays.hpp"

namespace peakmark {
namespace {

/// Number of images in a stack of images `image`, or in one image.
Size images_in(const Array& stack, const Shape& image, const char* what) {
  const Shape& shape = stack.shape();
  const bool one = shape == image;
  if (!one && !(shape.rank() == 3 && shape[1] == image[0] && shape[2] == image[1]))
    throw UsageError(fmt::format("backprojection: {} of shape {}; this geometry needs (n, {}, {})", what,
                                 shape.text(), image[0], image[1]));
  return one ? 1 : shape[0];
}

/// Cosine, sine and correction of each angle, as `linear` and `texture` look them up.
class AngleLists {
 public:
  AngleLists(Device& device, const BackprojectionGeometry& geometry, DType dtype) {
    with_floating(dtype, [&](auto zero) { push<decltype(zero)>(device, geometry); });
  }
  [[nodiscard]] const Array* cosines() const { return &cosines_; }
  [[nodiscard]] const Array* sines() const { return &sines_; }
  [[nodiscard]] const Array* corrections() const { return &corrections_; }
  [[nodiscard]] std::int32_t has_corrections() const { return corrections_ ? 1 : 0; }

 private:
  template <typename T>
  void push(Device& device, const BackprojectionGeometry& geometry) {
    const std::vector<LineView> views = line_views(geometry);
    const auto list = [&](const char* name, Size count, auto value_of) {
      std::vector<T> values(static_cast<std::size_t>(count));
      for (std::size_t a = 0; a < values.size(); ++a) values[a] = static_cast<T>(value_of(a));
      return device.push<T>(name, {count}, std::span<const T>(values));
    };
    const std::vector<double>& corrections = geometry.corrections;
    cosines_ = list("cosines", geometry.n_a, [&](std::size_t a) { return views[a].cosine; });
    sines_ = list("sines", geometry.n_a, [&](std::size_t a) { return views[a].sine; });
    corrections_ = list("corrections", static_cast<Size>(corrections.size()),
                        [&](std::size_t a) { return corrections[a]; });
  }

  Array cosines_, sines_, corrections_;
};

class Linear final : public Backprojector {
 public:
  Linear(Device& device, const BackprojectionGeometry& geometry, DType dtype)
      : Backprojector(device, geometry, dtype),
        lists_(device, geometry, dtype),
        kernel_(device.kernel(backprojection_linear_source(), "backproject_pixels", dtype)) {}

 protected:
  void enqueue(const Stretch& stretch) override {
    const SliceRegion& region = frame().region;
    const Size pixels = checked_multiply(stretch.count, region.h * region.w);
    device_.launch(kernel_, {.x = pixels},
                   {&stretch.slices,
                    stretch.slices_offset,
                    &stretch.sinograms,
                    stretch.sinograms_offset,
                    lists_.cosines(),
                    lists_.sines(),
                    lists_.corrections(),
                    lists_.has_corrections(),
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
  AngleLists lists_;
  Kernel kernel_;
};

class Tiled final : public Backprojector {
 public:
  Tiled(Device& device, const BackprojectionGeometry& geometry)
      : Backprojector(device, geometry, DType::f32) {
    const std::vector<std::int64_t> table = angle_table(geometry);
    table_ = device.push<std::int64_t>("angle_table", angle_table_shape(geometry.n_a), std::span(table));
    by_tiles_ = device.info().is_cpu;
    const KernelSource& source = backprojection_tiled_source();
    kernel_ = device.kernel(source, by_tiles_ ? "backproject_tiles" : "backproject_groups", DType::f32);
    if (!by_tiles_) of_two_ = device.kernel(source, "backproject_groups_of_two", DType::f32);
  }

 protected:
  void enqueue(const Stretch& stretch) override {
    const Size pairs = by_tiles_ ? 0 : stretch.count / 2;
    if (pairs > 0) launch(of_two_, stretch, 0, 2 * pairs, pairs);
    if (const Size rest = stretch.count - 2 * pairs; rest > 0)
      launch(kernel_, stretch, 2 * pairs, rest, rest);
  }

 private:
  /// Slices [first, first + count) of the stretch, in so many layers of tiles.
  void launch(const Kernel& kernel, const Stretch& stretch, Size first, Size count, Size layers) {
    const SliceRegion& region = frame().region;
    // As the kernels have them.
    const Size tile_h = 32;
    const Size tile_w = 64;
    const Size group = by_tiles_ ? 1 : 256;
    const Size tiles = checked_multiply(layers, divide_up(region.h, tile_h) * divide_up(region.w, tile_w));
    device_.launch(kernel, {.x = checked_multiply(tiles, group), .local_x = group},
                   {&stretch.slices, stretch.slices_offset + first * region.h * region.w, &stretch.sinograms,
                    stretch.sinograms_offset + first * geometry().n_a * geometry().w, &table_, count,
                    geometry().n_a, geometry().w, region.y0, region.x0, region.h, region.w, frame().side,
                    std::int32_t{geometry().clip ? 1 : 0}, static_cast<float>(overlap_slope(geometry()))});
  }

  bool by_tiles_ = false;
  Kernel kernel_, of_two_;
  Array table_;
};

class Texture final : public Backprojector {
 public:
  Texture(Device& device, const BackprojectionGeometry& geometry)
      : Backprojector(device, geometry, DType::f32),
        lists_(device, geometry, DType::f32),
        kernel_(device.kernel(backprojection_texture_source(), "backproject_texture", DType::f32)) {
    LineTexture::check(1, geometry.n_a, geometry.w);
  }
  ~Texture() override {
    try {
      device_.finish();       // kernels may still read through the textures
    } catch (const Error&) {  // of earlier work: the next call that waits reports it
    }
  }

 protected:
  void enqueue(const Stretch& stretch) override {
    LineTexture::check(stretch.count + (stretch.sinograms_offset > 0 ? 1 : 0), geometry().n_a, geometry().w);
    const SliceRegion& region = frame().region;
    for (Size z = 0; z < stretch.count; ++z) {
      const Size sinogram = stretch.sinograms_offset + z * geometry().n_a * geometry().w;
      const Size slice = stretch.slices_offset + z * region.h * region.w;
      device_.launch(
          kernel_,
          {.x = checked_multiply(divide_up(region.h, 32) * divide_up(region.w, 32), 256), .local_x = 256},
          {&stretch.slices, slice, texture(stretch.sinograms, sinogram), lists_.cosines(), lists_.sines(),
           lists_.corrections(), lists_.has_corrections(), geometry().n_a, region.y0, region.x0, region.h,
           region.w, frame().side, std::int32_t{geometry().clip ? 1 : 0}, static_cast<float>(geometry().axis),
           static_cast<float>(frame().axis), static_cast<float>(overlap_slope(geometry()))});
    }
  }

 private:
  /// Textures are kept: kernels that use them may still be in the queue, and the next call brings the same
  /// sinograms. The address identifies the memory: a texture is bound to nothing else.
  std::uint64_t texture(const Array& sinograms, Size offset) {
    constexpr std::size_t kMaxTextures = 4096;
    const std::pair key(sinograms.buffer().handle(), offset);
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
  std::map<std::pair<std::uint64_t, Size>, LineTexture> textures_;
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
                                   to_string(stack.dtype()), to_string(dtype_)));
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

void check_method(BackprojectionMethod method, const DeviceInfo& device, DType dtype) {
  if (method == BackprojectionMethod::texture && device.backend == Backend::opencl)
    throw Unsupported("backprojection/texture runs on CUDA only; use tiled");
  with_floating(dtype, [](auto) {});
  require_dtype(device, dtype);
  if (method != BackprojectionMethod::linear && dtype != DType::f32)
    throw UsageError(fmt::format("backprojection/{} works in f32, not in {}; use linear", to_string(method),
                                 to_string(dtype)));
}

std::unique_ptr<Backprojector> make_backprojector(BackprojectionMethod method, Device& device,
                                                  const BackprojectionGeometry& geometry, DType dtype) {
  check(geometry);
  check_method(method, device.info(), dtype);
  if (method == BackprojectionMethod::linear) return std::make_unique<Linear>(device, geometry, dtype);
  if (method == BackprojectionMethod::texture) return std::make_unique<Texture>(device, geometry);
  return std::make_unique<Tiled>(device, geometry);
}

std::vector<Term> table_terms(BackprojectionMethod method, Size n_a, bool corrected, DType dtype) {
  if (method == BackprojectionMethod::tiled)
    return {{"angle_table", 0, angle_table_shape(n_a).bytes(DType::i64)}};
  const Size bytes = Shape{n_a}.bytes(dtype);
  std::vector<Term> terms{{"cosines", 0, bytes}, {"sines", 0, bytes}};
  if (corrected) terms.push_back({"corrections", 0, bytes});
  return terms;
}

}  // namespace peakmark
