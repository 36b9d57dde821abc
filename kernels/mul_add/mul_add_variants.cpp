#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/variants.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/mul_add/mul_add.hpp"
#include "kernels/mul_add/reference.hpp"
#include "kernels/operations.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
namespace {

constexpr double kFactorDst = 0.7;
constexpr double kFactorOther = -1.3;
constexpr std::uint32_t kSeedDst = 11;
constexpr std::uint32_t kSeedOther = 12;

/// What one case computes. The stack and the regions have `n` images.
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

/// Returns the problem of a case on `n` images. Throws UsageError for an invalid case.
using MakeProblem = Problem (*)(const Case& asked, Size n);

Problem whole_problem(const Case& asked, Size n) {
  const Shape stack{n, asked["ny"], asked["nx"]};
  return {stack, parse_dtype(asked.word("dtype")), whole_region(stack), whole_region(stack), false};
}

Problem subregion_problem(const Case& asked, Size n) {
  const Shape stack{n, asked["ny"], asked["nx"]};
  Region dst{0, n, asked["dst_y0"], asked["dst_x0"], 0, 0};
  Region other{0, n, asked["other_y0"], asked["other_x0"], 0, 0};
  const auto extent = [&](const char* axis, Size to_the_end) {
    return asked[axis] == 0 ? to_the_end : asked[axis];
  };
  dst.h = other.h = extent("h", stack[1] - std::max(dst.y0, other.y0));
  dst.w = other.w = extent("w", stack[2] - std::max(dst.x0, other.x0));
  const Size alias = asked["alias"];
  if (alias != 0 && alias != 1)
    throw UsageError(
        fmt::format("alias is {}; give 0 (two arrays) or 1 (dst and other are one array)", alias));
  check_region(dst, stack, "dst");
  check_region(other, stack, "other");
  return {stack, parse_dtype(asked.word("dtype")), dst, other, alias == 1};
}

class MulAddComputation : public Computation {
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

  std::string verify() override {
    return with_floating(problem_.dtype, [&](auto zero) { return verify_as<decltype(zero)>(); });
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    const Region& dst = problem_.dst;
    const Size region = checked_multiply(dst.h, dst.w);
    Size read = checked_multiply(2, region);
    if (problem_.one_array)  // elements in both regions are read once
      read -= std::max<Size>(0, dst.h - std::abs(dst.y0 - problem_.other.y0)) *
              std::max<Size>(0, dst.w - std::abs(dst.x0 - problem_.other.x0));
    return checked_multiply(checked_multiply(dst.images, checked_add(read, region)), size_of(problem_.dtype));
  }

  [[nodiscard]] std::optional<double> flops() const override {
    const Region& dst = problem_.dst;
    return 3.0 * static_cast<double>(dst.images) * static_cast<double>(dst.h) * static_cast<double>(dst.w);
  }

 private:
  template <typename T>
  std::string verify_as() {
    const Shape& stack = problem_.stack;
    const Region& dst = problem_.dst;
    const Region& other = problem_.other;
    // A device may fuse a product and the sum, which omits one rounding of a value up to |a| + |b|.
    const double tolerance = 2 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
                             (std::abs(kFactorDst) + std::abs(kFactorOther));
    std::vector<T> expected(static_cast<std::size_t>(stack[2]));
    std::vector<T> other_row(static_cast<std::size_t>(dst.w));
    RowComparison comparison(stack);
    const std::vector<Size> always = region_edges();
    for_each_verified_row<T>(dst_, always, [&](Size row, std::span<const T> actual) {
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
    return comparison.error();
  }

  /// Returns the rows at both sides of the region's edges, of the first and of the last image.
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
  DeviceArray dst_;
  DeviceArray other_;
};

template <MakeProblem make_problem>
class MulAddCase final : public MulAddComputation {
 public:
  MulAddCase(Device& device, const Case& asked)
      : MulAddComputation(device, make_problem(asked, asked["n"])) {}
};

/// Returns what is wrong with a case.
template <MakeProblem make_problem>
std::string mistake(const Case& asked) {
  return usage_error([&] {
    const Problem problem = make_problem(asked, asked["n"]);
    with_floating(problem.dtype, [](auto) {});
    checked_multiply(problem.one_array ? 1 : 2, problem.stack.bytes(problem.dtype));
  });
}

/// The formula, which is exact. For each slice: an image of dst and, if it is another array, of other. In
/// addition one region of one image, if the regions of one array overlap.
template <MakeProblem make_problem>
std::vector<Part> parts(const Case& asked) {
  const Problem problem = make_problem(asked, 1);
  const Size image_bytes = problem.stack.bytes(problem.dtype);
  std::vector<Part> parts{{"dst", image_bytes, 0}};
  if (!problem.one_array) parts.push_back({"other", image_bytes, 0});
  if (problem.needs_copy())
    parts.push_back({"copy_of_other", 0, Shape{problem.other.h, problem.other.w}.bytes(problem.dtype)});
  return parts;
}

template <MakeProblem make_problem>
void add_variant(Worker& worker, const std::string& name, std::string help, std::vector<Axis> region_axes) {
  std::vector<Axis> axes{
      {"n", 20, "images"}, {"ny", 512, "rows of an image"}, {"nx", 512, "columns of an image"}};
  axes.insert(axes.end(), region_axes.begin(), region_axes.end());
  axes.emplace_back("dtype", "f32", std::vector<std::string>{"f32", "f64"}, "element type");
  constexpr int kProjection = 0;
  worker.add<MulAddCase<make_problem>>(
      {.name = name,
       .backends = {"opencl", "cuda", "dry"},
       .axes = std::move(axes),
       .help = std::move(help),
       .slice_axis = "n",
       .slice_dimension = kProjection,
       .destroys_input = true,
       .estimators = {Estimator::of_parts(with_api_errors(parts<make_problem>), name)},
       .mistake = mistake<make_problem>});
}

}  // namespace

void add_mul_add(Worker& worker) {
  add_variant<whole_problem>(worker, "mul_add/whole", "dst = a·dst + b·other on whole images", {});
  add_variant<subregion_problem>(worker, "mul_add/subregion",
                                 "dst = a·dst + b·other on a y-x region of each image, also within one array",
                                 {{"dst_y0", 0, "first row of the region of dst"},
                                  {"dst_x0", 0, "first column of the region of dst"},
                                  {"other_y0", 0, "first row of the region of other"},
                                  {"other_x0", 0, "first column of the region of other"},
                                  {"h", 0, "rows of the regions; 0: as many as both images have"},
                                  {"w", 0, "columns of the regions; 0: as many as both images have"},
                                  {"alias", 0, "1: dst and other are one array"}});
}

}  // namespace peakmark
