#include "compare/recordings.hpp"

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

}  // namespace

const char* name_of(Change change) {
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

RecordingComparison compare_recordings(Recorded base, Recorded next) {
  RecordingComparison comparison;
  const LedgerSummary& a = base.summary;
  const LedgerSummary& b = next.summary;
  comparison.metrics = {change_of("requested_peak_bytes", a.peak_bytes, b.peak_bytes),
                        change_of("leaked_bytes", a.live_at_end_bytes, b.live_at_end_bytes),
                        change_of("total_bytes", a.total_bytes, b.total_bytes),
                        change_of("allocations", a.allocations, b.allocations),
                        change_of("failed_allocations", a.failed_allocations, b.failed_allocations)};
  comparison.moved = moved_allocations(a.at_peak, b.at_peak);
  comparison.base = std::move(base);
  comparison.next = std::move(next);
  return comparison;
}

}  // namespace peakmark
