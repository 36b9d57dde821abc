#include "kernels/fft/fft_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "kernels/fft/fft_libraries.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {
namespace {

struct TableRow {
  std::int32_t length;
  std::int32_t bytes;
};

constexpr auto kTables = std::to_array<TableRow>({
#include "kernels/fft/vkfft_tables.inc"
});

Size spectrum_bytes(Size length) {
  return checked_multiply(8, length / 2 + 1);
}

Size lines_within(const FftPlan& plan) {
  if (plan.in_place || plan.max_work_bytes == 0) return plan.lines;
  return std::clamp<Size>(plan.max_work_bytes / spectrum_bytes(plan.length), 1, plan.lines);
}

}  // namespace

std::vector<Part> fft_parts(FftLibrary library, const FftPlan& plan) {
  if (library == FftLibrary::cufft) return {{"fft_work", 0, cufft_work_bytes(plan)}};
  std::vector<Part> parts{{"fft_tables", 0, vkfft_table_bytes(plan.length)}};
  if (const Size work = vkfft_work_bytes(plan); work > 0) parts.push_back({"fft_work", 0, work});
  return parts;
}

Size vkfft_lines_at_a_time(const FftPlan& plan) {
  return plan.length <= kVkfftLongestOnePass ? plan.lines : lines_within(plan);
}

Size cufft_work_bytes(const FftPlan& plan) {
  return checked_multiply(lines_within(plan), spectrum_bytes(plan.length));
}

Size vkfft_work_bytes(const FftPlan& plan) {
  if (plan.length <= kVkfftLongestOnePass) return 0;
  return checked_multiply(lines_within(plan), spectrum_bytes(plan.length));
}

void check_vkfft_length(Size length) {
  if (length > kLongestVkfftTable)
    throw Unsupported(
        fmt::format("fft: length {} is beyond {}, the longest that was seen to work with VkFFT and whose "
                    "tables are written down",
                    length, kLongestVkfftTable));
}

Size vkfft_table_bytes(Size length) {
  check_vkfft_length(length);
  const auto* row = std::ranges::lower_bound(kTables, length, {}, &TableRow::length);
  if (row == kTables.end() || row->length != length)
    throw Unsupported(fmt::format("fft: what VkFFT's tables take at length {} is not written down", length));
  return row->bytes;
}

bool is_seven_smooth(Size length) {
  for (const Size prime : {2, 3, 5, 7})
    while (length % prime == 0) length /= prime;
  return length == 1;
}

// Tries every product of powers of 3, 5 and 7 with the smallest power of two that makes it long enough. There
// are about a thousand products in 64 bits; counting up instead would take 10^8 steps and more.
Size next_fft_length(Size least) {
  const auto quarter = static_cast<std::uint64_t>(least <= 4 ? 1 : checked_add(least, 3) / 4);
  // At most 2^61, so that 7 times a smaller value fits.
  std::uint64_t best = std::bit_ceil(quarter);
  for (std::uint64_t sevens = 1; sevens < best; sevens *= 7)
    for (std::uint64_t fives = sevens; fives < best; fives *= 5)
      for (std::uint64_t odd = fives; odd < best; odd *= 3)
        best = std::min(best, odd * std::bit_ceil((quarter + odd - 1) / odd));
  return checked_multiply(4, static_cast<Size>(best));
}

}  // namespace peakmark
