#include "kernels/filter/line_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/filter/filter_arrays.hpp"

namespace peakmark {
namespace {

Size sum_of(const std::vector<Term>& terms) {
  Size sum = 0;
  for (const Term& term : terms) sum = checked_add(sum, term.fixed_bytes);
  return sum;
}

std::vector<Term> terms_of(const FilterProblem& problem, Size lines) {
  const Size length = problem.padded_width();
  std::vector<Term> terms{{"filter", 0, Shape{length / 2 + 1}.bytes(DType::f32)}};
  if (problem.mode != PaddingMode::constant) terms.push_back({"columns", 0, Shape{length}.bytes(DType::i32)});
  for (Term& term : fft_terms(problem.fft, {.length = length, .lines = lines}))
    terms.push_back(std::move(term));
  terms.push_back({"work", 0, Shape{lines, length + 2}.bytes(DType::f32)});
  return terms;
}

/// The least whole percent of `floor` that are `bytes` or more.
Size percent_up(Size bytes, Size floor) {
  return bytes / floor * 100 + (bytes % floor * 100 + floor - 1) / floor;
}

}  // namespace

LineBatch batch_of(const FilterProblem& problem, Size lines) {
  if (lines < 1 || lines > problem.n_a)
    throw UsageError(fmt::format("filter: batch is {}; a sinogram has 1 to {} lines", lines, problem.n_a));
  return {lines, terms_of(problem, lines)};
}

LineBatch batch_within(const FilterProblem& problem, const LineAllowance& allowance) {
  const Size of_one = sum_of(terms_of(problem, 1));
  const Size least = checked_add(of_one, allowance.table_bytes);
  const Size allowed = allowance.bytes();
  if (least > allowed)
    throw UsageError(fmt::format(
        "filter: an allowance of {} percent of {} bytes, {}, does not hold one line of {} padded to {}: that "
        "takes {} bytes with the filter and the FFT's tables{}; raise `allowance` to {}, or say how many "
        "lines at a time with `batch`",
        allowance.percent, allowance.floor_bytes, allowed, problem.w, problem.padded_width(), least,
        allowance.table_bytes == 0 ? "" : fmt::format(", {} of them for the angles", allowance.table_bytes),
        percent_up(least, allowance.floor_bytes)));
  const Size of_each = sum_of(terms_of(problem, 2)) - of_one;
  Size most = 1 + (allowed - least) / of_each;
  if (most == 1) return batch_of(problem, 1);
  // Even, because a library transforms two real lines at once as one complex one; and shared out evenly, so
  // that the last batch is as full as the others.
  const auto even = [](Size lines) { return (lines + 1) / 2 * 2; };
  most -= most % 2;
  const Size batches = (problem.n_a + most - 1) / most;
  const Size lines = even((problem.n_a + batches - 1) / batches);
  return {lines, terms_of(problem, lines)};
}

LineBatch batch_of_case(const FilterProblem& problem, const Parameters& parameters, Size floor_bytes) {
  if (const Size batch = parameters.integer("batch"); batch != 0) return batch_of(problem, batch);
  return batch_within(problem, {.percent = parameters.integer("allowance"), .floor_bytes = floor_bytes});
}

LineFilter::LineFilter(Device& device, const FilterProblem& problem, const LineBatch& batch)
    : device_(device),
      problem_(problem),
      batch_lines_(batch.lines),
      line_(problem.padded_line()),
      kernels_(device) {
  check(problem);
  check_fft(device.info(), problem.fft, problem.padded_width());
}

void LineFilter::set_up() {
  const Size length = line_.padded();
  filter_ = push_filter(device_, problem_);
  if (problem_.mode != PaddingMode::constant) columns_ = push_columns(device_, problem_);
  fft_ = make_real_fft(device_, problem_.fft, {.length = length, .lines = batch_lines_});
  work_ = device_.create_uninitialised("work", {batch_lines_, length + 2}, DType::f32);
}

void LineFilter::operator()(const Array& from, Array& to, Size first, Size lines) {
  (*this)(
      first, lines,
      [&](const PaddedLines& padded, Size at, Size now) {
        kernels_.pad(from, at, now, line_.extent, padded.columns, padded.before, padded.length, padded.work,
                     padded.pitch);
      },
      [&](const PaddedLines& padded, Size at, Size now) {
        kernels_.crop(padded.work, padded.pitch, padded.before, to, at, now, line_.extent);
      });
}

void LineFilter::operator()(Size first, Size lines, const Move& load, const Move& store) {
  const Size length = line_.padded();
  const Size pitch = length + 2;
  const PaddedLines padded{work_, pitch, line_.before, length, columns_};
  for (Size done = 0; done < lines; done += batch_lines_) {
    const Size now = std::min(batch_lines_, lines - done);
    load(padded, first + done, now);
    // Lines are transformed two at a time, and one of larger values beside it costs a line digits: what
    // earlier batches left below a short one is wiped out.
    if (now < batch_lines_) device_.fill_part(work_, now * pitch, (batch_lines_ - now) * pitch, 0);
    fft_->forward(work_, 0);
    kernels_.filter(work_, now, length / 2 + 1, filter_, problem_.filter == FilterName::hilbert);
    fft_->backward(work_, 0);
    store(padded, first + done, now);
  }
}

}  // namespace peakmark
