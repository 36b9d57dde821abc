#include <string>
#include <vector>

#include "base/format_version.hpp"
#include "record/show/profile_fields.hpp"
#include "record/show/profile_reports.hpp"
#include "record/show/repetition_reports.hpp"

namespace peakmark {
namespace {

using Json = nlohmann::ordered_json;

/// Returns null if no call stacks were recorded.
Json sites_json(const LedgerSummary& summary, const SiteNames& sites) {
  if (summary.stacks.empty()) return nullptr;
  return {{"at_peak", rows_json(site_fields(), sites_of(summary.at_peak, sites))},
          {"leaked", rows_json(site_fields(), sites_of(summary.leaked, sites))}};
}

/// Returns null if the process used only one device.
Json devices_json(const RecordedProcess& process) {
  const std::vector<DeviceUse> devices = use_by_device(process.events);
  return devices.empty() ? Json(nullptr) : rows_json(device_fields(), devices);
}

/// Returns null if the bytes in pools are unknown.
Json pools_json(const RecordedProcess& process) {
  const std::optional<PoolUsage> usage = pool_usage(process.events, 0);
  if (!usage) return nullptr;
  return {{"at_peak", row_json(pool_fields(), usage->at_peak)},
          {"max_held", row_json(pool_fields(), usage->max_held)},
          {"max_fragmentation", row_json(pool_fields(), usage->max_fragmentation)},
          {"at_end", row_json(pool_fields(), usage->at_end)}};
}

Json process_json(const RecordedProcess& process, const ReportOptions& options) {
  const LedgerSummary summary = summarise(process.events);
  const SiteNames sites = name_sites(process, summary, options.frames);
  Json by_kind = Json::object();
  for (const KindUse& one : use_by_kind(summary)) by_kind[to_string(one.kind)] = row_json(kind_fields(), one);
  Json phases = Json::array();
  for (const PhaseSummary& phase : summary.phases) {
    phases.push_back({{"name", phase.name},
                      {"live_at_start_bytes", phase.live_at_start_bytes},
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
               {"at_peak", rows_json(group_fields(), group(summary.at_peak))},
               {"leaked", rows_json(group_fields(), group(summary.leaked))},
               {"refused", rows_json(counted_refused_fields(), refused_by_site(summary.refused, sites))},
               {"sites", sites_json(summary, sites)},
               {"phases", std::move(phases)},
               {"phases_by_name", rows_json(phase_fields(), group_phases(summary.phases))},
               {"notes", summary.notes}};
  if (const auto repeated = find_repetitions(process)) json["repetitions"] = repetitions_json(*repeated);
  if (const auto budget = budget_bytes(process.header)) json["budget_bytes"] = *budget;
  if (summary.phases.size() > options.max_phases) json["phases"] = nullptr;
  if (summary.pool_seen) json["pool_reserved_peak_bytes"] = summary.pool_reserved_peak_bytes;
  return json;
}

}  // namespace

nlohmann::ordered_json profile_json(const RecordedTree& tree, const ReportOptions& options) {
  Json json = {{"version", format::kProfileSummary.major}, {"minor", format::kProfileSummary.minor}};
  json.update(process_json(tree.processes.front(), options));
  Json others = Json::array();
  for (std::size_t i = 1; i < tree.processes.size(); ++i)
    others.push_back(process_json(tree.processes[i], options));
  json["processes"] = std::move(others);
  // With a single process, the figures of the tree are those of the process.
  const bool is_one = tree.processes.size() == 1;
  const LedgerSummary together = is_one ? LedgerSummary{} : summarise_together(tree);
  json["tree_peak_bytes"] = is_one ? json["requested"]["peak_bytes"] : Json(together.peak_bytes);
  json["tree_at_peak"] =
      is_one ? Json(nullptr) : rows_json(process_group_fields(), group_by_process(tree, together.at_peak));
  return json;
}

}  // namespace peakmark
