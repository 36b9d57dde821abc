#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/format_version.hpp"
#include "ledger/device_use.hpp"
#include "ledger/pool_usage.hpp"
#include "show/groups.hpp"
#include "show/profile_reports.hpp"
#include "show/repetition_reports.hpp"
#include "show/sites.hpp"

namespace peakmark {
namespace {

using Json = nlohmann::ordered_json;

Json groups_json(const std::vector<Allocation>& allocations) {
  Json list = Json::array();
  for (const AllocationGroup& one : group(allocations)) {
    list.push_back({{"name", one.name},
                    {"kind", to_string(one.kind)},
                    {"phase", one.phase},
                    {"bytes", one.bytes},
                    {"count", one.count}});
  }
  return list;
}

Json process_groups_json(const RecordedTree& tree, const LedgerSummary& together) {
  Json list = Json::array();
  for (const auto& [pid, one] : group_by_process(tree, together.at_peak)) {
    list.push_back({{"pid", pid},
                    {"name", one.name},
                    {"kind", to_string(one.kind)},
                    {"phase", one.phase},
                    {"bytes", one.bytes},
                    {"count", one.count}});
  }
  return list;
}

Json sites_list(const std::vector<Site>& sites) {
  Json list = Json::array();
  for (const Site& one : sites) {
    list.push_back({{"frames", one.frames}, {"bytes", one.bytes}, {"count", one.count}});
  }
  return list;
}

/// Null where no call stacks were recorded.
Json sites_json(const LedgerSummary& summary, const SiteNames& sites) {
  if (summary.stacks.empty()) return nullptr;
  return {{"at_peak", sites_list(sites_of(summary.at_peak, sites))},
          {"leaked", sites_list(sites_of(summary.leaked, sites))}};
}

Json refused_json(const std::vector<RefusedAllocation>& refused) {
  Json list = Json::array();
  for (const RefusedAllocation& one : refused) {
    const std::string_view name = allocation_error_name(one.error);
    list.push_back({{"bytes", one.bytes},
                    {"kind", to_string(one.kind)},
                    {"error", one.error},
                    {"error_name", name.empty() ? Json(nullptr) : Json(name)},
                    {"phase", one.phase},
                    {"frames", one.frames.empty() ? Json(nullptr) : Json(one.frames)},
                    {"refused_by", to_string(one.refused_by)},
                    {"count", one.count}});
  }
  return list;
}

/// Null if the process used one device.
Json devices_json(const RecordedProcess& process) {
  Json list = Json::array();
  for (const DeviceUse& one : use_by_device(process.events)) {
    list.push_back({{"name", one.name},
                    {"peak_bytes", one.peak_bytes},
                    {"live_at_end_bytes", one.live_at_end_bytes},
                    {"allocations", one.allocations}});
  }
  return list.empty() ? Json(nullptr) : list;
}

Json pool_point_json(const PoolPoint& point) {
  return {{"held_bytes", point.held_bytes},
          {"requested_bytes", point.requested_bytes},
          {"fragmentation_bytes", point.fragmentation_bytes()}};
}

/// Null if what pools hold is not known.
Json pools_json(const RecordedProcess& process) {
  const std::optional<PoolUsage> usage = pool_usage(process.events, 0);
  if (!usage) return nullptr;
  return {{"at_peak", pool_point_json(usage->at_peak)},
          {"max_held", pool_point_json(usage->max_held)},
          {"max_fragmentation", pool_point_json(usage->max_fragmentation)},
          {"at_end", pool_point_json(usage->at_end)}};
}

Json process_json(const RecordedProcess& process, const ReportOptions& options) {
  const LedgerSummary summary = summarise(process.events);
  const SiteNames sites = name_sites(process, summary, options.frames);
  Json by_kind = Json::object();
  for (const auto& [kind, one] : summary.by_kind) {
    const std::optional<Size> at_peak = bytes_at_peak(summary, kind);
    by_kind[to_string(kind)] = {{"peak_bytes", one.peak_bytes},
                                {"at_peak_bytes", at_peak ? Json(*at_peak) : Json(nullptr)},
                                {"live_at_end_bytes", one.live_at_end_bytes},
                                {"total_bytes", one.total_bytes},
                                {"allocations", one.allocations},
                                {"counts_into_peak", counts_into_peak(kind)}};
  }
  Json phases = Json::array();
  for (const PhaseSummary& phase : summary.phases) {
    phases.push_back({{"name", phase.name},
                      {"live_at_start_bytes", phase.live_at_start_bytes},
                      {"peak_bytes", phase.peak_bytes},
                      {"live_at_end_bytes", phase.live_at_end_bytes},
                      {"allocations", phase.allocations},
                      {"failed_allocations", phase.failed_allocations}});
  }
  Json phases_by_name = Json::array();
  for (const PhaseGroup& phase : group_phases(summary.phases)) {
    phases_by_name.push_back({{"name", phase.name},
                              {"times", phase.times},
                              {"peak_bytes", phase.peak_bytes},
                              {"live_at_end_bytes", phase.live_at_end_bytes},
                              {"allocations", phase.allocations},
                              {"failed_allocations", phase.failed_allocations}});
  }
  Json json = {{"program", process.command_line},
               {"pid", process.header.pid},
               {"parent_pid", process.header.parent_pid},
               {"recorder", process.header.recorder},
               {"complete", process.complete && invalid_note(summary).empty()},
               {"lost_events", process.lost_events},
               {"compact", is_folded(process.events)},
               {"budget_bytes", nullptr},
               {"requested",
                {{"peak_bytes", summary.peak_bytes},
                 {"live_at_end_bytes", summary.live_at_end_bytes},
                 {"allocations", summary.allocations},
                 {"failed_allocations", summary.failed_allocations},
                 {"total_bytes", summary.total_bytes},
                 {"unmatched_releases", summary.unmatched_releases},
                 {"refused_releases", summary.refused_releases}}},
               {"pool_reserved_peak_bytes", nullptr},
               {"by_kind", std::move(by_kind)},
               {"devices", devices_json(process)},
               {"pools", pools_json(process)},
               {"repetitions", nullptr},
               {"at_peak", groups_json(summary.at_peak)},
               {"leaked", groups_json(summary.leaked)},
               {"refused", refused_json(refused_by_site(summary.refused, sites))},
               {"sites", sites_json(summary, sites)},
               {"phases", std::move(phases)},
               {"phases_by_name", std::move(phases_by_name)},
               {"notes", summary.notes}};
  if (const auto repeated = find_repetitions(process)) json["repetitions"] = repetitions_json(*repeated);
  if (const auto budget = budget_bytes(process.header)) json["budget_bytes"] = *budget;
  if (summary.phases.size() > options.max_phases) json["phases"] = nullptr;
  if (summary.pool_seen) json["pool_reserved_peak_bytes"] = summary.pool_reserved_peak_bytes;
  return json;
}

}  // namespace

std::string profile_json(const RecordedTree& tree, const ReportOptions& options) {
  Json json = {{"version", format::kProfileSummary.major}, {"minor", format::kProfileSummary.minor}};
  json.update(process_json(tree.processes.front(), options));
  Json others = Json::array();
  for (std::size_t i = 1; i < tree.processes.size(); ++i)
    others.push_back(process_json(tree.processes[i], options));
  json["processes"] = std::move(others);
  // One process is a tree of itself.
  const bool is_one = tree.processes.size() == 1;
  const LedgerSummary together = is_one ? LedgerSummary{} : summarise_together(tree);
  json["tree_peak_bytes"] = is_one ? json["requested"]["peak_bytes"] : Json(together.peak_bytes);
  json["tree_at_peak"] = is_one ? Json(nullptr) : process_groups_json(tree, together);
  // A program's arguments need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace peakmark
