// This variant keeps no tables: the kernel computes the source of each element.
#include "kernels/padding/computation.hpp"
#include "kernels/padding/tables.hpp"

namespace peakmark {
namespace {

/// The parameters of reflect, symmetric and wrap in the kernel: source = phase if it is below the extent,
/// else top − phase, where phase = position modulo period.
struct Period {
  Size period, top;
};

Period period_of(PaddingMode mode, Size extent) {
  if (mode == PaddingMode::wrap) return {extent, 0};
  const Size twice = checked_multiply(2, extent);
  if (mode == PaddingMode::symmetric) return {twice, twice - 1};
  // An axis with one element cannot be reflected; the element is repeated.
  return extent == 1 ? Period{1, 0} : Period{twice - 2, twice - 2};
}

class ComputedPadding final : public PaddingComputation {
 public:
  ComputedPadding(Device& device, PaddingProblem problem, KernelGrain grain)
      : PaddingComputation(device, std::move(problem), grain) {
    if (problem_.mode == PaddingMode::custom) require_int32_coordinates(problem_);
    if (problem_.mode == PaddingMode::constant) {
      const auto bits = [&](double value) { return element_bits(value, problem_.dtype); };
      y0_ = bits(problem_.values.y0), y1_ = bits(problem_.values.y1);
      x0_ = bits(problem_.values.x0), x1_ = bits(problem_.values.x1);
    }
  }

  void set_up() override {
    switch (problem_.mode) {
      case PaddingMode::constant:
        pad_ = kernel("pad_constant");
        break;
      case PaddingMode::edge:
        pad_ = kernel("pad_edge");
        break;
      case PaddingMode::reflect:
      case PaddingMode::symmetric:
      case PaddingMode::wrap:
        pad_ = kernel("pad_periodic");
        break;
      case PaddingMode::custom:
        pad_ = kernel("gather_vectors");
        break;
    }
  }

  void create_inputs() override {
    PaddingComputation::create_inputs();
    if (problem_.mode == PaddingMode::custom) coordinates_ = push_coordinate_vectors(device_, problem_);
  }

  void pad(const DeviceArray& input, DeviceArray& output) override {
    const PaddedAxis& y = problem_.y;
    const PaddedAxis& x = problem_.x;
    const Size n = problem_.n;
    const Size rows = y.padded();
    const Size columns = x.padded();
    const Grain g = grain(n, rows, columns);
    switch (problem_.mode) {
      case PaddingMode::constant:
        device_.launch(pad_, g.range,
                       {input, output, n, y.extent, x.extent, rows, columns, y.before, x.before, g.y_step,
                        g.z_step, g.past_cache, y0_, y1_, x0_, x1_});
        break;
      case PaddingMode::edge:
        device_.launch(pad_, g.range,
                       {input, output, n, y.extent, x.extent, rows, columns, y.before, x.before, g.y_step,
                        g.z_step, g.past_cache});
        break;
      case PaddingMode::reflect:
      case PaddingMode::symmetric:
      case PaddingMode::wrap: {
        const auto [y_period, y_top] = period_of(problem_.mode, y.extent);
        const auto [x_period, x_top] = period_of(problem_.mode, x.extent);
        device_.launch(pad_, g.range,
                       {input, output, n, y.extent, x.extent, rows, columns, y.before, x.before, g.y_step,
                        g.z_step, g.past_cache, y_period, y_top, x_period, x_top});
        break;
      }
      case PaddingMode::custom:
        device_.launch(pad_, g.range,
                       {input, output, coordinates_.rows, coordinates_.columns, n, y.extent, x.extent, rows,
                        columns, g.y_step, g.z_step, g.past_cache});
        break;
    }
  }

 private:
  Kernel pad_;
  CoordinateVectors coordinates_;
  std::uint64_t y0_ = 0, y1_ = 0, x0_ = 0, x1_ = 0;
};

}  // namespace

std::unique_ptr<PaddingComputation> make_computed(Device& device, PaddingProblem problem, KernelGrain grain) {
  return std::make_unique<ComputedPadding>(device, std::move(problem), grain);
}

}  // namespace peakmark
