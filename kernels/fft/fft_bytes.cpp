#include "kernels/fft/fft_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "kernels/fft/vkfft_device.hpp"

namespace peakmark {
namespace {

struct TableRow {
  std::int32_t length;
  std::int32_t bytes;
};

constexpr auto kTables = std::to_array<TableRow>({
#include "kernels/fft/vkfft_tables.inc"
});

Size work_of_a_line(Size length) {
  return length <= kVkfftLongestOnePass ? 0 : checked_multiply(8, length / 2 + 1);
}

}  // namespace

Size vkfft_lines_at_a_time(const FftPlan& plan) {
  const Size line = work_of_a_line(plan.length);
  if (plan.in_place || plan.most_work_bytes == 0 || line == 0) return plan.lines;
  return std::clamp<Size>(plan.most_work_bytes / line, 1, plan.lines);
}

Size vkfft_work_bytes(const FftPlan& plan) {
  return checked_multiply(vkfft_lines_at_a_time(plan), work_of_a_line(plan.length));
}

Size vkfft_table_bytes(Size length) {
  const auto* row = std::ranges::lower_bound(kTables, length, {}, &TableRow::length);
  if (row == kTables.end() || row->length != length)
    throw Unsupported(fmt::format("fft: what VkFFT's tables take at length {} is not written down", length));
  return row->bytes;
}

}  // namespace peakmark
