#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/difference.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "measure/compare/run_comparison.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxShown = 40;  ///< cases of a group on the console
constexpr std::size_t kMaxMoved = 10;  ///< allocations of a case
constexpr std::size_t kMaxNamesInMarkdown = 100;
/// Leaves space for the lists after the tables.
constexpr std::size_t kMaxTableBytes = kMarkdownLimit - 100'000;

const char* group_title(ComparisonStatus status) {
  switch (status) {
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

using CaseGroups = std::map<ComparisonStatus, std::vector<const CaseComparison*>>;

/// Returns how much a case changed: first by outcome, then by bytes, then by relative time.
using Extent = std::tuple<bool, Size, double>;

Extent extent_of(const CaseComparison& one) {
  Size bytes = 0;
  for (const BytesComparison& each : one.bytes) {
    if (each.change) bytes = std::max(bytes, std::abs(checked_subtract(*each.next, *each.base)));
  }
  const double time = one.time && one.time->change ? std::abs(one.time->change->relative) : 0;
  return {one.base_outcome != one.new_outcome, bytes, std::isfinite(time) ? time : 0};
}

/// Returns the cases of each status, those that changed most first, because a table may show only the first
/// ones. Equal ones are in the order of the comparison.
CaseGroups group_cases(const RunComparison& comparison) {
  CaseGroups groups;
  for (const CaseComparison& one : comparison.cases) groups[one.status()].push_back(&one);
  for (auto& [status, cases] : groups)
    std::ranges::stable_sort(cases, std::ranges::greater{}, [](const auto* one) { return extent_of(*one); });
  return groups;
}

std::string peak_cell(const CaseComparison& one) {
  const BytesComparison* const peak = one.find("requested_peak_bytes");
  return peak == nullptr ? "" : levels_text(*peak);
}

std::string time_cell(const CaseComparison& one) {
  return one.time ? levels_text(*one.time) : "";
}

/// Returns `98.7 -> 80.1`, in GB/s.
std::string rate_cell(const CaseComparison& one) {
  if (!one.base_throughput.bytes_per_second && !one.new_throughput.bytes_per_second) return "";
  return fmt::format("{} -> {}", gigabytes_text(one.base_throughput.bytes_per_second),
                     gigabytes_text(one.new_throughput.bytes_per_second));
}

/// Returns `+4.1 % (+3.2 … +5.0)`.
std::string effect_cell(const CaseComparison& one) {
  if (!one.time || !one.time->change) return "";
  const TimeChange& change = *one.time->change;
  std::string text = format_change(change.relative, 1);
  if (change.interval) {
    text += fmt::format(" ({:+.1f} … {:+.1f})", 100 * change.interval->low, 100 * change.interval->high);
  }
  return text;
}

/// Returns `peak`, `setup` or `leak`.
std::string short_name(const std::string& metric) {
  if (metric == "requested_peak_bytes") return "peak";
  return metric == "setup_bytes" ? "setup" : "leak";
}

/// Returns all verdicts except `same`: `peak grew, slower`.
std::string verdict_cell(const CaseComparison& one) {
  std::vector<std::string> words;
  if (one.base_outcome != one.new_outcome) words.emplace_back(to_string(one.new_outcome));
  for (const BytesComparison& bytes : one.bytes) {
    if (!bytes.change || *bytes.change == Change::same) continue;
    words.push_back(short_name(bytes.metric) + " " + to_string(*bytes.change) +
                    (bytes.allowed     ? " (allowed)"
                     : bytes.too_small ? " (too far)"
                                       : ""));
  }
  if (one.time && one.time->verdict == TimeVerdict::not_comparable) {
    words.emplace_back("times not comparable");
  } else if (one.time && one.time->verdict != TimeVerdict::same) {
    words.emplace_back(to_string(one.time->verdict));
  }
  if (words.empty() && one.is_skipped()) return fmt::format("skipped ({})", to_string(one.new_outcome));
  return words.empty() ? "same" : fmt::format("{}", fmt::join(words, ", "));
}

std::string bytes_or_unknown(const std::optional<Size>& bytes) {
  return bytes ? fmt::format("{} B", *bytes) : "unknown";
}

const char* allowance_remark(const BytesComparison& bytes) {
  if (bytes.too_small) return "; more than the suite's allow_shrinking";
  if (bytes.allowed_by_suite) return "; allowed by the suite's allow_growth";
  return bytes.allowed ? "; allowed by --allow-growth" : "";
}

void add_bytes_remarks(const BytesComparison& bytes, std::vector<std::string>& remarks) {
  if (!bytes.change) {
    if (bytes.base.has_value() != bytes.next.has_value()) {
      remarks.push_back(fmt::format("{}: {} -> {}", short_name(bytes.metric), bytes_or_unknown(bytes.base),
                                    bytes_or_unknown(bytes.next)));
    }
    return;
  }
  if (*bytes.change == Change::same) return;
  remarks.push_back(fmt::format(
      "{} {} by {} B: {} -> {} B{}{}", short_name(bytes.metric), to_string(*bytes.change),
      std::abs(checked_subtract(*bytes.next, *bytes.base)), *bytes.base, *bytes.next, allowance_remark(bytes),
      bytes.unsteady ? "; the two memory passes of one run differ as well" : ""));
  for (std::size_t i = 0; i < std::min(kMaxMoved, bytes.moved.size()); ++i) {
    remarks.push_back("  " + plain_text(in_words(bytes.moved[i])));
  }
  if (bytes.moved.size() > kMaxMoved) {
    remarks.push_back(fmt::format("  and {} more; --json has them all", bytes.moved.size() - kMaxMoved));
  }
}

/// Returns what the table does not show: outcomes, moved allocations, advice.
std::vector<std::string> find_remarks(const CaseComparison& one) {
  std::vector<std::string> remarks;
  const std::string message = one.message.empty() ? "" : ": " + one.message;
  if (one.base_outcome != one.new_outcome) {
    remarks.push_back(plain_text(fmt::format("outcome: {} -> {}{}", to_string(one.base_outcome),
                                             to_string(one.new_outcome), message)));
  } else if (one.new_outcome != Outcome::ok) {
    remarks.push_back(
        plain_text(fmt::format("outcome: {} on both sides{}", to_string(one.new_outcome), message)));
  }
  for (const BytesComparison& bytes : one.bytes) add_bytes_remarks(bytes, remarks);
  return remarks;
}

std::string time_remark(const CaseComparison& one) {
  return one.time && !one.time->advice.empty() ? "time: " + one.time->advice : std::string();
}

std::string remarks_cell(const CaseComparison& one) {
  std::string text;
  std::vector<std::string> remarks = find_remarks(one);
  if (std::string remark = time_remark(one); !remark.empty()) remarks.push_back(std::move(remark));
  for (const std::string& remark : remarks) {
    text += (text.empty() ? "" : "<br>") + markdown_cell(remark.substr(remark.find_first_not_of(' ')));
  }
  return text;
}

Fields<CaseComparison> console_fields(bool has_throughput) {
  Fields<CaseComparison> fields{{"case", As::text, [](const auto& one) { return plain_text(one.name); }},
                                {"peak", As::text, peak_cell},
                                {"time", As::text, time_cell},
                                {"GB/s", As::text, rate_cell},
                                {"effect (95 %)", As::text, effect_cell},
                                {"verdict", As::text, verdict_cell}};
  if (!has_throughput) fields.erase(fields.begin() + 3);
  return fields;
}

const Fields<CaseComparison>& markdown_fields() {
  static const Fields<CaseComparison> fields{{"case", As::name, &CaseComparison::name},
                                             {"verdict", As::markdown, verdict_cell},
                                             {"peak", As::text, peak_cell},
                                             {"time", As::text, time_cell},
                                             {"GB/s", As::text, rate_cell},
                                             {"effect (95 %)", As::text, effect_cell},
                                             {"why", As::markdown, remarks_cell, "", ""}};
  return fields;
}

struct MetricRow {
  std::string name;  ///< of the case
  MetricComparison metric;
};

std::vector<MetricRow> metrics_that_differ(const RunComparison& comparison) {
  std::vector<MetricRow> rows;
  for (const CaseComparison& one : comparison.cases) {
    for (const MetricComparison& metric : one.metrics) {
      if (metric.differs()) rows.push_back({one.name, metric});
    }
  }
  return rows;
}

/// Returns `+16.7 %, worse`.
std::string change_cell(const MetricRow& row) {
  const MetricComparison& metric = row.metric;
  const std::optional<double> relative = metric.relative();
  std::string text = relative ? fmt::format("{:+.3g} %", 100 * *relative) : "";
  if (metric.direction.empty() || !metric.base || !metric.next) return text;
  const bool is_better = (*metric.next > *metric.base) == (metric.direction == metric_direction::higher);
  return text + (text.empty() ? "" : ", ") + (is_better ? "better" : "worse");
}

const Fields<MetricRow>& reported_metric_fields() {
  static const Fields<MetricRow> fields{
      {"case", As::name, [](const MetricRow& row) { return plain_text(row.name); }},
      {"metric", As::text, [](const MetricRow& row) { return row.metric.name; }},
      {"base", As::number, [](const MetricRow& row) { return row.metric.base; }},
      {"new", As::number, [](const MetricRow& row) { return row.metric.next; }},
      {"change", As::text, change_cell}};
  return fields;
}

std::string metrics_text(const RunComparison& comparison) {
  const std::vector<MetricRow> rows = metrics_that_differ(comparison);
  return rows.empty()
             ? ""
             : "\nmetrics that differ\n" + rows_text(reported_metric_fields(), rows, kMaxShown, "  ");
}

std::string metrics_markdown(const RunComparison& comparison) {
  const std::vector<MetricRow> rows = metrics_that_differ(comparison);
  if (rows.empty()) return "";
  constexpr std::size_t kMaxMetricsBytes = 20'000;
  MarkdownTable table(columns(reported_metric_fields()), kMaxMetricsBytes);
  for (const MetricRow& row : rows) table.add(cells(reported_metric_fields(), row));
  return fmt::format("\n### metrics that differ: {}\n\n", rows.size()) + table.text();
}

std::string side_line(const char* side, const ComparedSide& one) {
  std::string text = fmt::format("{}  {}", side, one.variant.empty() ? one.file : one.variant);
  if (!one.commit.empty()) text += fmt::format("  commit {}", short_commit(one.commit));
  return plain_text(text + fmt::format("  {}  {}", one.date, one.device)) + "\n";
}

/// Returns the remarks on a group's cases: those on outcomes and bytes for each case, then each different
/// advice on times once, with the number of its cases.
std::string remarks_text(const std::vector<const CaseComparison*>& cases) {
  std::string text;
  std::map<std::string, std::size_t> advice;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (const std::string remark = time_remark(*cases[i]); !remark.empty()) ++advice[remark];
    const std::vector<std::string> remarks = find_remarks(*cases[i]);
    if (i >= kMaxShown || remarks.empty()) continue;
    text += "  " + plain_text(cases[i]->name) + "\n";
    for (const std::string& remark : remarks) text += "    " + remark + "\n";
  }
  for (const auto& [what, count] : advice) text += fmt::format("  {}: {}\n", quantity(count, "case"), what);
  return text;
}

std::string names_text(const char* where, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  return fmt::format("\nonly {}: {}\n", where, quantity(names.size(), "case")) + case_lines(names);
}

std::string names_markdown(const char* where, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string text = fmt::format("\nOnly {} ({}):", where, names.size());
  for (std::size_t i = 0; i < std::min(kMaxNamesInMarkdown, names.size()); ++i) {
    text += " " + markdown_code(names[i]);
  }
  if (names.size() > kMaxNamesInMarkdown) {
    text += fmt::format(" and {} more", names.size() - kMaxNamesInMarkdown);
  }
  return text + "\n";
}

}  // namespace

std::string levels_text(const BytesComparison& bytes) {
  if (!bytes.change) return "";
  if (*bytes.change == Change::same) return format_size(*bytes.next);
  return fmt::format("{} -> {}{}", format_size(*bytes.base), format_size_beside(*bytes.next, *bytes.base),
                     bytes.relative ? " (" + format_change(*bytes.relative, 2) + ")" : "");
}

std::string levels_text(const TimeComparison& time) {
  if (!time.change) return "";
  const auto [base, next] = format_durations(time.change->base_ns, time.change->new_ns);
  return fmt::format("{} -> {}", base, next);
}

std::string case_lines(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxNames, names.size()); ++i)
    text += "  " + plain_text(names[i]) + "\n";
  return text + more_than(kMaxNames, names.size());
}

std::string headline(const RunComparison& comparison) {
  CaseGroups groups = group_cases(comparison);
  const std::size_t regressed = groups[ComparisonStatus::regressed].size();
  const std::string cases = quantity(comparison.cases.size(), "case");
  std::string text = regressed == 0 ? fmt::format("nothing regressed in {}", cases)
                                    : fmt::format("{} of {} regressed", regressed, cases);
  const char* separator = ": ";
  for (const auto& [status, members] : groups) {
    if (status == ComparisonStatus::regressed || members.empty()) continue;
    text += fmt::format("{}{} {}", separator, members.size(), group_title(status));
    separator = ", ";
  }
  const std::size_t unpaired = comparison.only_base.size() + comparison.only_new.size();
  if (exit_code_of(comparison) == ExitCode::nothing) text += "; nothing was measured";
  if (unpaired > 0) text += fmt::format("; {} only on one side", quantity(unpaired, "case"));
  return text;
}

std::string comparison_table(const RunComparison& comparison) {
  std::string text =
      headline(comparison) + "\n\n" + side_line("base", comparison.base) + side_line("new ", comparison.next);
  if (!comparison.interleaved) {
    text += "sides not interleaved: bytes are exact, times are at most `suspicious`\n";
  }
  if (!comparison.allowed_growth.is_zero()) text += comparison.allowed_growth.note() + "\n";
  for (const std::string& note : comparison.notes) text += plain_text(note) + "\n";
  const Fields<CaseComparison> fields = console_fields(comparison.has_throughput);
  for (const auto& [status, cases] : group_cases(comparison)) {
    text += fmt::format("\n{}\n{}", group_title(status), rows_text(fields, cases, kMaxShown, "  ")) +
            remarks_text(cases);
  }
  return text + metrics_text(comparison) + names_text("in the base", comparison.only_base) +
         names_text("in the new", comparison.only_new);
}

std::string comparison_markdown(const RunComparison& comparison) {
  std::string text =
      exit_code_of(comparison) == ExitCode::clean ? "**No action needed.** " : "**Action needed.** ";
  text += headline(comparison) + ".\n\n";
  for (const auto& [side, one] : {std::pair{"Base", &comparison.base}, {"New", &comparison.next}}) {
    text += fmt::format("{}: {}{}, {}, {}.\n", side,
                        markdown_code(one->variant.empty() ? one->file : one->variant),
                        one->commit.empty() ? "" : " at " + markdown_code(one->commit), one->date,
                        markdown_cell(one->device));
  }
  if (!comparison.interleaved) {
    text += "\nThe sides were not interleaved: bytes are exact, times are at most `suspicious`.\n";
  }
  if (!comparison.allowed_growth.is_zero()) {
    text += "\n" + markdown_cell(comparison.allowed_growth.note()) + ".\n";
  }
  for (const std::string& note : comparison.notes) text += "\n- " + markdown_cell(note) + "\n";
  std::size_t left_out = 0;
  for (const auto& [status, cases] : group_cases(comparison)) {
    const bool is_folded = status == ComparisonStatus::same || status == ComparisonStatus::undecided;
    const std::string title = fmt::format("{}: {}", group_title(status), cases.size());
    text += is_folded ? "\n<details><summary>" + title + "</summary>\n\n" : "\n### " + title + "\n\n";
    const bool is_full = left_out > 0 || text.size() > kMaxTableBytes;
    MarkdownTable table(columns(markdown_fields()), is_full ? 0 : kMaxTableBytes - text.size());
    for (const CaseComparison* one : cases) table.add(cells(markdown_fields(), *one));
    left_out += table.left_out();
    text += table.text() + (is_folded ? "\n</details>\n" : "");
  }
  if (left_out > 0) text += "\n" + quantity(left_out, "more row") + " not shown, to stay under 1 MB.\n";
  return text + metrics_markdown(comparison) + names_markdown("in the base", comparison.only_base) +
         names_markdown("in the new", comparison.only_new);
}

}  // namespace peakmark
