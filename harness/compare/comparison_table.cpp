#include <fmt/format.h>

#include <algorithm>

#include "base/first_rows.hpp"
#include "base/plain_text.hpp"
#include "base/text_table.hpp"
#include "compare/recordings.hpp"

namespace peakmark {
namespace {

using Align = TextTable::Align;

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
  return fmt::format("the peak {} by {} ({}): {} -> {}\n", name_of(peak.change),
                     format_size(peak.change == Change::grew ? checked_subtract(peak.next, peak.base)
                                                             : checked_subtract(peak.base, peak.next)),
                     percent(peak), format_size(peak.base), format_size(peak.next));
}

}  // namespace

std::string comparison_table(const RecordingComparison& comparison) {
  std::string text = first_line(comparison.metrics.front());
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
                 name_of(metric.change)});
  }
  text += figures.text();
  if (comparison.moved.empty()) return text + "\nat both peaks the same allocations are live\n";

  constexpr std::size_t kMost = 30;
  TextTable moved({{"  name"},
                   {"kind"},
                   {"bytes each", Align::right},
                   {"base", Align::right},
                   {"new", Align::right},
                   {"difference", Align::right}});
  const auto add = [](TextTable& table, const MovedAllocations& one) {
    table.add({"  " + (one.name.empty() ? "(unnamed)" : one.name), name_of(one.kind),
               std::to_string(one.bytes), std::to_string(one.base_count), std::to_string(one.new_count),
               signed_bytes(checked_multiply(one.bytes, one.new_count - one.base_count))});
  };
  return text + "\nlive at the peak of one only\n" + first_rows(moved, kMost, comparison.moved, add);
}

}  // namespace peakmark
