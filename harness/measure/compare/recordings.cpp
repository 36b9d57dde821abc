#include "measure/compare/recordings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/difference.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "measure/compare/moved_fields.hpp"
#include "measure/runfile/json_fields.hpp"
#include "record/ledger/refused_fields.hpp"

namespace peakmark {

namespace {

MetricChange metric_change(const char* metric, Size base, Size next) {
  MetricChange change{metric, base, next, std::nullopt, Change::same};
  if (base != 0) {
    change.relative = static_cast<double>(checked_subtract(next, base)) / static_cast<double>(base);
  }
  if (next != base) change.change = next > base ? Change::grew : Change::shrank;
  return change;
}

/// Pairs refused requests by size, kind, error, phase and call site. Stack ids cannot be compared between
/// recordings.
std::vector<RefusedInBoth> refused_in_both(const LedgerSummary& base, const LedgerSummary& next) {
  using Key = std::tuple<Size, MemoryKind, std::int32_t, std::string, std::vector<std::string>>;
  std::map<Key, RefusedInBoth> all;
  const auto add = [&](const LedgerSummary& summary, std::int64_t RefusedInBoth::*count) {
    for (const RefusedAllocation& one : summary.refused) {
      RefusedInBoth& both = all[{one.bytes, one.kind, one.error, one.phase, one.frames}];
      both.request = one;
      both.*count += one.count;
    }
  };
  add(base, &RefusedInBoth::base_count);
  add(next, &RefusedInBoth::new_count);
  std::vector<RefusedInBoth> refused;
  refused.reserve(all.size());
  for (auto& [key, one] : all) refused.push_back(std::move(one));
  std::ranges::stable_sort(refused, std::ranges::greater(),
                           [](const RefusedInBoth& one) { return one.request.bytes; });
  return refused;
}

}  // namespace

const char* to_string(Change change) {
  switch (change) {
    case Change::shrank:
      return "shrank";
    case Change::same:
      return "same";
    case Change::grew:
      return "grew";
  }
  return "unknown";
}

RecordingComparison compare_recordings(Recorded base, Recorded next, GrowthAllowance allowed) {
  RecordingComparison comparison;
  comparison.allowed_growth = std::move(allowed);
  const LedgerSummary& a = base.summary;
  const LedgerSummary& b = next.summary;
  comparison.metrics = {metric_change("requested_peak_bytes", a.peak_bytes, b.peak_bytes),
                        metric_change("leaked_bytes", a.live_at_end_bytes, b.live_at_end_bytes),
                        metric_change("total_bytes", a.total_bytes, b.total_bytes),
                        metric_change("allocations", a.allocations, b.allocations),
                        metric_change("failed_allocations", a.failed_allocations, b.failed_allocations)};
  comparison.moved = moved_allocations(peak_entries(a.at_peak), peak_entries(b.at_peak));
  comparison.refused = refused_in_both(a, b);
  comparison.base = std::move(base);
  comparison.next = std::move(next);
  return comparison;
}

namespace {

std::string percent(const MetricChange& metric) {
  if (metric.change == Change::same) return "";
  return metric.relative ? format_change(*metric.relative, 2) : "from 0";
}

const Fields<MetricChange>& metric_fields() {
  static const auto difference = [](const MetricChange& metric) {
    return checked_subtract(metric.next, metric.base);
  };
  static const Fields<MetricChange> fields{
      {"", As::text, &MetricChange::metric, "metric"},
      {"base", As::number, &MetricChange::base, "base"},
      {"new", As::number, &MetricChange::next, "new"},
      {"difference", As::change, difference},
      {"", As::figure, percent, "", ""},
      {"", As::hidden, &MetricChange::relative, "relative"},
      {"", As::hidden, [](const MetricChange&) { return nullptr; }, "interval"},
      {"", As::text, &MetricChange::change, "verdict"}};
  return fields;
}

Fields<RefusedInBoth> refused_in_both_fields() {
  Fields<RefusedInBoth> fields = part_fields(&RefusedInBoth::request, refused_fields(As::text));
  fields.insert(fields.begin() + 2, {{"base", As::number, &RefusedInBoth::base_count, "base_count"},
                                     {"new", As::number, &RefusedInBoth::new_count, "new_count"}});
  return fields;
}

constexpr std::size_t kMaxRows = 30;

std::string first_line(const MetricChange& peak) {
  if (peak.change == Change::same) {
    return fmt::format("the peak is the same: {} ({} B)\n", format_size(peak.next), peak.next);
  }
  return fmt::format("the peak {} by {} ({}): {} -> {}\n", to_string(peak.change),
                     format_size(peak.change == Change::grew ? checked_subtract(peak.next, peak.base)
                                                             : checked_subtract(peak.base, peak.next)),
                     percent(peak), format_size(peak.base), format_size_beside(peak.next, peak.base));
}

std::string moved_text(const std::vector<MovedAllocations>& all) {
  if (all.empty()) return "\nthe same allocations are live at both peaks\n";
  return "\nallocations that differ between the peaks\n" + rows_text(moved_fields(), all, kMaxRows, "  ");
}

}  // namespace

nlohmann::ordered_json comparison_json(const RecordingComparison& comparison) {
  using json_fields::Json;
  Json::array_t cases;
  for (const MetricChange& metric : comparison.metrics) {
    Json one = {{"case", comparison.next.program}};
    one.update(row_json(metric_fields(), metric));
    one["allocations"] = nullptr;
    if (&metric == &comparison.metrics.front()) {
      one["allocations"] = rows_json(moved_fields(), comparison.moved);
      one["allowed"] = comparison.peak_grew() && !comparison.is_regression();
    }
    cases.push_back(std::move(one));
  }
  Json json = json_fields::begin(format::kComparison);
  json.update(Json{{"base", {{"file", comparison.base.file}, {"program", comparison.base.program}}},
                   {"new", {{"file", comparison.next.file}, {"program", comparison.next.program}}},
                   {"allow_growth", comparison.allowed_growth.text},
                   {"cases", std::move(cases)},
                   {"refused", rows_json(refused_in_both_fields(), comparison.refused)}});
  return json;
}

std::string comparison_table(const RecordingComparison& comparison) {
  std::string text = first_line(comparison.metrics.front());
  if (!comparison.allowed_growth.is_zero()) {
    text += comparison.allowed_growth.note() +
            (comparison.peak_grew() && !comparison.is_regression() ? ": the growth is allowed\n" : "\n");
  }
  text += fmt::format("\nbase  {}  ({})\nnew   {}  ({})\n\n", one_line(comparison.base.file),
                      one_line(comparison.base.program), one_line(comparison.next.file),
                      one_line(comparison.next.program));
  text += rows_text(metric_fields(), comparison.metrics) + moved_text(comparison.moved);
  if (comparison.refused.empty()) return text;
  return text + "\nrefused by the driver or the budget\n" +
         rows_text(refused_in_both_fields(), comparison.refused, kMaxRows, "  ");
}

}  // namespace peakmark
