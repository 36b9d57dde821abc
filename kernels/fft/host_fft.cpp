#include "kernels/fft/host_fft.hpp"

#include <numbers>

namespace peakmark {
namespace {

using Complex = std::complex<double>;

std::size_t least_prime_factor(std::size_t n) {
  for (std::size_t prime = 2; prime * prime <= n; ++prime)
    if (n % prime == 0) return prime;
  return n;
}

/// `in` has n elements, `stride` apart; roots[k] = exp(∓2πi·k/N) of the whole transform's N = n·stride.
void transform(const Complex* in, std::size_t stride, std::span<Complex> out,
               std::span<const Complex> roots) {
  const std::size_t n = out.size();
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const std::size_t radix = least_prime_factor(n);
  const std::size_t part = n / radix;
  for (std::size_t r = 0; r < radix; ++r)
    transform(in + r * stride, stride * radix, out.subspan(r * part, part), roots);
  std::vector<Complex> terms(radix);
  for (std::size_t k = 0; k < part; ++k) {
    for (std::size_t r = 0; r < radix; ++r) terms[r] = out[r * part + k];
    for (std::size_t q = 0; q < radix; ++q) {
      Complex sum = terms[0];
      for (std::size_t r = 1; r < radix; ++r) sum += terms[r] * roots[(r * (k + q * part)) % n * stride];
      out[q * part + k] = sum;
    }
  }
}

}  // namespace

std::vector<Complex> host_fft(std::span<const Complex> values, bool backward) {
  const std::size_t n = values.size();
  std::vector<Complex> roots(n);
  const double turn = (backward ? 2 : -2) * std::numbers::pi;
  for (std::size_t k = 0; k < n; ++k)
    roots[k] = std::polar(1.0, turn * static_cast<double>(k) / static_cast<double>(n));
  std::vector<Complex> result(n);
  if (n > 0) transform(values.data(), 1, result, roots);
  return result;
}

}  // namespace peakmark
