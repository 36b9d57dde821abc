#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/text_table.hpp"
#include "compare/recordings.hpp"

namespace peakmark {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kMaxRows = 30;

std::string signed_bytes(Size bytes) {
  return fmt::format("{}{}", bytes > 0 ? "+" : "", bytes);
}

std::string percent(const MetricChange& metric) {
  if (metric.change == Change::same) return "";
  return metric.relative ? fmt::format("{:+.2f} %", 100 * *metric.relative) : "from 0";
}

/// The verdict comes first.
std::string first_line(const MetricChange& peak) {
  if (peak.change == Change::same) {
    return fmt::format("the peak is the same: {} ({} B)\n", format_size(peak.next), peak.next);
  }
  return fmt::format("the peak {} by {} ({}): {} -> {}\n", to_string(peak.change),
                     format_size(peak.change == Change::grew ? checked_subtract(peak.next, peak.base)
                                                             : checked_subtract(peak.base, peak.next)),
                     percent(peak), format_size(peak.base), format_size(peak.next));
}

std::string moved_text(const std::vector<MovedAllocations>& all) {
  if (all.empty()) return "\nat both peaks the same allocations are live\n";
  TextTable moved({{"  name"},
                   {"kind"},
                   {"bytes each", Align::right},
                   {"base", Align::right},
                   {"new", Align::right},
                   {"difference", Align::right}});
  const auto add = [](TextTable& table, const MovedAllocations& one) {
    table.add({"  " + (one.name.empty() ? "(unnamed)" : one.name), to_string(one.kind),
               std::to_string(one.bytes), std::to_string(one.base_count), std::to_string(one.new_count),
               signed_bytes(checked_multiply(one.bytes, one.new_count - one.base_count))});
  };
  return "\nlive at the peak of one only\n" + first_rows(moved, kMaxRows, all, add);
}

std::string refused_text(const std::vector<RefusedInBoth>& all) {
  if (all.empty()) return {};
  const TextTable columns({{"  bytes each", Align::right},
                           {"", Align::right},
                           {"base", Align::right},
                           {"new", Align::right},
                           {"error"},
                           {"kind"},
                           {"phase"},
                           {"site"}});
  return "\nrefused by the driver\n" +
         first_rows(columns, kMaxRows, all, [](TextTable& table, const RefusedInBoth& one) {
           const RefusedAllocation& request = one.request;
           table.add({fmt::format("  {}", request.bytes), format_size(request.bytes),
                      std::to_string(one.base_count), std::to_string(one.new_count),
                      error_text(request.error), to_string(request.kind), request.phase,
                      request.frames.empty() ? "(no stack recorded)" : request.frames.front()});
         });
}

}  // namespace

std::string comparison_table(const RecordingComparison& comparison) {
  std::string text = first_line(comparison.metrics.front());
  if (!comparison.allowed_growth.is_zero()) {
    text += comparison.allowed_growth.note() +
            (comparison.peak_grew() && !comparison.is_regression() ? ": the growth is allowed\n" : "\n");
  }
  text += fmt::format("\nbase  {}  ({})\nnew   {}  ({})\n\n", one_line(comparison.base.file),
                      one_line(comparison.base.program), one_line(comparison.next.file),
                      one_line(comparison.next.program));
  TextTable figures({{""},
                     {"base", Align::right},
                     {"new", Align::right},
                     {"difference", Align::right},
                     {"", Align::right},
                     {""}});
  for (const MetricChange& metric : comparison.metrics) {
    figures.add({metric.metric, std::to_string(metric.base), std::to_string(metric.next),
                 signed_bytes(checked_subtract(metric.next, metric.base)), percent(metric),
                 to_string(metric.change)});
  }
  text += figures.text();
  return text + moved_text(comparison.moved) + refused_text(comparison.refused);
}

}  // namespace peakmark
