#include "compare/case_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxMoved = 10;

bool bytes_changed(const CaseComparison& one) {
  return std::ranges::any_of(
      one.bytes, [](const BytesComparison& bytes) { return bytes.change && *bytes.change != Change::same; });
}

/// `peak`, `set-up`, `leak`
std::string short_name(const std::string& metric) {
  if (metric == "requested_peak_bytes") return "peak";
  return metric == "setup_bytes" ? "set-up" : "leak";
}

std::string bytes_or_unknown(const std::optional<Size>& bytes) {
  return bytes ? fmt::format("{} B", *bytes) : "unknown";
}

void add_bytes(std::vector<std::string>& remarks, const BytesComparison& bytes) {
  if (!bytes.change) {
    if (bytes.base.has_value() != bytes.next.has_value()) {
      remarks.push_back(fmt::format("{}: {} -> {}", short_name(bytes.metric), bytes_or_unknown(bytes.base),
                                    bytes_or_unknown(bytes.next)));
    }
    return;
  }
  if (*bytes.change == Change::same) return;
  remarks.push_back(
      fmt::format("{} {} by {} B: {} -> {} B{}{}", short_name(bytes.metric), to_string(*bytes.change),
                  std::abs(checked_subtract(*bytes.next, *bytes.base)), *bytes.base, *bytes.next,
                  bytes.allowed ? "; allowed by --allow-growth" : "",
                  bytes.unsteady ? "; it is not the same in two passes of one run either" : ""));
  for (std::size_t i = 0; i < std::min(kMaxMoved, bytes.moved.size()); ++i) {
    remarks.push_back("  " + plain_text(in_words(bytes.moved[i])));
  }
  if (bytes.moved.size() > kMaxMoved) {
    remarks.push_back(fmt::format("  and {} more; --json has them all", bytes.moved.size() - kMaxMoved));
  }
}

}  // namespace

ComparisonStatus standing_of(const CaseComparison& one) {
  if (one.is_regression()) return ComparisonStatus::regressed;
  if (one.time && one.time->verdict == TimeVerdict::suspicious) return ComparisonStatus::suspicious;
  if (one.is_improvement()) return ComparisonStatus::improved;
  if (bytes_changed(one) || one.base_outcome != one.new_outcome) return ComparisonStatus::changed;
  if (one.is_skipped()) return ComparisonStatus::skipped;
  if (one.time &&
      (one.time->verdict == TimeVerdict::undecided || one.time->verdict == TimeVerdict::not_comparable)) {
    return ComparisonStatus::undecided;
  }
  return ComparisonStatus::same;
}

const char* title_of(ComparisonStatus standing) {
  switch (standing) {
    case ComparisonStatus::regressed:
      return "regressed";
    case ComparisonStatus::suspicious:
      return "suspicious";
    case ComparisonStatus::improved:
      return "improved";
    case ComparisonStatus::changed:
      return "changed otherwise";
    case ComparisonStatus::undecided:
      return "undecided";
    case ComparisonStatus::same:
      return "the same";
    case ComparisonStatus::skipped:
      return "skipped";
  }
  return "unknown";
}

std::map<ComparisonStatus, std::vector<const CaseComparison*>> by_standing(const RunComparison& comparison) {
  std::map<ComparisonStatus, std::vector<const CaseComparison*>> groups;
  for (const CaseComparison& one : comparison.cases) groups[standing_of(one)].push_back(&one);
  return groups;
}

std::string peak_text(const CaseComparison& one) {
  const BytesComparison* const peak = one.find("requested_peak_bytes");
  if (peak == nullptr || !peak->change) return "–";
  if (*peak->change == Change::same) return format_size(*peak->next);
  const std::string before = format_size(*peak->base);
  const std::string after = format_size(*peak->next);
  if (before == after) return fmt::format("{} {:+} B", after, checked_subtract(*peak->next, *peak->base));
  return fmt::format("{} -> {}{}", before, after,
                     peak->relative ? fmt::format(" ({:+.2f} %)", 100 * *peak->relative) : "");
}

std::string time_text(const CaseComparison& one) {
  if (!one.time || !one.time->change) return "–";
  return fmt::format("{} -> {}", format_duration(one.time->change->base_ns),
                     format_duration(one.time->change->new_ns));
}

std::string rate_text(const CaseComparison& one) {
  if (!one.base_throughput.bytes_per_second && !one.new_throughput.bytes_per_second) return "–";
  return fmt::format("{} -> {}", gigabytes_text(one.base_throughput.bytes_per_second),
                     gigabytes_text(one.new_throughput.bytes_per_second));
}

std::string effect_text(const CaseComparison& one) {
  if (!one.time || !one.time->change) return "–";
  const TimeChange& change = *one.time->change;
  std::string text = fmt::format("{:+.1f} %", 100 * change.relative);
  if (change.interval) {
    text += fmt::format(" ({:+.1f} … {:+.1f})", 100 * change.interval->low, 100 * change.interval->high);
  }
  return text;
}

std::string verdict_text(const CaseComparison& one) {
  std::vector<std::string> words;
  if (one.base_outcome != one.new_outcome) words.emplace_back(to_string(one.new_outcome));
  for (const BytesComparison& bytes : one.bytes) {
    if (!bytes.change || *bytes.change == Change::same) continue;
    words.push_back(short_name(bytes.metric) + " " + to_string(*bytes.change) +
                    (bytes.allowed ? " (allowed)" : ""));
  }
  if (one.time && one.time->verdict == TimeVerdict::not_comparable) {
    words.emplace_back("times not comparable");
  } else if (one.time && one.time->verdict != TimeVerdict::same) {
    words.emplace_back(to_string(one.time->verdict));
  }
  if (words.empty() && one.is_skipped()) return fmt::format("skipped ({})", to_string(one.new_outcome));
  return words.empty() ? "same" : fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> remarks_on(const CaseComparison& one) {
  std::vector<std::string> remarks;
  if (one.base_outcome != one.new_outcome) {
    remarks.push_back(
        plain_text(fmt::format("outcome: {} -> {}{}", to_string(one.base_outcome), to_string(one.new_outcome),
                               one.message.empty() ? "" : ": " + one.message)));
  } else if (one.new_outcome != Outcome::ok) {
    remarks.push_back(plain_text(fmt::format("outcome: {} on both sides{}", to_string(one.new_outcome),
                                             one.message.empty() ? "" : ": " + one.message)));
  }
  for (const BytesComparison& bytes : one.bytes) add_bytes(remarks, bytes);
  if (one.time && !one.time->advice.empty()) remarks.push_back("time: " + one.time->advice);
  return remarks;
}

}  // namespace peakmark
