#include "kernels/fft/vkfft_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr std::string_view kWrite = "outputs[";

/// The indices of the writes of a step between a complex and a real transform, in the order of the text.
constexpr auto kKnownWrites = std::to_array<std::string_view>({
    "inoutID tempInt tempInt2 inoutID tempInt",  // forward
    "inoutID tempInt2 inoutID tempInt",          // backward
    "inoutID tempInt inoutID tempInt",           // forward, a length that is not a multiple of 4
    "inoutID inoutID tempInt",                   // backward, such a length
});

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

std::vector<std::string_view> written_indices(std::string_view text) {
  std::vector<std::string_view> indices;
  for (std::size_t at = text.find(kWrite); at != std::string_view::npos; at = text.find(kWrite, at)) {
    at += kWrite.size();
    const std::size_t end = text.find("] = ", at);
    indices.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
  }
  return indices;
}

/// This step writes at the offset of its input, even into the work area: if the offset is not 0, it writes
/// beyond the end.
std::string with_output_offset(std::string text, int version) {
  if (text.find("VkFFT_main_R2C") == std::string::npos) return text;
  const std::string writes = fmt::format("{}", fmt::join(written_indices(text), " "));
  const bool is_known = std::ranges::find(kKnownWrites, writes) != kKnownWrites.end();
  if (!is_known || occurrences(text, "consts.inputOffset") != 1 ||
      occurrences(text, "consts.outputOffset") != 0)
    throw MeasurementError(fmt::format(
        "VkFFT {}.{}.{} writes a kernel that peakmark cannot correct: outputs[…] at {}; build peakmark "
        "with the VkFFT that ci/vkfft downloads",
        version / 10'000, version / 100 % 100, version % 100, writes.substr(0, 200)));
  constexpr std::string_view kRight = "outputs[consts.outputOffset - consts.inputOffset + ";
  for (std::size_t at = text.find(kWrite); at != std::string::npos;
       at = text.find(kWrite, at + kRight.size()))
    text.replace(at, kWrite.size(), kRight);
  return text;
}

}  // namespace

std::string corrected_vkfft_text(std::string text, int version) {
  // Barriers of VkFFT order only local memory. In place, an item writes where another item of its group has
  // read before the barrier, so global memory must be ordered too.
  return "#define barrier(local) barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n" +
         with_output_offset(std::move(text), version);
}

}  // namespace peakmark
