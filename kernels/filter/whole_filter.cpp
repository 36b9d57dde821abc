#include "kernels/filter/whole_filter.hpp"

#include <algorithm>

#include "kernels/common/arrays.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/filter/line_kernels.hpp"

namespace peakmark {
namespace {

/// A transform in several passes needs work lines. The old method never had them for all lines at once, but
/// for as many lines as need 1/64 of a sinogram.
FftPlan plan_of(const FilterProblem& problem) {
  return {.length = problem.padded_width(),
          .lines = problem.lines(),
          .in_place = false,
          .max_work_bytes = std::max<Size>(1, problem.shape().bytes(DType::f32) / problem.n_z / 64)};
}

}  // namespace

std::vector<Part> whole_filter_parts(const FilterProblem& problem) {
  const Size length = problem.padded_width();
  const Size lines = problem.n_a;
  const Size padded = Shape{lines, length}.bytes(DType::f32);
  std::vector<Part> parts{{"padded", padded, 0},
                          {"spectrum", Shape{lines, length + 2}.bytes(DType::f32), 0},
                          {"filter", 0, Shape{length / 2 + 1}.bytes(DType::f32)}};
  if (problem.mode == PaddingMode::constant) {
    parts.push_back({"template", 0, padded});
  } else {
    parts.push_back({"row_coordinates", 0, padded});
    parts.push_back({"column_coordinates", 0, padded});
  }
  for (Part& part : fft_parts(problem.fft, plan_of(problem))) parts.push_back(std::move(part));
  return parts;
}

WholeFilter::WholeFilter(Device& device, const FilterProblem& problem)
    : device_(device),
      problem_(problem),
      kernels_(device),
      padding_(make_coords2d(device, padding_of(problem), grain_for(device))) {
  check(problem);
  check_fft(device, problem.fft, problem.padded_width());
}

void WholeFilter::set_up() {
  const Size length = problem_.padded_width();
  filter_ = push_filter(device_, problem_);
  padding_->set_up();
  padded_ = create_uninitialised(device_, "padded", {problem_.lines(), length}, DType::f32);
  spectrum_ = create_uninitialised(device_, "spectrum", {problem_.lines(), length + 2}, DType::f32);
  fft_ = make_real_fft(device_, problem_.fft, plan_of(problem_));
}

void WholeFilter::operator()(const DeviceArray& sinograms, DeviceArray& filtered) {
  const PaddedAxis line = problem_.padded_line();
  const Size length = line.padded();
  padding_->pad(sinograms, padded_);
  fft_->forward(padded_, spectrum_, 0);
  kernels_.filter(spectrum_, 0, problem_.lines(), length / 2 + 1, filter_,
                  problem_.filter == FilterName::hilbert);
  fft_->backward(spectrum_, padded_, 0);
  kernels_.crop(padded_, 0, length, line.before, filtered, 0, problem_.lines(), line.extent);
}

}  // namespace peakmark
