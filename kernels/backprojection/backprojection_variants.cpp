#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "kernels/backprojection/backprojector.hpp"
#include "kernels/backprojection/line_texture.hpp"
#include "kernels/backprojection/reference.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/backprojection/verify_pixels.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/element_types.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/common/variants.hpp"
#include "kernels/operations.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeedSinograms = 40;
constexpr std::uint32_t kSeedPixels = 2;

/// Max interpolations of a verification, which then takes some tenths of a second. Smaller cases are compared
/// completely; in larger cases the corners and random pixels with a fixed seed are compared.
constexpr Size kVerifiedInterpolations = Size{1} << 24;

/// What one case computes. The constructor throws UsageError for an invalid case.
struct Problem {
  explicit Problem(const Case& asked)
      : geometry(geometry_of_case(asked)),
        frame(slice_frame(geometry)),
        sinograms_shape{asked["n_z"], geometry.n_a, geometry.w},
        slices_shape{asked["n_z"], frame.region.h, frame.region.w},
        dtype(parse_dtype(asked.word("dtype"))) {
    static_cast<void>(checked_add(sinograms_shape.bytes(dtype), slices_shape.bytes(dtype)));
  }
  BackprojectionGeometry geometry;
  SliceFrame frame;
  Shape sinograms_shape, slices_shape;
  DType dtype;
};

class BackprojectionComputation final : public Computation {
 public:
  BackprojectionComputation(Device& device, BackprojectionMethod method, const Problem& problem)
      : device_(device),
        method_(method),
        geometry_(problem.geometry),
        frame_(problem.frame),
        sinograms_shape_(problem.sinograms_shape),
        slices_shape_(problem.slices_shape),
        dtype_(problem.dtype) {
    check_method(method, device, dtype_);
    if (method == BackprojectionMethod::texture)
      LineTexture::check(sinograms_shape_[0], geometry_.n_a, geometry_.w);
  }

  void set_up() override { backprojector_ = make_backprojector(method_, device_, geometry_, dtype_); }

  void create_inputs() override {
    sinograms_ = create_seeded(device_, "sinograms", sinograms_shape_, dtype_, kSeedSinograms);
  }

  void create_outputs() override { slices_ = create_uninitialised(device_, "slices", slices_shape_, dtype_); }

  void call() override { (*backprojector_)(sinograms_, slices_); }

  std::string verify() override {
    return with_floating(dtype_, [&](auto zero) { return verify_as<decltype(zero)>(); });
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return checked_add(sinograms_shape_.bytes(dtype_), slices_shape_.bytes(dtype_));
  }

 private:
  /// The largest pixel of noise is sqrt(n_a) or more, even if it is not compared.
  [[nodiscard]] double tolerance(double largest) const {
    const double noise = std::sqrt(static_cast<double>(geometry_.n_a));
    const double unit = dtype_ == DType::f32 ? 0x1p-24 : 0x1p-51;
    const double rounding = rounding_of_pixels(unit, frame_, geometry_.n_a, std::max(largest, noise));
    return method_ == BackprojectionMethod::texture ? rounding + texture_rounding_of_pixels(geometry_.n_a)
                                                    : rounding;
  }

  template <typename T>
  std::string verify_as() {
    const std::vector<LineView> views = line_views(geometry_);
    const double slope = overlap_slope(geometry_);
    const auto [n_z, n_a, w] = std::tuple(sinograms_shape_[0], sinograms_shape_[1], sinograms_shape_[2]);
    PixelComparison<T> comparison(slices_shape_);
    std::vector<T> read(static_cast<std::size_t>(slices_shape_[2]));
    for (const auto& [row, columns] :
         pixels_to_verify(slices_shape_, n_a, kVerifiedInterpolations, kSeedPixels)) {
      slices_.read_part<T>(row * slices_shape_[2], std::span(read));
      const Size z = row / slices_shape_[1];
      const Size y = frame_.region.y0 + row % slices_shape_[1];
      for (const Size column : columns) {
        const Size x = frame_.region.x0 + column;
        double expected = 0;
        if (!geometry_.clip || inside_circle(frame_.side, y, x))
          expected = backprojected_pixel(views, slope, w, y, x, [&, n_a = n_a, w = w](Size a, Size i) {
            return seeded_value<T>(kSeedSinograms, (z * n_a + a) * w + i);
          });
        comparison.add(row, column, expected, read[static_cast<std::size_t>(column)]);
      }
    }
    return comparison.error(tolerance(comparison.largest()));
  }

  Device& device_;
  BackprojectionMethod method_;
  BackprojectionGeometry geometry_;
  SliceFrame frame_;
  Shape sinograms_shape_, slices_shape_;
  DType dtype_;
  std::unique_ptr<Backprojector> backprojector_;
  DeviceArray sinograms_, slices_;
};

/// The exact formula: sinograms, slices, and the tables that the method keeps.
std::vector<Part> parts(BackprojectionMethod method, const Case& asked) {
  const BackprojectionGeometry geometry = frame_geometry_of_case(asked);
  const DType dtype = parse_dtype(asked.word("dtype"));
  std::vector<Part> parts{{"sinograms", geometry.sinogram_shape().bytes(dtype), 0},
                          {"slices", slice_frame(geometry).slice_shape().bytes(dtype), 0}};
  const bool corrected = asked.word("correction") != "none";
  for (Part& part : table_parts(method, geometry.n_a, corrected, dtype)) parts.push_back(std::move(part));
  return parts;
}

void add_variant(Worker& worker, BackprojectionMethod method, std::string help,
                 std::vector<std::string> dtypes) {
  constexpr int kSinogram = 1;
  const std::string name = "backprojection/" + std::string(to_string(method));
  std::vector<Axis> axes{{"n_a", 180, "lines of a sinogram, one per angle"},
                         {"w", 128, "columns of a sinogram"},
                         {"n_z", 20, "sinograms and slices"}};
  for (Axis& axis : scan_axes()) axes.push_back(std::move(axis));
  axes.emplace_back("dtype", "f32", std::move(dtypes), "element type");
  const bool is_texture = method == BackprojectionMethod::texture;
  worker.add({.name = name,
              .backends = is_texture ? std::vector<std::string>{"cuda", "dry"}
                                     : std::vector<std::string>{"opencl", "cuda", "dry"},
              .axes = std::move(axes),
              .help = std::move(help),
              .slice_axis = "n_z",
              .slice_dimension = kSinogram,
              .estimators = {Estimator::of_parts(
                  with_api_errors([method](const Case& asked) { return parts(method, asked); }), name)},
              .mistake =
                  [method](const Case& asked) {
                    return usage_error([&] { check_element_type(method, Problem(asked).dtype); });
                  }},
             [method](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
               return std::make_unique<BackprojectionComputation>(device, method, Problem(asked));
             });
}

}  // namespace

void add_backprojection(Worker& worker) {
  add_variant(worker, BackprojectionMethod::linear,
              "old: a work-item per pixel, sine and cosine of each angle from tables", {"f32", "f64"});
  add_variant(worker, BackprojectionMethod::tiled,
              "new: a tile of pixels at a time, bounds computed once per tile and angle", {"f32"});
  add_variant(worker, BackprojectionMethod::texture,
              "CUDA: the texture unit interpolates, bound to the sinograms' own memory", {"f32"});
}

}  // namespace peakmark
