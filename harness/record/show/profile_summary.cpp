#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/report.hpp"
#include "base/text.hpp"
#include "record/ledger/device_use.hpp"
#include "record/ledger/pool_usage.hpp"
#include "record/ledger/refused_fields.hpp"
#include "record/show/groups.hpp"
#include "record/show/profile_reports.hpp"
#include "record/show/repetition_reports.hpp"
#include "record/show/sites.hpp"

namespace peakmark {
namespace {

// Fields of the rows of both reports.

const Fields<AllocationGroup>& group_fields() {
  static const Fields<AllocationGroup> fields{{"name", As::text, &AllocationGroup::name, "name", "(unnamed)"},
                                              {"kind", As::text, &AllocationGroup::kind, "kind"},
                                              {"phase", As::text, &AllocationGroup::phase, "phase", ""},
                                              {"count", As::number, &AllocationGroup::count, "count"},
                                              {"largest", As::size, &AllocationGroup::largest_bytes},
                                              {"bytes", As::number, &AllocationGroup::bytes, "bytes"},
                                              {"", As::size, &AllocationGroup::bytes}};
  return fields;
}

Fields<ProcessGroup> process_group_fields() {
  Fields<ProcessGroup> fields = part_fields(&ProcessGroup::group, group_fields());
  fields.insert(fields.begin(), {"pid", As::text, &ProcessGroup::pid, "pid"});
  return fields;
}

const Fields<Site>& site_fields() {
  static const Fields<Site> fields{{"site", As::lines, &Site::frames, "frames", "(no stack recorded)"},
                                   {"count", As::number, &Site::count, "count"},
                                   {"largest", As::size, &Site::largest_bytes},
                                   {"bytes", As::number, &Site::bytes, "bytes"},
                                   {"", As::size, &Site::bytes}};
  return fields;
}

Fields<RefusedAllocation> counted_refused_fields() {
  Fields<RefusedAllocation> fields = refused_fields(As::lines);
  fields.insert(fields.begin() + 2, {"count", As::number, &RefusedAllocation::count, "count"});
  fields.emplace_back("", As::hidden, &RefusedAllocation::refused_by, "refused_by");
  return fields;
}

const Fields<PhaseGroup>& phase_fields() {
  static const Fields<PhaseGroup> fields{
      {"phase", As::text, &PhaseGroup::name, "name", "(no phase)"},
      {"times", As::number, &PhaseGroup::times, "times"},
      {"peak", As::size, &PhaseGroup::peak_bytes, "peak_bytes"},
      {"live at its end", As::size, &PhaseGroup::live_at_end_bytes, "live_at_end_bytes"},
      {"allocations", As::number, &PhaseGroup::allocations, "allocations"},
      {"failed", As::number, &PhaseGroup::failed_allocations, "failed_allocations"}};
  return fields;
}

// The allocations of one kind of memory by a process.
struct KindUse {
  MemoryKind kind = MemoryKind::none;
  KindSummary summary;
  std::optional<Size> at_peak;
};

std::vector<KindUse> use_by_kind(const LedgerSummary& summary) {
  std::vector<KindUse> all;
  for (const auto& [kind, one] : summary.by_kind) all.push_back({kind, one, bytes_at_peak(summary, kind)});
  return all;
}

const Fields<KindUse>& kind_fields() {
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

const Fields<DeviceUse>& device_fields() {
  static const auto name = [](const DeviceUse& one) { return "  " + one.name; };
  static const Fields<DeviceUse> fields{
      {"devices", As::text, name},
      {"", As::hidden, &DeviceUse::name, "name"},
      {"peak", As::size, &DeviceUse::peak_bytes, "peak_bytes"},
      {"live at the end", As::size, &DeviceUse::live_at_end_bytes, "live_at_end_bytes"},
      {"allocations", As::number, &DeviceUse::allocations, "allocations"}};
  return fields;
}

// The memory of the pools at one moment.
struct PoolMoment {
  const char* moment;
  PoolPoint point;
};

const Fields<PoolPoint>& pool_fields() {
  static const Fields<PoolPoint> fields{
      {"held", As::size, &PoolPoint::held_bytes, "held_bytes"},
      {"requested", As::size, &PoolPoint::requested_bytes, "requested_bytes"},
      {"fragmentation", As::size, &PoolPoint::fragmentation_bytes, "fragmentation_bytes"}};
  return fields;
}

Fields<PoolMoment> pool_moment_fields() {
  Fields<PoolMoment> fields = part_fields(&PoolMoment::point, pool_fields());
  fields.insert(fields.begin(), {"pools", As::text, &PoolMoment::moment});
  return fields;
}

constexpr std::size_t kMaxRows = 20;

std::string line_of(const std::vector<std::string>& command) {
  return one_line(fmt::format("{}", fmt::join(command, " ")));
}

std::string groups_text(const std::vector<Allocation>& allocations) {
  return rows_text(group_fields(), group(allocations), kMaxRows, "  ");
}

/// Returns a line for each size, error, kind and phase, with the call site if stacks were recorded.
std::string refused_table(const std::vector<RefusedAllocation>& refused) {
  Fields<RefusedAllocation> fields = counted_refused_fields();
  const bool has_sites =
      std::ranges::any_of(refused, [](const RefusedAllocation& one) { return !one.frames.empty(); });
  if (!has_sites) std::ranges::find(fields, As::lines, &Field<RefusedAllocation>::as)->as = As::hidden;
  return rows_text(fields, refused, kMaxRows, "  ");
}

/// Returns the requests that each limit refused, below a heading that ends with `where`.
std::string refused_text(const std::vector<RefusedAllocation>& refused, const ProfileHeader& header,
                         const std::string& where = "") {
  std::string text;
  const auto list = [&](RefusedBy limit, const std::string& heading) {
    std::vector<RefusedAllocation> by_limit;
    std::ranges::copy_if(refused, std::back_inserter(by_limit),
                         [limit](const RefusedAllocation& one) { return one.refused_by == limit; });
    if (!by_limit.empty())
      text += fmt::format("\nrefused by the {}{}\n", heading, where) + refused_table(by_limit);
  };
  const std::optional<Size> budget = budget_bytes(header);
  list(RefusedBy::budget, budget ? "budget of " + format_size(*budget) : "budget");
  list(RefusedBy::max_allocation, "limit of one allocation");
  list(RefusedBy::driver, "driver");
  return text;
}

/// Sorts by peak, the largest first, equal ones in the order of their first appearance. The time outside of
/// phases, which includes memory that outlives its phase, is last.
std::string phases_text(std::vector<PhaseGroup> phases) {
  std::ranges::stable_sort(
      phases, {}, [](const PhaseGroup& phase) { return std::pair(phase.name.empty(), -phase.peak_bytes); });
  return rows_text(phase_fields(), phases, phases.size(), "  ");
}

std::string kinds_text(const LedgerSummary& summary) {
  std::vector<KindUse> kinds = use_by_kind(summary);
  std::ranges::stable_sort(kinds, std::ranges::greater(),
                           [](const KindUse& one) { return one.summary.peak_bytes; });
  return rows_text(kind_fields(), kinds, kinds.size(), "  ");
}

std::string pools_text(const PoolUsage& usage) {
  const std::vector<PoolMoment> moments{{"at the peak", usage.at_peak},
                                        {"when they held most", usage.max_held},
                                        {"when most was unused", usage.max_fragmentation},
                                        {"at the end", usage.at_end}};
  return rows_text(pool_moment_fields(), moments, moments.size(), "  ");
}

/// Returns tables of the memory that was live at the peak and that leaked, by name or by site.
std::string contents_text(const RecordedProcess& process, const LedgerSummary& summary,
                          const ReportOptions& options) {
  std::string text;
  const bool has_allocations = summary.allocations > 0 || summary.failed_allocations > 0;
  if (options.by_site && summary.stacks.empty() && has_allocations) {
    text += "\nno call stacks are in this profile: record it with --stacks\n";
  }
  const bool shows_sites = options.by_site || !summary.refused.empty();
  const SiteNames sites = shows_sites ? name_sites(process, summary, options.frames) : SiteNames{};
  const auto list = [&](const std::vector<Allocation>& allocations) {
    return options.by_site && !sites.empty()
               ? rows_text(site_fields(), sites_of(allocations, sites), kMaxRows, "  ")
               : groups_text(allocations);
  };
  if (!summary.at_peak.empty()) text += "\nat the peak\n" + list(summary.at_peak);
  if (!summary.leaked.empty()) text += "\nnever released\n" + list(summary.leaked);
  return text + refused_text(refused_by_site(summary.refused, sites), process.header);
}

std::string process_text(const RecordedProcess& process, const ReportOptions& options) {
  const LedgerSummary summary = summarise(process.events);
  std::string text = fmt::format("{}  (pid {}, {})\n", line_of(process.command_line), process.header.pid,
                                 one_line(process.header.recorder));
  if (const std::string why = why_not_whole(process, invalid_note(summary)); !why.empty()) {
    text += fmt::format("incomplete: {}\n", one_line(why));
  } else if (!process.complete) {
    text += fmt::format(
        "incomplete: the program {}; up to its last event\n",
        process.header.end_monotonic_ns != 0 ? "was killed, or left by _exit" : "was killed or still runs");
  }
  if (is_folded(process.events)) {
    text += "compact: figures are exact, the timeline is thinned, most allocations are only counted\n";
  }
  text += fmt::format("peak            {}\n", size_with_bytes(summary.peak_bytes));
  if (const auto budget = budget_bytes(process.header)) {
    text += fmt::format("budget          {} per device\n", size_with_bytes(*budget));
  }
  text += fmt::format("live at the end {}\n", size_with_bytes(summary.live_at_end_bytes));
  text += fmt::format("allocations     {}, {} in all; {} failed\n", summary.allocations,
                      format_size(summary.total_bytes), summary.failed_allocations);
  if (summary.unmatched_releases != 0) {
    text += fmt::format("releases of memory never seen allocated: {}\n", summary.unmatched_releases);
  }
  if (summary.refused_releases != 0) {
    text += fmt::format("releases that the driver refused: {}\n", summary.refused_releases);
  }
  if (summary.pool_seen)
    text += fmt::format("pools reserved  {} at most\n", size_with_bytes(summary.pool_reserved_peak_bytes));
  if (const auto devices = use_by_device(process.events); !devices.empty())
    text += "\n" + rows_text(device_fields(), devices);
  text += contents_text(process, summary, options);
  if (summary.phases.size() > 1) text += "\nphases\n" + phases_text(group_phases(summary.phases));
  if (const auto repeated = find_repetitions(process); repeated && !repeated->empty())
    text += "\n" + repetitions_text(*repeated);
  if (!summary.by_kind.empty()) text += "\nkinds\n" + kinds_text(summary);
  if (const auto pools = pool_usage(process.events, 0)) text += "\n" + pools_text(*pools);
  for (const std::string& note : summary.notes) text += "note: " + one_line(note) + "\n";
  return text;
}

/// Returns the width that is left for a program's command line next to its figures.
std::size_t width_of_program(const ReportOptions& options, std::size_t indent) {
  constexpr std::size_t kFigures = 45;  // columns pid, peak and live at the end, with the blanks between them
  constexpr std::size_t kMinWidth = 20;
  return std::max(kMinWidth, options.max_width - std::min(options.max_width, kFigures + indent));
}

}  // namespace

std::string profile_table(const RecordedTree& tree, const ReportOptions& options) {
  if (tree.processes.size() == 1) return process_text(tree.processes.front(), options);
  const LedgerSummary together = summarise_together(tree);
  std::string text = fmt::format("peak of all together  {}\n", size_with_bytes(together.peak_bytes));
  if (const auto groups = group_by_process(tree, together.at_peak); !groups.empty())
    text += rows_text(process_group_fields(), groups, kMaxRows, "  ");
  text += "\nprocesses\n";
  using enum TextTable::Align;
  TextTable table({{"  program"}, {"pid", right}, {"peak", right}, {"live at the end", right}});
  std::string refused;  // requests that processes other than the first one were refused
  for (const ProcessPlace& place : process_order(tree)) {
    const RecordedProcess& process = tree.processes[place.index];
    const LedgerSummary summary = summarise(process.events);
    if (place.index != 0) {
      refused += refused_text(refused_by_site(process, summary, options.frames), process.header,
                              fmt::format(" in process {}", process.header.pid));
    }
    const std::size_t indent = 2 + 2 * static_cast<std::size_t>(place.depth);
    table.add({std::string(indent, ' ') +
                   cut_in_middle(line_of(process.command_line), width_of_program(options, indent)),
               std::to_string(process.header.pid), format_size(summary.peak_bytes),
               format_size(summary.live_at_end_bytes)});
  }
  return text + table.text() + "\n" + process_text(tree.processes.front(), options) + refused;
}

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
