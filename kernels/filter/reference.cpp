#include "kernels/filter/reference.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/filter/line_kernels.hpp"
#include "kernels/padding/reference.hpp"

namespace peakmark {

FilterReference::FilterReference(const FilterProblem& problem)
    : problem_(problem),
      response_(filter_response(problem.filter, problem.padded_width())),
      columns_(source_columns(padding_of(problem))),
      transform_(static_cast<std::size_t>(problem.padded_width())) {}

std::vector<double> FilterReference::line(std::span<const float> values) const {
  return two_lines(values, {})[0];
}

// Filters are real in space, so lines in the real and in the imaginary part stay separate.
std::array<std::vector<double>, 2> FilterReference::two_lines(std::span<const float> one,
                                                              std::span<const float> other) const {
  using Complex = std::complex<double>;
  std::vector<Complex> padded(columns_.size());
  std::ranges::transform(columns_, padded.begin(), [&](Size column) -> Complex {
    const auto value = [column](std::span<const float> line) -> double {
      return column < 0 || line.empty() ? 0.0F : line[static_cast<std::size_t>(column)];
    };
    return {value(one), value(other)};
  });
  std::vector<Complex> spectrum = transform_(padded);
  const bool imaginary = problem_.filter == FilterName::hilbert;
  for (std::size_t k = 0; k < spectrum.size(); ++k) {
    const bool negative = k > spectrum.size() / 2;
    const double factor = response_[negative ? spectrum.size() - k : k];
    spectrum[k] *= imaginary ? Complex(0, negative ? -factor : factor) : Complex(factor, 0);
  }
  const std::vector<Complex> filtered = transform_(spectrum, true);
  const double scale = problem_.scale() / static_cast<double>(filtered.size());
  std::array<std::vector<double>, 2> result{std::vector<double>(one.size()),
                                            std::vector<double>(other.size())};
  for (std::size_t x = 0; x < one.size(); ++x) {
    const Complex at = filtered[x + static_cast<std::size_t>(problem_.padded_line().before)] * scale;
    result[0][x] = at.real();
    if (!other.empty()) result[1][x] = at.imag();
  }
  return result;
}

double FilterReference::tolerance() const {
  const double largest =
      std::abs(*std::ranges::max_element(response_, {}, [](double factor) { return std::abs(factor); }));
  return 16 * static_cast<double>(std::numeric_limits<float>::epsilon()) * largest * problem_.scale();
}

}  // namespace peakmark
