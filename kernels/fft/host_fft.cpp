#include "kernels/fft/host_fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Complex = std::complex<double>;

// The product of std::complex handles infinities and takes several times as long.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Transforms `terms`, whose number is prime, into terms[q·part], q = 0, 1, …; roots[q·step] are the roots
/// for this number.
///
/// If the number is odd, x and its counterpart from the end have conjugate factors. So their sum and their
/// difference are multiplied by real numbers, once for both q and its counterpart.
void butterfly(std::span<Complex> terms, Complex* out, std::size_t part, std::span<const Complex> roots,
               std::size_t step) {
  const std::size_t radix = terms.size();
  if (radix == 2) {
    out[0] = terms[0] + terms[1];
    out[part] = terms[0] - terms[1];
    return;
  }
  const std::size_t half = radix / 2;
  Complex all = terms[0];
  for (std::size_t r = 1; r <= half; ++r) {
    const Complex sum = terms[r] + terms[radix - r];
    terms[radix - r] = terms[r] - terms[radix - r];
    terms[r] = sum;
    all += sum;
  }
  for (std::size_t q = 1; q <= half; ++q) {
    Complex even = terms[0];
    Complex odd = 0;
    std::size_t turned = 0;
    for (std::size_t r = 1; r <= half; ++r) {
      turned = turned + q < radix ? turned + q : turned + q - radix;
      even += roots[turned * step].real() * terms[r];
      odd += roots[turned * step].imag() * terms[radix - r];
    }
    const Complex across(-odd.imag(), odd.real());
    out[q * part] = even + across;
    out[(radix - q) * part] = even - across;
  }
  out[0] = all;
}

/// `in` has out.size() elements, `stride` apart. `scratch` has as many elements as the largest factor.
void transform(const Complex* in, std::size_t stride, std::span<Complex> out,
               std::span<const std::size_t> factors, std::span<const Complex> roots,
               std::span<Complex> scratch) {
  const std::size_t n = out.size();
  const std::size_t radix = factors.front();
  const std::size_t part = n / radix;
  for (std::size_t r = 0; r < radix; ++r) {
    if (part == 1)
      out[r] = in[r * stride];
    else
      transform(in + r * stride, stride * radix, out.subspan(r * part, part), factors.subspan(1), roots,
                scratch);
  }
  const std::span<Complex> terms = scratch.first(radix);
  for (std::size_t k = 0; k < part; ++k) {
    terms[0] = out[k];
    for (std::size_t r = 1; r < radix; ++r) terms[r] = product(out[r * part + k], roots[r * k * stride]);
    butterfly(terms, &out[k], part, roots, part * stride);
  }
}

}  // namespace

HostFft::HostFft(std::size_t length) : roots_(length) {
  for (std::size_t k = 0; k < length; ++k)
    roots_[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length));
  std::size_t rest = length;
  for (std::size_t prime = 2; prime * prime <= rest; ++prime)
    for (; rest % prime == 0; rest /= prime) factors_.push_back(prime);
  if (rest > 1) factors_.push_back(rest);
}

std::vector<Complex> HostFft::operator()(std::span<const Complex> values, bool backward) const {
  if (values.size() != roots_.size())
    throw UsageError(fmt::format("host_fft: {} values given, but the transform length is {}", values.size(),
                                 roots_.size()));
  std::vector<Complex> in(values.begin(), values.end());
  if (factors_.empty()) return in;
  // Backward is forward between two conjugations.
  const auto conjugate = [backward](std::vector<Complex>& all) {
    if (backward) std::ranges::transform(all, all.begin(), [](Complex one) { return std::conj(one); });
  };
  conjugate(in);
  std::vector<Complex> result(in.size());
  std::vector<Complex> scratch(std::ranges::max(factors_));
  transform(in.data(), 1, result, factors_, roots_, scratch);
  conjugate(result);
  return result;
}

std::vector<Complex> host_fft(std::span<const Complex> values, bool backward) {
  return HostFft(values.size())(values, backward);
}

}  // namespace peakmark
