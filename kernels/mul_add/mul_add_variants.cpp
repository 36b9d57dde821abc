#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "estimate/estimator.hpp"
#include "kernels/common/axes.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/floating.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/mul_add/mul_add.hpp"
#include "kernels/mul_add/reference.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

constexpr double kFactorDst = 0.7;
constexpr double kFactorOther = -1.3;
constexpr std::uint32_t kSeedDst = 11;
constexpr std::uint32_t kSeedOther = 12;

/// What one case computes; the stack and the regions have `n` images.
struct Problem {
  Shape stack;
  DType dtype = DType::f32;
  Region dst;
  Region other;
  bool one_array = false;

  [[nodiscard]] bool needs_copy() const {
    return one_array && hazard_in_one_array(dst, other) == Hazard::copy;
  }
};

Problem whole_problem(const Shape& stack, DType dtype, const Parameters&) {
  return {stack, dtype, whole_region(stack), whole_region(stack), false};
}

Problem subregion_problem(const Shape& stack, DType dtype, const Parameters& parameters) {
  Region dst{0, stack[0], parameters.integer("dst_y0"), parameters.integer("dst_x0"), 0, 0};
  Region other{0, stack[0], parameters.integer("other_y0"), parameters.integer("other_x0"), 0, 0};
  const auto extent = [&](const char* axis, Size to_the_end) {
    const Size value = parameters.integer(axis);
    return value == 0 ? to_the_end : value;
  };
  dst.h = other.h = extent("h", stack[1] - std::max(dst.y0, other.y0));
  dst.w = other.w = extent("w", stack[2] - std::max(dst.x0, other.x0));
  const Size alias = parameters.integer("alias");
  if (alias != 0 && alias != 1)
    throw UsageError(fmt::format("alias is {}; 0 means two arrays, 1 that dst and other are one", alias));
  check_region(dst, stack, "dst");
  check_region(other, stack, "other");
  return {stack, dtype, dst, other, alias == 1};
}

using MakeProblem = Problem (*)(const Shape& stack, DType dtype, const Parameters& parameters);

class MulAddComputation final : public Computation {
 public:
  MulAddComputation(Device& device, Problem problem)
      : device_(device), problem_(std::move(problem)), mul_add_(device, problem_.dtype) {}

  void set_up() override {
    if (problem_.needs_copy()) mul_add_.reserve_copy(problem_.other.h, problem_.other.w);
  }

  void create_inputs() override {
    dst_ = create_seeded(device_, "dst", problem_.stack, problem_.dtype, kSeedDst);
    if (!problem_.one_array)
      other_ = create_seeded(device_, "other", problem_.stack, problem_.dtype, kSeedOther);
  }

  void call() override {
    mul_add_(dst_, problem_.dst, kFactorDst, problem_.one_array ? dst_ : other_, problem_.other,
             kFactorOther);
  }

  void restore_inputs() override { write_seeded(device_, dst_, kSeedDst); }

  Verification verify() override {
    return with_floating(problem_.dtype, [&](auto zero) { return verify_as<decltype(zero)>(); });
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    const Region& dst = problem_.dst;
    const Size region = checked_multiply(dst.h, dst.w);
    Size read = checked_multiply(2, region);
    if (problem_.one_array)  // what lies in both regions is read once
      read -= std::max<Size>(0, dst.h - std::abs(dst.y0 - problem_.other.y0)) *
              std::max<Size>(0, dst.w - std::abs(dst.x0 - problem_.other.x0));
    return checked_multiply(checked_multiply(dst.images, checked_add(read, region)), size_of(problem_.dtype));
  }

  [[nodiscard]] std::optional<double> flops() const override {
    const Region& dst = problem_.dst;
    return 3.0 * static_cast<double>(dst.images) * static_cast<double>(dst.h) * static_cast<double>(dst.w);
  }

  [[nodiscard]] DType output_dtype() const override { return problem_.dtype; }

 private:
  template <typename T>
  Verification verify_as() {
    const Shape& stack = problem_.stack;
    const Region& dst = problem_.dst;
    const Region& other = problem_.other;
    // A device may fuse a product and the sum: then one rounding of a value up to |a| + |b| is missing.
    const double tolerance = 2 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                             (std::abs(kFactorDst) + std::abs(kFactorOther));
    std::vector<T> expected(static_cast<std::size_t>(stack[2]));
    std::vector<T> other_row(static_cast<std::size_t>(dst.w));
    RowComparison comparison(stack);
    const std::vector<Size> always = region_edges();
    for_each_verified_row<T>(device_, dst_, always, [&](Size row, std::span<const T> actual) {
      fill_seeded(std::span(expected), kSeedDst, row * stack[2]);
      const Size image = row / stack[1];
      const Size y = row % stack[1] - dst.y0;
      const bool in_region = y >= 0 && y < dst.h;
      if (in_region) {
        const Size other_first = (image * stack[1] + other.y0 + y) * stack[2] + other.x0;
        fill_seeded(std::span(other_row), problem_.one_array ? kSeedDst : kSeedOther, other_first);
        mul_add_row_reference<T>(
            std::span(expected).subspan(static_cast<std::size_t>(dst.x0), static_cast<std::size_t>(dst.w)),
            static_cast<T>(kFactorDst), other_row, static_cast<T>(kFactorOther));
      }
      comparison.add<T>(row, expected, actual, in_region ? tolerance : 0);
    });
    return comparison.verification();
  }

  /// Rows in and beside the region's edges, of the first and of the last image.
  [[nodiscard]] std::vector<Size> region_edges() const {
    const Size ny = problem_.stack[1];
    std::vector<Size> rows;
    for (const Size image : {Size{0}, problem_.stack[0] - 1})
      for (const Size y : {problem_.dst.y0 - 1, problem_.dst.y0, problem_.dst.y0 + problem_.dst.h - 1,
                           problem_.dst.y0 + problem_.dst.h})
        if (y >= 0 && y < ny) rows.push_back(image * ny + y);
    return rows;
  }

  Device& device_;
  Problem problem_;
  MulAdd mul_add_;
  Array dst_;
  Array other_;
};

/// The formula, exact: dst and, where it is another array, other, each ny·nx elements a slice; and one region
/// of one image where the regions of one array overlap.
TermsFormula terms_of(MakeProblem make_problem) {
  return [make_problem](const EstimateRequest& request) {
    const auto [ny, nx] = request.other_dimensions;
    const Problem problem = make_problem({1, ny, nx}, request.dtype, request.parameters);
    const Size image_bytes = problem.stack.bytes(request.dtype);
    std::vector<Term> terms{{"dst", image_bytes, 0}};
    if (!problem.one_array) terms.push_back({"other", image_bytes, 0});
    if (problem.needs_copy())
      terms.push_back({"copy_of_other", 0, Shape{problem.other.h, problem.other.w}.bytes(request.dtype)});
    return terms;
  };
}

Variant make_variant(std::string name, std::string help, std::vector<AxisDescription> region_axes,
                     MakeProblem make_problem) {
  constexpr int kProjection = 0;
  Variant variant;
  variant.description.name = name;
  variant.description.help = std::move(help);
  variant.description.axes = {size_axis("n", 20, "images"), size_axis("ny", 512, "rows of an image"),
                              size_axis("nx", 512, "columns of an image")};
  for (AxisDescription& axis : region_axes) variant.description.axes.push_back(std::move(axis));
  variant.description.axes.push_back(dtype_axis({"f32", "f64"}));
  variant.description.slice_axis = "n";
  variant.description.slice_dimension = kProjection;
  variant.description.destroys_input = true;
  variant.estimators = {make_module_estimator({std::move(name), kProjection, {}}, terms_of(make_problem))};
  variant.request = [](const Parameters& parameters) {
    return stack_request(parameters, kProjection, "ny", "nx");
  };
  variant.make = [make_problem](Device& device,
                                const Parameters& parameters) -> std::unique_ptr<Computation> {
    const Shape stack{parameters.integer("n"), parameters.integer("ny"), parameters.integer("nx")};
    Problem problem = make_problem(stack, dtype_of_case(parameters), parameters);
    checked_multiply(problem.one_array ? 1 : 2, stack.bytes(problem.dtype));
    return std::make_unique<MulAddComputation>(device, std::move(problem));
  };
  return variant;
}

}  // namespace

void add_mul_add(Registry& registry) {
  registry.add(make_variant("mul_add/whole", "dst = a·dst + b·other on whole images", {}, whole_problem));
  registry.add(make_variant("mul_add/subregion",
                            "dst = a·dst + b·other on a y-x region of each image, also within one array",
                            {size_axis("dst_y0", 0, "first row of the region of dst", 0),
                             size_axis("dst_x0", 0, "first column of the region of dst", 0),
                             size_axis("other_y0", 0, "first row of the region of other", 0),
                             size_axis("other_x0", 0, "first column of the region of other", 0),
                             size_axis("h", 0, "rows of the regions; 0: as many as both images have", 0),
                             size_axis("w", 0, "columns of the regions; 0: as many as both images have", 0),
                             size_axis("alias", 0, "1: dst and other are one array", 0)},
                            subregion_problem));
}

}  // namespace peakmark
