#pragma once

#include <complex>
#include <span>
#include <vector>

namespace peakmark {

/// X[k] = Σ x[j]·exp(∓2πi·jk/n) (− forward, + backward), not normalised, in double precision on the host: for
/// filters and references. O(n · sum of n's prime factors). Recursion over the prime factors, as in J. W.
/// Cooley, J. W. Tukey, Math. Comp. 19 (1965) 297.
std::vector<std::complex<double>> host_fft(std::span<const std::complex<double>> values,
                                           bool backward = false);

/// The same, many times of one length: the roots of one are worked out once, which takes as long as a
/// transform.
class HostFft {
 public:
  using Complex = std::complex<double>;

  explicit HostFft(std::size_t length);

  /// `values` has as many elements as were said; UsageError for others.
  [[nodiscard]] std::vector<Complex> operator()(std::span<const Complex> values, bool backward = false) const;

 private:
  std::vector<std::size_t> factors_;  ///< prime
  std::vector<Complex> roots_;        ///< exp(−2πi·k/length)
};

}  // namespace peakmark
