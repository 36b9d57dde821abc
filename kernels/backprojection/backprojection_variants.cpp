#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "estimate/estimator.hpp"
#include "kernels/backprojection/backprojection.hpp"
#include "kernels/backprojection/backprojector.hpp"
#include "kernels/backprojection/line_texture.hpp"
#include "kernels/backprojection/reference.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/backprojection/tolerance.hpp"
#include "kernels/backprojection/verify_pixels.hpp"
#include "kernels/common/axes.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/floating.hpp"
#include "kernels/common/seeded.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeedSinograms = 40;
constexpr std::uint32_t kSeedPixels = 2;
constexpr int kSinogram = 1;

/// Interpolations that one verification makes at the most: some tenths of a second. Smaller cases are
/// compared whole, of larger ones pixels drawn from a fixed seed, and the corners.
constexpr Size kVerifiedInterpolations = Size{1} << 24;

class BackprojectionComputation final : public Computation {
 public:
  BackprojectionComputation(Device& device, BackprojectionMethod method, BackprojectionGeometry geometry,
                            Size n_z, DType dtype)
      : device_(device),
        method_(method),
        geometry_(std::move(geometry)),
        frame_(slice_frame(geometry_)),
        sinograms_shape_{n_z, geometry_.n_a, geometry_.w},
        slices_shape_{n_z, frame_.region.h, frame_.region.w},
        dtype_(dtype) {
    check_method(method, device.info(), dtype);
    if (method == BackprojectionMethod::texture) LineTexture::check(n_z, geometry_.n_a, geometry_.w);
    static_cast<void>(checked_add(sinograms_shape_.bytes(dtype), slices_shape_.bytes(dtype)));
  }

  void set_up() override { backprojector_ = make_backprojector(method_, device_, geometry_, dtype_); }

  void create_inputs() override {
    sinograms_ = create_seeded(device_, "sinograms", sinograms_shape_, dtype_, kSeedSinograms);
  }

  void create_outputs() override { slices_ = device_.create_uninitialised("slices", slices_shape_, dtype_); }

  void call() override { (*backprojector_)(sinograms_, slices_); }

  Verification verify() override {
    return with_floating(dtype_, [&](auto zero) { return verify_as<decltype(zero)>(); });
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return checked_add(sinograms_shape_.bytes(dtype_), slices_shape_.bytes(dtype_));
  }

  [[nodiscard]] DType output_dtype() const override { return dtype_; }

 private:
  /// The largest pixel of noise is sqrt(n_a) or more, wherever the pixels compared lie.
  [[nodiscard]] double tolerance(double largest) const {
    const double noise = std::sqrt(static_cast<double>(geometry_.n_a));
    const double unit = dtype_ == DType::f32 ? 0x1p-24 : 0x1p-51;
    const double rounding = rounding_of_pixels(unit, frame_, geometry_.n_a, std::max(largest, noise));
    return method_ == BackprojectionMethod::texture ? rounding + texture_rounding_of_pixels(geometry_.n_a)
                                                    : rounding;
  }

  template <typename T>
  Verification verify_as() {
    const std::vector<LineView> views = line_views(geometry_);
    const double slope = overlap_slope(geometry_);
    const auto [n_z, n_a, w] = std::tuple(sinograms_shape_[0], sinograms_shape_[1], sinograms_shape_[2]);
    PixelComparison<T> comparison(slices_shape_);
    std::vector<T> pulled(static_cast<std::size_t>(slices_shape_[2]));
    for (const auto& [row, columns] :
         pixels_to_verify(slices_shape_, n_a, kVerifiedInterpolations, kSeedPixels)) {
      device_.pull_part<T>(slices_, row * slices_shape_[2], std::span(pulled));
      const Size z = row / slices_shape_[1];
      const Size y = frame_.region.y0 + row % slices_shape_[1];
      for (const Size column : columns) {
        const Size x = frame_.region.x0 + column;
        double expected = 0;
        if (!geometry_.clip || inside_circle(frame_.side, y, x))
          expected = backprojected_pixel(views, slope, w, y, x, [&, n_a = n_a, w = w](Size a, Size i) {
            return seeded_value<T>(kSeedSinograms, (z * n_a + a) * w + i);
          });
        comparison.add(row, column, expected, pulled[static_cast<std::size_t>(column)]);
      }
    }
    return comparison.verification(tolerance(comparison.largest()));
  }

  Device& device_;
  BackprojectionMethod method_;
  BackprojectionGeometry geometry_;
  SliceFrame frame_;
  Shape sinograms_shape_, slices_shape_;
  DType dtype_;
  std::unique_ptr<Backprojector> backprojector_;
  Array sinograms_, slices_;
};

/// The formula, exact: sinograms, slices, and the tables that the method keeps.
std::vector<Term> terms(BackprojectionMethod method, const EstimateRequest& request) {
  Parameters parameters = request.parameters;
  parameters.set("n_a", request.other_dimensions[0]);
  parameters.set("w", request.other_dimensions[1]);
  const BackprojectionGeometry geometry = frame_geometry_of_case(parameters);
  std::vector<Term> all{{"sinograms", geometry.sinogram_shape().bytes(request.dtype), 0},
                        {"slices", slice_frame(geometry).slice_shape().bytes(request.dtype), 0}};
  const bool corrected = parameters.word("correction") != "none";
  for (Term& term : table_terms(method, geometry.n_a, corrected, request.dtype))
    all.push_back(std::move(term));
  return all;
}

Variant make_variant(BackprojectionMethod method, std::string help, std::vector<std::string> dtypes) {
  Variant variant;
  variant.description.name = "backprojection/" + std::string(to_string(method));
  variant.description.help = std::move(help);
  variant.description.axes = {size_axis("n_a", 180, "lines of a sinogram, one an angle"),
                              size_axis("w", 128, "columns of a sinogram"),
                              size_axis("n_z", 20, "sinograms and slices")};
  for (AxisDescription& axis : scan_axes()) variant.description.axes.push_back(std::move(axis));
  variant.description.axes.push_back(dtype_axis(std::move(dtypes)));
  if (method == BackprojectionMethod::texture) variant.description.backends = {"cuda", "dry"};
  variant.description.slice_axis = "n_z";
  variant.description.slice_dimension = kSinogram;
  variant.estimators = {make_module_estimator(
      {.name = variant.description.name, .slice_dimension = kSinogram, .output_dtype = {}},
      [method](const EstimateRequest& request) { return terms(method, request); })};
  variant.request = [](const Parameters& parameters) {
    return stack_request(parameters, kSinogram, "n_a", "w");
  };
  variant.make = [method](Device& device, const Parameters& parameters) -> std::unique_ptr<Computation> {
    return std::make_unique<BackprojectionComputation>(device, method, geometry_of_case(parameters),
                                                       parameters.integer("n_z"), dtype_of_case(parameters));
  };
  return variant;
}

}  // namespace

void add_backprojection(Registry& registry) {
  registry.add(make_variant(BackprojectionMethod::linear,
                            "old: a work-item a pixel, sine and cosine of each angle looked up",
                            {"f32", "f64"}));
  registry.add(make_variant(BackprojectionMethod::tiled,
                            "new: a tile of pixels at a time, bounds settled once a tile and angle",
                            {"f32"}));
  registry.add(make_variant(BackprojectionMethod::texture,
                            "CUDA: the texture unit interpolates, bound to the sinograms' own memory",
                            {"f32"}));
}

}  // namespace peakmark
