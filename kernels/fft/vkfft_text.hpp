#pragma once

#include <string>

namespace peakmark {

/// Returns the text of an OpenCL kernel of VkFFT with two errors corrected: the place where it writes, and
/// the memory that its barriers order. `version`: VkFFTGetVersion(). Throws MeasurementError if the kernel
/// does not write exactly as VkFFT 1.3.4 does, since a wrong correction would overwrite the memory behind the
/// work area.
std::string corrected_vkfft_text(std::string text, int version);

}  // namespace peakmark
