#include "compare/recordings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace peakmark {
namespace {

MetricChange change_of(const char* metric, Size base, Size next) {
  MetricChange change{metric, base, next, std::nullopt, Change::same};
  if (base != 0) {
    change.relative = static_cast<double>(checked_subtract(next, base)) / static_cast<double>(base);
  }
  if (next != base) change.change = next > base ? Change::grew : Change::shrank;
  return change;
}

/// Requests of one size, kind, error, phase and call site are the same request. The ids of stacks are those
/// of one recording.
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
  comparison.metrics = {change_of("requested_peak_bytes", a.peak_bytes, b.peak_bytes),
                        change_of("leaked_bytes", a.live_at_end_bytes, b.live_at_end_bytes),
                        change_of("total_bytes", a.total_bytes, b.total_bytes),
                        change_of("allocations", a.allocations, b.allocations),
                        change_of("failed_allocations", a.failed_allocations, b.failed_allocations)};
  comparison.moved = moved_allocations(a.at_peak, b.at_peak);
  comparison.refused = refused_in_both(a, b);
  comparison.base = std::move(base);
  comparison.next = std::move(next);
  return comparison;
}

}  // namespace peakmark
