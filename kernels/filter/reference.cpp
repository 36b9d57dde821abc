#include "kernels/filter/reference.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/fft/host_fft.hpp"
#include "kernels/filter/filter_arrays.hpp"
#include "kernels/padding/reference.hpp"

namespace peakmark {

FilterReference::FilterReference(const FilterProblem& problem)
    : problem_(problem),
      response_(filter_response(problem.filter, problem.padded_width())),
      columns_(source_columns(padding_of(problem))) {}

std::vector<double> FilterReference::line(std::span<const float> values) const {
  using Complex = std::complex<double>;
  std::vector<Complex> padded(columns_.size());
  std::ranges::transform(columns_, padded.begin(), [&](Size column) -> Complex {
    return column < 0 ? 0.0 : static_cast<double>(values[static_cast<std::size_t>(column)]);
  });
  std::vector<Complex> spectrum = host_fft(padded);
  const bool imaginary = problem_.filter == FilterName::hilbert;
  for (std::size_t k = 0; k < spectrum.size(); ++k) {
    const bool negative = k > spectrum.size() / 2;
    const double factor = response_[negative ? spectrum.size() - k : k];
    spectrum[k] *= imaginary ? Complex(0, negative ? -factor : factor) : Complex(factor, 0);
  }
  const std::vector<Complex> filtered = host_fft(spectrum, true);
  const double scale = problem_.scale() / static_cast<double>(filtered.size());
  std::vector<double> result(values.size());
  for (std::size_t x = 0; x < result.size(); ++x)
    result[x] = filtered[x + static_cast<std::size_t>(problem_.padded_line().before)].real() * scale;
  return result;
}

double FilterReference::tolerance() const {
  const double largest =
      std::abs(*std::ranges::max_element(response_, {}, [](double factor) { return std::abs(factor); }));
  return 16 * static_cast<double>(std::numeric_limits<float>::epsilon()) * largest * problem_.scale();
}

}  // namespace peakmark
