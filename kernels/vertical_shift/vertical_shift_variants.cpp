#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/variants.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/operations.hpp"
#include "kernels/vertical_shift/reference.hpp"
#include "kernels/vertical_shift/shifts.hpp"
#include "kernels/vertical_shift/vertical_shift.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeedRadios = 22;
/// The host has a shift for each angle, and `temporaries` has two allocations for each, also on `dry`.
constexpr Size kMaxRadios = Size{1} << 20;

struct Problem {
  Shape radios;  ///< (n_a, n_z, nx)
  DType dtype = DType::f32;
  std::vector<float> shifts;
};

/// Returns the problem of a case. Throws UsageError for an invalid case.
Problem make_problem(const Case& asked) {
  Problem problem{{asked["n_a"], asked["n_z"], asked["nx"]}, parse_dtype(asked.word("dtype")), {}};
  with_floating(problem.dtype, [](auto) {});
  if (problem.radios[0] > kMaxRadios)
    throw UsageError(fmt::format("vertical_shift: n_a is {}; each radio has a shift, the maximum is {}",
                                 problem.radios[0], kMaxRadios));
  // No implementation needs more than two radios in addition to the stack.
  checked_add(problem.radios.bytes(problem.dtype),
              checked_multiply(2, Shape{problem.radios[1], problem.radios[2]}.bytes(problem.dtype)));
  problem.shifts = shifts_of_angles(asked.word("shift"), problem.radios[0], problem.radios[1]);
  return problem;
}

/// An implementation as a case uses it.
class Shifter {
 public:
  Shifter() = default;
  Shifter(const Shifter&) = delete;
  Shifter& operator=(const Shifter&) = delete;
  virtual ~Shifter() = default;
  virtual void set_up(Device& device, const Problem& problem) = 0;
  virtual void create_inputs(Device&, const Problem&) {}
  virtual void call(DeviceArray& radios, const Problem& problem) = 0;
};

template <typename Shift>
class HostShifts final : public Shifter {
 public:
  void set_up(Device& device, const Problem& problem) override {
    shift_.emplace(device, problem.dtype, problem.radios[1], problem.radios[2]);
  }
  void call(DeviceArray& radios, const Problem& problem) override { (*shift_)(radios, problem.shifts); }

 private:
  std::optional<Shift> shift_;
};

class DeviceShifts final : public Shifter {
 public:
  void set_up(Device& device, const Problem& problem) override { shift_.emplace(device, problem.dtype); }
  void create_inputs(Device& device, const Problem& problem) override {
    shifts_ = create_with<float>(device, "shifts", {problem.radios[0]}, problem.shifts);
  }
  void call(DeviceArray& radios, const Problem&) override { (*shift_)(radios, shifts_); }

 private:
  std::optional<FusedShift> shift_;
  DeviceArray shifts_;
};

template <typename ShifterType>
class VerticalShiftCase final : public Computation {
 public:
  VerticalShiftCase(Device& device, const Case& asked) : device_(device), problem_(make_problem(asked)) {
    require_dtype(device, problem_.dtype);
  }

  void set_up() override { shifter_.set_up(device_, problem_); }

  void create_inputs() override {
    radios_ = create_seeded(device_, "radios", problem_.radios, problem_.dtype, kSeedRadios);
    shifter_.create_inputs(device_, problem_);
  }

  void call() override { shifter_.call(radios_, problem_); }

  void restore_inputs() override { write_seeded(device_, radios_, kSeedRadios); }

  std::string verify() override {
    return with_floating(problem_.dtype, [&](auto zero) { return verify_as<decltype(zero)>(); });
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    const Size n_z = problem_.radios[1];
    Size rows = 0;
    for (const float shift : problem_.shifts)
      if (shift != 0) rows = checked_add(rows, checked_add(n_z, rows_read(shift, n_z)));  // written and read
    return checked_multiply(rows, Shape{problem_.radios[2]}.bytes(problem_.dtype));
  }

 private:
  [[nodiscard]] Size rows_read(float shift, Size n_z) const {
    Size begin = n_z;
    Size end = 0;
    for (const ShiftTerm& term : shift_terms(shift, n_z, problem_.dtype)) {
      if (term.rows == 0) continue;
      begin = std::min(begin, term.from);
      end = std::max(end, term.from + term.rows);
    }
    return std::max<Size>(0, end - begin);
  }

  template <typename T>
  std::string verify_as() {
    const Size n_z = problem_.radios[1];
    const Size nx = problem_.radios[2];
    // Values and factors are at most 1: two products and a sum, rounded or fused.
    const double tolerance = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::vector<T> expected(static_cast<std::size_t>(nx));
    std::vector<T> source(static_cast<std::size_t>(nx));
    RowComparison comparison(problem_.radios);
    for_each_verified_row<T>(radios_, edge_rows(), [&](Size row, std::span<const T> actual) {
      const Size a = row / n_z;
      const auto row_of = [&](Size z) {
        fill_seeded(std::span(source), kSeedRadios, (a * n_z + z) * nx);
        return std::span<const T>(source);
      };
      vertical_shift_row_reference<T>(std::span(expected), row % n_z, n_z,
                                      problem_.shifts[static_cast<std::size_t>(a)], row_of);
      comparison.add<T>(row, expected, actual, tolerance);
    });
    return comparison.error();
  }

  /// Returns the rows near both ends of the first and of the last radio, where the patterns' shifts drop
  /// terms.
  [[nodiscard]] std::vector<Size> edge_rows() const {
    const Size n_z = problem_.radios[1];
    const Size edge = std::min<Size>(n_z, 10);
    std::vector<Size> rows;
    for (const Size a : {Size{0}, problem_.radios[0] - 1})
      for (Size z = 0; z < edge; ++z) {
        rows.push_back(a * n_z + z);
        rows.push_back(a * n_z + n_z - 1 - z);
      }
    return rows;
  }

  Device& device_;
  Problem problem_;
  ShifterType shifter_;
  DeviceArray radios_;
};

/// The sizes of a case that the formulas use.
struct Radio {
  explicit Radio(const Case& asked)
      : n_z(asked["n_z"]),
        nx(asked["nx"]),
        dtype(parse_dtype(asked.word("dtype"))),
        bytes(Shape{n_z, nx}.bytes(dtype)) {}
  Size n_z, nx;
  DType dtype;
  Size bytes;
};

/// The exact formula: the stack, one image `shifted`, and the largest `product` of all angles. A product has
/// the rows of the radio that remain after the shift. With more angles, the largest product may be larger, so
/// the bytes per slice are not constant.
Size temporaries_bytes(const Case& asked) {
  const Radio radio(asked);
  const Size n_a = asked["n_a"];
  const Size rows = max_shifted_rows(asked.word("shift"), n_a, radio.n_z, radio.dtype);
  const Size product = Shape{rows, radio.nx}.bytes(radio.dtype);
  return checked_add(checked_add(checked_multiply(n_a, radio.bytes), radio.bytes), product);
}

/// The formula, which is exact: the stack and two images.
std::vector<Part> muladd_parts(const Case& asked) {
  const Size radio = Radio(asked).bytes;
  return {{"radios", radio, 0}, {"radio", 0, radio}, {"shifted", 0, radio}};
}

/// The formula, which is exact: the stack and its shifts.
std::vector<Part> fused_parts(const Case& asked) {
  return {{"radios", Radio(asked).bytes, 0}, {"shifts", size_of(DType::f32), 0}};
}

template <typename ShifterType>
void add_variant(Worker& worker, const std::string& name, std::string help, Estimator estimator) {
  constexpr int kProjection = 0;
  worker.add<VerticalShiftCase<ShifterType>>(
      {.name = name,
       .backends = {"opencl", "cuda", "dry"},
       .axes = {{"n_a", 20, fmt::format("radios, one per angle; at most {}", kMaxRadios)},
                {"n_z", 512, "rows of a radio"},
                {"nx", 512, "columns of a radio"},
                {"shift", "random8", shift_patterns(), "seeded pattern of the shifts, one per angle"},
                {"dtype", "f32", {"f32", "f64"}, "element type"}},
       .help = std::move(help),
       .slice_axis = "n_a",
       .slice_dimension = kProjection,
       .destroys_input = true,
       .estimators = {std::move(estimator)},
       .mistake = [](const Case& asked) { return usage_error([&] { make_problem(asked); }); }});
}

}  // namespace

void add_vertical_shift(Worker& worker) {
  const std::string temporaries = "vertical_shift/temporaries";
  add_variant<HostShifts<ShiftWithTemporaries>>(
      worker, temporaries,
      "shifts each radio by its own shift; a fresh temporary for each term of each radio",
      Estimator::of_bytes(with_api_errors(temporaries_bytes), temporaries));
  const std::string muladd = "vertical_shift/muladd";
  add_variant<HostShifts<ShiftWithMulAdd>>(
      worker, muladd, "shifts each radio by its own shift; mul_adds on sub-regions of two images",
      Estimator::of_parts(with_api_errors(muladd_parts), muladd));
  const std::string fused = "vertical_shift/fused";
  add_variant<DeviceShifts>(worker, fused,
                            "shifts each radio by its own shift; one launch for the stack, in place",
                            Estimator::of_parts(with_api_errors(fused_parts), fused));
}

}  // namespace peakmark
