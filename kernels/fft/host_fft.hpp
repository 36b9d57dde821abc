#pragma once

#include <complex>
#include <span>
#include <vector>

namespace peakmark {

/// Computes X[k] = Σ x[j]·exp(∓2πi·jk/n) (− forward, + backward), not normalised, in double precision on the
/// host, for filters and references. Takes O(n · sum of n's prime factors) by recursion over the prime
/// factors, as in J. W. Cooley, J. W. Tukey, Math. Comp. 19 (1965) 297.
std::vector<std::complex<double>> host_fft(std::span<const std::complex<double>> values,
                                           bool backward = false);

/// The same, for many transforms of one length. It computes the roots only once, which takes as long as a
/// transform.
class HostFft {
 public:
  using Complex = std::complex<double>;

  explicit HostFft(std::size_t length);

  /// Throws UsageError unless `values` has the length of the constructor.
  [[nodiscard]] std::vector<Complex> operator()(std::span<const Complex> values, bool backward = false) const;

 private:
  std::vector<std::size_t> factors_;  ///< prime
  std::vector<Complex> roots_;        ///< exp(−2πi·k/length)
};

}  // namespace peakmark
