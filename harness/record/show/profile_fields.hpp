#pragma once

// The rows of a profile's reports. For .cpp files only.
#include <optional>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "record/ledger/device_use.hpp"
#include "record/ledger/pool_usage.hpp"
#include "record/ledger/refused_fields.hpp"
#include "record/show/groups.hpp"
#include "record/show/sites.hpp"

namespace peakmark {

inline const Fields<AllocationGroup>& group_fields() {
  static const Fields<AllocationGroup> fields{{"name", As::text, &AllocationGroup::name, "name", "(unnamed)"},
                                              {"kind", As::text, &AllocationGroup::kind, "kind"},
                                              {"phase", As::text, &AllocationGroup::phase, "phase", ""},
                                              {"count", As::number, &AllocationGroup::count, "count"},
                                              {"largest", As::size, &AllocationGroup::largest_bytes},
                                              {"bytes", As::number, &AllocationGroup::bytes, "bytes"},
                                              {"", As::size, &AllocationGroup::bytes}};
  return fields;
}

inline Fields<ProcessGroup> process_group_fields() {
  Fields<ProcessGroup> fields = part_fields(&ProcessGroup::group, group_fields());
  fields.insert(fields.begin(), {"pid", As::text, &ProcessGroup::pid, "pid"});
  return fields;
}

inline const Fields<Site>& site_fields() {
  static const Fields<Site> fields{{"site", As::lines, &Site::frames, "frames", "(no stack recorded)"},
                                   {"count", As::number, &Site::count, "count"},
                                   {"largest", As::size, &Site::largest_bytes},
                                   {"bytes", As::number, &Site::bytes, "bytes"},
                                   {"", As::size, &Site::bytes}};
  return fields;
}

inline Fields<RefusedAllocation> counted_refused_fields() {
  Fields<RefusedAllocation> fields = refused_fields(As::lines);
  fields.insert(fields.begin() + 2, {"count", As::number, &RefusedAllocation::count, "count"});
  fields.emplace_back("", As::hidden, &RefusedAllocation::refused_by, "refused_by");
  return fields;
}

inline const Fields<PhaseGroup>& phase_fields() {
  static const Fields<PhaseGroup> fields{
      {"phase", As::text, &PhaseGroup::name, "name", "(no phase)"},
      {"times", As::number, &PhaseGroup::times, "times"},
      {"peak", As::size, &PhaseGroup::peak_bytes, "peak_bytes"},
      {"live at its end", As::size, &PhaseGroup::live_at_end_bytes, "live_at_end_bytes"},
      {"allocations", As::number, &PhaseGroup::allocations, "allocations"},
      {"failed", As::number, &PhaseGroup::failed_allocations, "failed_allocations"}};
  return fields;
}

/// The allocations of one kind of memory by a process.
struct KindUse {
  MemoryKind kind = MemoryKind::none;
  KindSummary summary;
  std::optional<Size> at_peak;
};

inline std::vector<KindUse> use_by_kind(const LedgerSummary& summary) {
  std::vector<KindUse> all;
  for (const auto& [kind, one] : summary.by_kind) all.push_back({kind, one, bytes_at_peak(summary, kind)});
  return all;
}

inline const Fields<KindUse>& kind_fields() {
  static const auto figure = [](auto member) {
    return [member](const KindUse& one) { return one.summary.*member; };
  };
  static const auto counts = [](const KindUse& one) { return counts_into_peak(one.kind); };
  static const auto note = [](const KindUse& one) { return counts(one) ? "" : "beside the peak"; };
  static const Fields<KindUse> fields{
      {"kind", As::text, &KindUse::kind},
      {"peak", As::size, figure(&KindSummary::peak_bytes), "peak_bytes"},
      {"at the peak", As::size, &KindUse::at_peak, "at_peak_bytes"},
      {"at the end", As::size, figure(&KindSummary::live_at_end_bytes), "live_at_end_bytes"},
      {"total", As::size, figure(&KindSummary::total_bytes), "total_bytes"},
      {"allocations", As::number, figure(&KindSummary::allocations), "allocations"},
      {"", As::hidden, counts, "counts_into_peak"},
      {"", As::text, note, "", ""}};
  return fields;
}

inline const Fields<DeviceUse>& device_fields() {
  static const auto name = [](const DeviceUse& one) { return "  " + one.name; };
  static const Fields<DeviceUse> fields{
      {"devices", As::text, name},
      {"", As::hidden, &DeviceUse::name, "name"},
      {"peak", As::size, &DeviceUse::peak_bytes, "peak_bytes"},
      {"live at the end", As::size, &DeviceUse::live_at_end_bytes, "live_at_end_bytes"},
      {"allocations", As::number, &DeviceUse::allocations, "allocations"}};
  return fields;
}

/// The memory of the pools at one moment.
struct PoolMoment {
  const char* moment;
  PoolPoint point;
};

inline const Fields<PoolPoint>& pool_fields() {
  static const Fields<PoolPoint> fields{
      {"held", As::size, &PoolPoint::held_bytes, "held_bytes"},
      {"requested", As::size, &PoolPoint::requested_bytes, "requested_bytes"},
      {"fragmentation", As::size, &PoolPoint::fragmentation_bytes, "fragmentation_bytes"}};
  return fields;
}

inline Fields<PoolMoment> pool_moment_fields() {
  Fields<PoolMoment> fields = part_fields(&PoolMoment::point, pool_fields());
  fields.insert(fields.begin(), {"pools", As::text, &PoolMoment::moment});
  return fields;
}

}  // namespace peakmark
