#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "estimate/estimator.hpp"
#include "kernels/common/axes.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/floating.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/vertical_shift/reference.hpp"
#include "kernels/vertical_shift/shift_pattern.hpp"
#include "kernels/vertical_shift/shift_terms.hpp"
#include "kernels/vertical_shift/vertical_shift.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeedRadios = 22;
constexpr int kProjection = 0;
/// A shift an angle is a list on the host, and `temporaries` allocation_log two allocations for each, on
/// `dry` too.
constexpr Size kMaxRadios = Size{1} << 20;

struct Problem {
  Shape radios;  ///< (n_a, n_z, nx)
  DType dtype = DType::f32;
  std::vector<float> shifts;
};

/// One of the three ways, as a case sees it.
class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;
  virtual void set_up(Device& device, const Problem& problem) = 0;
  virtual void create_inputs(Device&, const Problem&) {}
  virtual void call(Array& radios, const Problem& problem) = 0;
};

template <typename Shifter>
class HostShifts final : public Way {
 public:
  void set_up(Device& device, const Problem& problem) override {
    shift_.emplace(device, problem.dtype, problem.radios[1], problem.radios[2]);
  }
  void call(Array& radios, const Problem& problem) override { (*shift_)(radios, problem.shifts); }

 private:
  std::optional<Shifter> shift_;
};

class DeviceShifts final : public Way {
 public:
  void set_up(Device& device, const Problem& problem) override { shift_.emplace(device, problem.dtype); }
  void create_inputs(Device& device, const Problem& problem) override {
    shifts_ = device.push<float>("shifts", {problem.radios[0]}, std::span(problem.shifts));
  }
  void call(Array& radios, const Problem&) override { (*shift_)(radios, shifts_); }

 private:
  std::optional<FusedShift> shift_;
  Array shifts_;
};

class VerticalShiftComputation final : public Computation {
 public:
  VerticalShiftComputation(Device& device, Problem problem, std::unique_ptr<Way> way)
      : device_(device), problem_(std::move(problem)), way_(std::move(way)) {
    require_dtype(device.info(), problem_.dtype);
  }

  void set_up() override { way_->set_up(device_, problem_); }

  void create_inputs() override {
    radios_ = create_seeded(device_, "radios", problem_.radios, problem_.dtype, kSeedRadios);
    way_->create_inputs(device_, problem_);
  }

  void call() override { way_->call(radios_, problem_); }

  void restore_inputs() override { write_seeded(device_, radios_, kSeedRadios); }

  Verification verify() override {
    return with_floating(problem_.dtype, [&](auto zero) { return verify_as<decltype(zero)>(); });
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    const Size n_z = problem_.radios[1];
    Size rows = 0;
    for (const float shift : problem_.shifts)
      if (shift != 0) rows = checked_add(rows, checked_add(n_z, rows_read(shift, n_z)));  // written and read
    return checked_multiply(rows, Shape{problem_.radios[2]}.bytes(problem_.dtype));
  }

  [[nodiscard]] DType output_dtype() const override { return problem_.dtype; }

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
  Verification verify_as() {
    const Size n_z = problem_.radios[1];
    const Size nx = problem_.radios[2];
    // Values and factors are at most 1: two products and a sum, rounded or fused.
    const double tolerance = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::vector<T> expected(static_cast<std::size_t>(nx));
    std::vector<T> source(static_cast<std::size_t>(nx));
    RowComparison comparison(problem_.radios);
    for_each_verified_row<T>(device_, radios_, edge_rows(), [&](Size row, std::span<const T> actual) {
      const Size a = row / n_z;
      const auto row_of = [&](Size z) {
        fill_seeded(std::span(source), kSeedRadios, (a * n_z + z) * nx);
        return std::span<const T>(source);
      };
      vertical_shift_row_reference<T>(std::span(expected), row % n_z, n_z,
                                      problem_.shifts[static_cast<std::size_t>(a)], row_of);
      comparison.add<T>(row, expected, actual, tolerance);
    });
    return comparison.verification();
  }

  /// Rows near both ends of the first and of the last radio: where terms are dropped by shifts of the
  /// patterns.
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
  std::unique_ptr<Way> way_;
  Array radios_;
};

Size radio_bytes(const EstimateRequest& request) {
  return Shape{request.other_dimensions[0], request.other_dimensions[1]}.bytes(request.dtype);
}

/// The formula, exact: the stack, one image `shifted`, and the largest `product` of the angles: as many rows
/// as the shift leaves of a radio. More angles may bring a larger one, hence no constant bytes a slice.
Size temporaries_bytes(const EstimateRequest& request, Size n_a) {
  const auto [n_z, nx] = request.other_dimensions;
  const Size radios = checked_multiply(n_a, radio_bytes(request));
  const Size shifted = radio_bytes(request);
  const Size rows = most_shifted_rows(request.parameters.word("shift"), n_a, n_z, request.dtype);
  const Size product = Shape{rows, nx}.bytes(request.dtype);
  return checked_add(checked_add(radios, shifted), product);
}

/// The formula, exact: the stack and two images.
std::vector<Term> muladd_terms(const EstimateRequest& request) {
  return {{"radios", radio_bytes(request), 0},
          {"radio", 0, radio_bytes(request)},
          {"shifted", 0, radio_bytes(request)}};
}

/// The formula, exact: the stack and its shifts.
std::vector<Term> fused_terms(const EstimateRequest& request) {
  return {{"radios", radio_bytes(request), 0}, {"shifts", size_of(DType::f32), 0}};
}

EstimatorTraits traits(const std::string& name) {
  return {name, kProjection, {}};
}

Variant make_variant(std::string name, std::string help, std::shared_ptr<const Estimator> estimator,
                     std::function<std::unique_ptr<Way>()> make_way) {
  Variant variant;
  variant.description.name = std::move(name);
  variant.description.help = std::move(help);
  variant.description.axes = {
      size_axis("n_a", 20, fmt::format("radios, one an angle; at most {}", kMaxRadios)),
      size_axis("n_z", 512, "rows of a radio"), size_axis("nx", 512, "columns of a radio"),
      word_axis("shift", "random8", shift_patterns(), "seeded pattern of a shift an angle"),
      dtype_axis({"f32", "f64"})};
  variant.description.slice_axis = "n_a";
  variant.description.slice_dimension = kProjection;
  variant.description.destroys_input = true;
  variant.estimators = {std::move(estimator)};
  variant.request = [](const Parameters& parameters) {
    return stack_request(parameters, kProjection, "n_z", "nx");
  };
  variant.make = [make_way = std::move(make_way)](
                     Device& device, const Parameters& parameters) -> std::unique_ptr<Computation> {
    Problem problem{{parameters.integer("n_a"), parameters.integer("n_z"), parameters.integer("nx")},
                    dtype_of_case(parameters),
                    {}};
    if (problem.radios[0] > kMaxRadios)
      throw UsageError(fmt::format("vertical_shift: n_a is {}; each radio has a shift, {} are the most",
                                   problem.radios[0], kMaxRadios));
    // Each way needs two radios beside the stack at the most.
    checked_add(problem.radios.bytes(problem.dtype),
                checked_multiply(2, Shape{problem.radios[1], problem.radios[2]}.bytes(problem.dtype)));
    problem.shifts = shifts_of_angles(parameters.word("shift"), problem.radios[0], problem.radios[1]);
    return std::make_unique<VerticalShiftComputation>(device, std::move(problem), make_way());
  };
  return variant;
}

}  // namespace

void add_vertical_shift(Registry& registry) {
  registry.add(
      make_variant("vertical_shift/temporaries",
                   "shifts each radio by its own shift; a fresh temporary for each term of each radio",
                   make_iterative_estimator(traits("vertical_shift/temporaries"), temporaries_bytes),
                   [] { return std::make_unique<HostShifts<ShiftWithTemporaries>>(); }));
  registry.add(make_variant("vertical_shift/muladd",
                            "shifts each radio by its own shift; mul_adds on sub-regions of two images",
                            make_module_estimator(traits("vertical_shift/muladd"), muladd_terms),
                            [] { return std::make_unique<HostShifts<ShiftWithMulAdd>>(); }));
  registry.add(make_variant("vertical_shift/fused",
                            "shifts each radio by its own shift; one launch for the stack, in place",
                            make_module_estimator(traits("vertical_shift/fused"), fused_terms),
                            [] { return std::make_unique<DeviceShifts>(); }));
}

}  // namespace peakmark
