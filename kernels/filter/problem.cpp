#include "kernels/filter/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numbers>

#include "base/error.hpp"
#include "kernels/fft/fft_bytes.hpp"

namespace peakmark {

Size FilterProblem::padded_width() const {
  return next_fft_length(checked_multiply(2, w));
}

PaddedAxis FilterProblem::padded_line() const {
  const Size beside = padded_width() - w;
  return {w, beside / 2, beside - beside / 2};
}

double FilterProblem::scale() const {
  return std::numbers::pi / static_cast<double>(n_a);
}

std::vector<std::string> filter_padding_names() {
  std::vector<std::string> names = padding_mode_names();
  std::erase(names, "custom");
  return names;
}

void check(const FilterProblem& problem) {
  const auto least = [](const char* axis, Size value, Size bound, const char* why) {
    if (value < bound) throw UsageError(fmt::format("filter: {} is {}; {}", axis, value, why));
  };
  least("n_z", problem.n_z, 1, "there is at least one sinogram");
  least("n_a", problem.n_a, 1, "a sinogram has at least one line");
  least("w", problem.w, 2, "a line of one pixel has no frequency to filter; give w:2 or more");
  // Checked before the search for a length that the library supports.
  if (problem.w > kMaxFilterColumns)
    throw UsageError(fmt::format("filter: w is {}; the maximum is {}", problem.w, kMaxFilterColumns));
  if (problem.mode == PaddingMode::custom)
    throw UsageError(fmt::format("filter: padding mode custom is not supported; use one of {}",
                                 fmt::join(filter_padding_names(), ", ")));
  try {
    checked_multiply(4, checked_multiply(problem.lines(), checked_add(problem.padded_width(), 2)));
  } catch (const OverflowError&) {
    throw OverflowError(
        fmt::format("filter: n_z {} x n_a {} x w {}, padded to twice the width, need more bytes than 64 bits "
                    "can count; give fewer",
                    problem.n_z, problem.n_a, problem.w));
  }
  if (problem.fft == FftLibrary::vkfft && problem.padded_width() > kLongestVkfftTable)
    throw Unsupported(
        fmt::format("filter: lines of {} columns are padded to {}, beyond {}, the longest that was seen to "
                    "work with VkFFT and whose tables are written down; give lines of up to {} (axis w; "
                    "joined lines of half-acquisition are up to twice as long), or on CUDA fft:cufft",
                    problem.w, problem.padded_width(), kLongestVkfftTable, kLongestVkfftTable / 2));
}

FilterProblem filter_problem(const Case& asked) {
  FilterProblem problem;
  problem.n_z = asked["n_z"];
  problem.n_a = asked["n_a"];
  problem.w = asked["w"];
  problem.filter = parse_filter_name(asked.word("filter"));
  problem.mode = parse_padding_mode(asked.word("mode"));
  problem.fft = parse_fft_library(asked.word("fft"));
  check(problem);
  return problem;
}

std::vector<float> device_filter(const FilterProblem& problem) {
  const Size length = problem.padded_width();
  const double factor = problem.scale() / static_cast<double>(length);
  const std::vector<double> response = filter_response(problem.filter, length);
  std::vector<float> values(response.size());
  std::ranges::transform(response, values.begin(),
                         [&](double at) { return static_cast<float>(at * factor); });
  return values;
}

}  // namespace peakmark
