#include "kernels/filter/line_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/filter/line_kernels.hpp"

namespace peakmark {
namespace {

Size sum_of(const std::vector<Part>& parts) {
  Size sum = 0;
  for (const Part& part : parts) sum = checked_add(sum, part.fixed_bytes);
  return sum;
}

std::vector<Part> parts_of(const FilterProblem& problem, Size lines, bool lent = false) {
  const Size length = problem.padded_width();
  std::vector<Part> parts{{"filter", 0, Shape{length / 2 + 1}.bytes(DType::f32)}};
  if (problem.mode != PaddingMode::constant) parts.push_back({"columns", 0, Shape{length}.bytes(DType::i32)});
  for (Part& part : fft_parts(problem.fft, {.length = length, .lines = lines}))
    parts.push_back(std::move(part));
  if (!lent) parts.push_back({"work", 0, Shape{lines, length + 2}.bytes(DType::f32)});
  return parts;
}

/// Returns the largest number of lines, up to `most`, whose parts are at most `allowed` bytes; 0 if one line
/// needs more.
Size lines_within(const FilterProblem& problem, Size allowed, Size most, bool lent) {
  const Size of_one = sum_of(parts_of(problem, 1, lent));
  if (of_one > allowed || most < 1) return 0;
  const Size of_each = sum_of(parts_of(problem, 2, lent)) - of_one;
  return of_each == 0 ? most : std::min(most, 1 + (allowed - of_one) / of_each);
}

/// Returns an even number, since a library transforms two real lines as one complex line. Batches have equal
/// sizes, so that the last one is as full as the others.
Size evenly(Size lines, Size most) {
  if (most == 1) return 1;
  most -= most % 2;
  const Size batches = (lines + most - 1) / most;
  return ((lines + batches - 1) / batches + 1) / 2 * 2;
}

/// Returns the smallest whole percentage of `floor` that is at least `bytes`.
Size percent_up(Size bytes, Size floor) {
  return bytes / floor * 100 + (bytes % floor * 100 + floor - 1) / floor;
}

}  // namespace

LineBatch batch_of(const FilterProblem& problem, Size lines) {
  if (lines < 1 || lines > problem.n_a)
    throw UsageError(fmt::format("filter: batch is {}; a sinogram has 1 to {} lines", lines, problem.n_a));
  return {lines, parts_of(problem, lines), false};
}

LineBatch batch_within(const FilterProblem& problem, const LineAllowance& allowance) {
  const Size allowed = allowance.bytes();
  const Size for_lines = std::max<Size>(0, allowed - allowance.table_bytes);
  const Size line_bytes = Shape{problem.padded_width() + 2}.bytes(DType::f32);
  const Size enough = std::max<Size>(2, kLentWorkBytes / line_bytes);
  // One line fewer, since the work buffer begins at a whole line of the lent array.
  const Size fit = std::min({allowance.lent_bytes / line_bytes - 1, enough, problem.n_a + 1});
  const Size lent = lines_within(problem, for_lines, fit, true);
  Size own = lines_within(problem, std::max<Size>(0, allowance.percent_bytes() - allowance.table_bytes),
                          problem.n_a + 1, false);
  // The minimum is meant for one pair of lines.
  if (own == 0 && lent == 0) own = lines_within(problem, for_lines, 2, false);
  const bool is_lent =
      lent > 0 && (own == 0 || evenly(problem.n_a, lent) >= evenly(problem.n_a, std::min(own, enough)));
  const Size most = is_lent ? lent : own;
  if (most < 1) {
    const Size least = checked_add(sum_of(parts_of(problem, 1)), allowance.table_bytes);
    throw UsageError(fmt::format(
        "filter: an allowance of {} percent of {} bytes, {}, does not hold one line of {} padded to {}: that "
        "takes {} bytes with the filter and the FFT's tables{}; raise `allowance` to {}, or say how many "
        "lines at a time with `batch`",
        allowance.percent, allowance.floor_bytes, allowed, problem.w, problem.padded_width(), least,
        allowance.table_bytes == 0 ? "" : fmt::format(", {} of them for the angles", allowance.table_bytes),
        percent_up(least, allowance.floor_bytes)));
  }
  const Size lines = evenly(problem.n_a, most);
  return {lines, parts_of(problem, lines, is_lent), is_lent};
}

LineBatch batch_of_case(const FilterProblem& problem, const Case& asked, Size floor_bytes) {
  if (const Size batch = asked["batch"]; batch != 0) return batch_of(problem, batch);
  return batch_within(problem, {.percent = asked["allowance"], .floor_bytes = floor_bytes});
}

LineFilter::LineFilter(Device& device, const FilterProblem& problem, const LineBatch& batch)
    : device_(device),
      problem_(problem),
      batch_lines_(batch.lines),
      lent_(batch.lent),
      line_(problem.padded_line()),
      kernels_(device) {
  check(problem);
  check_fft(device, problem.fft, problem.padded_width());
}

void LineFilter::set_up(Size lent_line) {
  const Size length = line_.padded();
  lent_line_ = lent_ ? lent_line : 0;
  filter_ = push_filter(device_, problem_);
  columns_ = problem_.mode == PaddingMode::constant ? create(device_, "columns", {0}, DType::i32)
                                                    : push_columns(device_, problem_);
  fft_ = make_real_fft(
      device_, problem_.fft,
      {.length = length, .lines = batch_lines_, .array_lines = checked_add(lent_line_, batch_lines_)});
  if (!lent_) work_ = create_uninitialised(device_, "work", {batch_lines_, length + 2}, DType::f32);
}

void LineFilter::operator()(const DeviceArray& from, DeviceArray& to, Size first, Size lines,
                            DeviceArray* lent) {
  (*this)(
      first, lines,
      [&](const PaddedLines& padded, Size at, Size now) {
        kernels_.pad(from, at, now, line_.extent, padded.columns, padded.before, padded.length, padded.work,
                     padded.offset, padded.pitch);
      },
      [&](const PaddedLines& padded, Size at, Size now) {
        kernels_.crop(padded.work, padded.offset, padded.pitch, padded.before, to, at, now, line_.extent);
      },
      lent);
}

void LineFilter::operator()(Size first, Size lines, const Move& load, const Move& store, DeviceArray* lent) {
  const Size length = line_.padded();
  const Size pitch = length + 2;
  const Size offset = checked_multiply(lent_line_, pitch);
  DeviceArray& work = lent_ ? *lent : work_;
  const PaddedLines padded{work, offset, pitch, line_.before, length, columns_};
  for (Size done = 0; done < lines; done += batch_lines_) {
    const Size now = std::min(batch_lines_, lines - done);
    load(padded, first + done, now);
    // Lines are transformed in pairs, and a line loses digits if its partner has larger values. So remains of
    // earlier batches after a short batch are cleared.
    if (now < batch_lines_) work.fill_part(offset + now * pitch, (batch_lines_ - now) * pitch, 0);
    fft_->forward(work, lent_line_);
    kernels_.filter(work, offset, now, length / 2 + 1, filter_, problem_.filter == FilterName::hilbert);
    fft_->backward(work, lent_line_);
    store(padded, first + done, now);
  }
}

}  // namespace peakmark
