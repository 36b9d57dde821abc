#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The filters of a sinogram's lines. All except `hilbert` are the ramp |ν| (ν in cycles per pixel, 0 to 1/2)
/// times a window. `hilbert` turns a derivative into the ramp: |ν| = 2πiν · hilbert(ν).
///
/// The ramp is the transform of its samples in space, h(0) = 1/4, h(odd k) = −1/(π k)², h(even k) = 0 (A. C.
/// Kak, M. Slaney, Principles of Computerized Tomographic Imaging, 1988, eq. 61). It is not |ν| sampled,
/// which would remove the mean. Windows:
/// - ramlak: 1
/// - shepp_logan: sin(πν)/(πν)
/// - cosine: cos(πν)
/// - hamming: 0.54 + 0.46 cos(2πν)
/// - hann: (1 + cos(2πν))/2
/// - tukey: 1 to |ν| = 1/4, from there a cosine down to 0 at 1/2
/// - lanczos: sin(2πν)/(2πν)
/// and hilbert: −i·sign(ν)/(2π), 0 at ν = 0 and at 1/2.
enum class FilterName : std::uint8_t { ramlak, shepp_logan, cosine, hamming, hann, tukey, lanczos, hilbert };

std::string_view to_string(FilterName filter);
/// `ramlak`, `shepp-logan`, …, in the order of the enumeration.
std::vector<std::string> filter_names();
/// Throws UsageError that names the nearest word.
FilterName parse_filter_name(std::string_view name);

/// Returns the filter at ν = k/length, k = 0 … length/2; for `hilbert`, which is imaginary, the imaginary
/// part. `length` is a multiple of 4.
std::vector<double> filter_response(FilterName filter, Size length);

}  // namespace peakmark
