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

}  // namespace peakmark
