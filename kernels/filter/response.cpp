#include "kernels/filter/response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "base/error.hpp"
#include "kernels/fft/host_fft.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

using std::numbers::pi;

constexpr std::array<std::string_view, 8> kNames = {"ramlak", "shepp-logan", "cosine",  "hamming",
                                                    "hann",   "tukey",       "lanczos", "hilbert"};

std::vector<double> ramp(Size length) {
  std::vector<std::complex<double>> samples(static_cast<std::size_t>(length));
  samples[0] = 0.25;
  for (std::size_t k = 1; k < samples.size() / 2; k += 2) {
    const double distance = pi * static_cast<double>(k);
    samples[k] = samples[samples.size() - k] = -1 / (distance * distance);
  }
  const std::vector<std::complex<double>> spectrum = host_fft(samples);
  std::vector<double> result(samples.size() / 2 + 1);
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = spectrum[k].real();
  return result;
}

double sinc(double x) {
  return x == 0 ? 1 : std::sin(pi * x) / (pi * x);
}

double window(FilterName filter, double frequency) {
  switch (filter) {
    case FilterName::shepp_logan:
      return sinc(frequency);
    case FilterName::cosine:
      return std::cos(pi * frequency);
    case FilterName::hamming:
      return 0.54 + 0.46 * std::cos(2 * pi * frequency);
    case FilterName::hann:
      return (1 + std::cos(2 * pi * frequency)) / 2;
    case FilterName::tukey:
      return frequency <= 0.25 ? 1 : (1 + std::cos(4 * pi * (frequency - 0.25))) / 2;
    case FilterName::lanczos:
      return sinc(2 * frequency);
    case FilterName::ramlak:
    case FilterName::hilbert:
      break;
  }
  return 1;
}

}  // namespace

std::string_view to_string(FilterName filter) {
  return kNames.at(static_cast<std::size_t>(filter));
}

std::vector<std::string> filter_names() {
  return {kNames.begin(), kNames.end()};
}

FilterName parse_filter_name(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end())
    throw UsageError(
        fmt::format("unknown word of axis 'filter': '{}'{}", name, suggest_word(name, filter_names())));
  return static_cast<FilterName>(found - kNames.begin());
}

std::vector<double> filter_response(FilterName filter, Size length) {
  const auto half = static_cast<std::size_t>(length / 2);
  if (filter == FilterName::hilbert) {
    std::vector<double> result(half + 1, -1 / (2 * pi));
    result.front() = result.back() = 0;
    return result;
  }
  std::vector<double> result = ramp(length);
  for (std::size_t k = 0; k <= half; ++k)
    result[k] *= window(filter, static_cast<double>(k) / static_cast<double>(length));
  return result;
}

}  // namespace peakmark
