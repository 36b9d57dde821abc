#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/text_table.hpp"
#include "ledger/device_use.hpp"
#include "ledger/pool_usage.hpp"
#include "show/groups.hpp"
#include "show/profile_reports.hpp"
#include "show/repetition_reports.hpp"
#include "show/sites.hpp"

namespace peakmark {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kMaxRows = 20;

std::string line_of(const std::vector<std::string>& command) {
  return one_line(fmt::format("{}", fmt::join(command, " ")));
}

std::string both(Size bytes) {
  const std::string text = format_size(bytes);
  return text.ends_with(" B") && !text.ends_with("iB") ? text : fmt::format("{} ({} B)", text, bytes);
}

/// Returns the columns of a table of groups after those of `first`.
std::vector<TextTable::Column> group_columns(std::vector<TextTable::Column> first) {
  first.insert(first.end(), {{"kind"},
                             {"phase"},
                             {"count", Align::right},
                             {"largest", Align::right},
                             {"bytes", Align::right},
                             {"", Align::right}});
  return first;
}

void add_group(TextTable& table, std::vector<std::string> first, const AllocationGroup& one) {
  first.back() += one.name.empty() ? "(unnamed)" : one.name;
  first.insert(first.end(),
               {to_string(one.kind), one.phase, std::to_string(one.count), format_size(one.largest_bytes),
                std::to_string(one.bytes), format_size(one.bytes)});
  table.add(std::move(first));
}

std::string groups_text(const std::vector<Allocation>& allocations) {
  return first_rows(TextTable(group_columns({{"  name"}})), kMaxRows, group(allocations),
                    [](TextTable& table, const AllocationGroup& one) { add_group(table, {"  "}, one); });
}

std::string process_groups_text(const std::vector<ProcessGroup>& groups) {
  if (groups.empty()) return {};
  return first_rows(TextTable(group_columns({{"  pid"}, {"name"}})), kMaxRows, groups,
                    [](TextTable& table, const ProcessGroup& one) {
                      add_group(table, {fmt::format("  {}", one.pid), ""}, one.group);
                    });
}

std::string sites_text(const std::vector<Site>& sites) {
  const TextTable columns({{"  site"},
                           {"count", Align::right},
                           {"largest", Align::right},
                           {"bytes", Align::right},
                           {"", Align::right}});
  return first_rows(columns, kMaxRows, sites, [](TextTable& table, const Site& one) {
    const std::string first = one.frames.empty() ? "(no stack recorded)" : one.frames.front();
    table.add({"  " + first, std::to_string(one.count), format_size(one.largest_bytes),
               std::to_string(one.bytes), format_size(one.bytes)});
    for (std::size_t frame = 1; frame < one.frames.size(); ++frame) {
      table.add({"    " + one.frames[frame], "", "", "", ""});
    }
  });
}

/// A line for each size, error, kind and phase, with the call site where stacks were recorded.
std::string refused_table(const std::vector<RefusedAllocation>& refused) {
  const bool has_sites =
      std::ranges::any_of(refused, [](const RefusedAllocation& one) { return !one.frames.empty(); });
  std::vector<TextTable::Column> columns{{"  bytes each", Align::right},
                                         {"", Align::right},
                                         {"count", Align::right},
                                         {"error"},
                                         {"kind"},
                                         {"phase"}};
  if (has_sites) columns.push_back({"site"});
  return first_rows(TextTable(columns), kMaxRows, refused,
                    [&](TextTable& table, const RefusedAllocation& one) {
                      std::vector<std::string> row{
                          fmt::format("  {}", one.bytes), format_size(one.bytes), std::to_string(one.count),
                          error_text(one.error),          to_string(one.kind),    one.phase};
                      if (has_sites)
                        row.push_back(one.frames.empty() ? "(no stack recorded)" : one.frames.front());
                      table.add(row);
                      for (std::size_t frame = 1; frame < one.frames.size(); ++frame) {
                        table.add({"", "", "", "", "", "", "  " + one.frames[frame]});
                      }
                    });
}

/// What each limit refused, with a heading that ends with `where`.
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

/// The largest peak first; equals in the order in which they first appear. What was outside of phases, to
/// which what lives on counts, is last.
std::string phases_text(std::vector<PhaseGroup> phases) {
  std::ranges::stable_sort(
      phases, {}, [](const PhaseGroup& phase) { return std::pair(phase.name.empty(), -phase.peak_bytes); });
  TextTable table({{"  phase"},
                   {"times", Align::right},
                   {"peak", Align::right},
                   {"live at its end", Align::right},
                   {"allocations", Align::right},
                   {"failed", Align::right}});
  for (const PhaseGroup& phase : phases) {
    table.add({"  " + (phase.name.empty() ? "(no phase)" : phase.name), std::to_string(phase.times),
               format_size(phase.peak_bytes), format_size(phase.live_at_end_bytes),
               std::to_string(phase.allocations), std::to_string(phase.failed_allocations)});
  }
  return table.text();
}

std::string kinds_text(const LedgerSummary& summary) {
  TextTable table({{"  kind"},
                   {"peak", Align::right},
                   {"at the peak", Align::right},
                   {"at the end", Align::right},
                   {"total", Align::right},
                   {"allocations", Align::right},
                   {""}});
  std::vector<std::pair<MemoryKind, KindSummary>> kinds(summary.by_kind.begin(), summary.by_kind.end());
  std::ranges::stable_sort(kinds, std::ranges::greater(),
                           [](const auto& one) { return one.second.peak_bytes; });
  for (const auto& [kind, one] : kinds) {
    const std::optional<Size> at_peak = bytes_at_peak(summary, kind);
    table.add({std::string("  ") + to_string(kind), format_size(one.peak_bytes),
               at_peak ? format_size(*at_peak) : "–", format_size(one.live_at_end_bytes),
               format_size(one.total_bytes), std::to_string(one.allocations),
               counts_into_peak(kind) ? "" : "beside the peak"});
  }
  return table.text();
}

std::string devices_text(const std::vector<DeviceUse>& devices) {
  TextTable table({{"devices"},
                   {"peak", Align::right},
                   {"live at the end", Align::right},
                   {"allocations", Align::right}});
  for (const DeviceUse& one : devices) {
    table.add({"  " + one_line(one.name), format_size(one.peak_bytes), format_size(one.live_at_end_bytes),
               std::to_string(one.allocations)});
  }
  return table.text();
}

std::string pools_text(const PoolUsage& usage) {
  TextTable table(
      {{"  pools"}, {"held", Align::right}, {"requested", Align::right}, {"fragmentation", Align::right}});
  const auto add = [&](const char* moment, const PoolPoint& point) {
    table.add({moment, format_size(point.held_bytes), format_size(point.requested_bytes),
               format_size(point.fragmentation_bytes())});
  };
  add("  at the peak", usage.at_peak);
  add("  when they held most", usage.max_held);
  add("  when most was unused", usage.max_fragmentation);
  add("  at the end", usage.at_end);
  return table.text();
}

/// What was live at the peak, and what leaked: by name, or by site.
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
    return options.by_site && !sites.empty() ? sites_text(sites_of(allocations, sites))
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
  text += fmt::format("peak            {}\n", both(summary.peak_bytes));
  if (const auto budget = budget_bytes(process.header)) {
    text += fmt::format("budget          {} per device\n", both(*budget));
  }
  text += fmt::format("live at the end {}\n", both(summary.live_at_end_bytes));
  text += fmt::format("allocations     {}, {} in all; {} failed\n", summary.allocations,
                      format_size(summary.total_bytes), summary.failed_allocations);
  if (summary.unmatched_releases != 0) {
    text += fmt::format("releases of memory never seen allocated: {}\n", summary.unmatched_releases);
  }
  if (summary.refused_releases != 0) {
    text += fmt::format("releases that the driver refused: {}\n", summary.refused_releases);
  }
  if (summary.pool_seen)
    text += fmt::format("pools reserved  {} at most\n", both(summary.pool_reserved_peak_bytes));
  if (const auto devices = use_by_device(process.events); !devices.empty())
    text += "\n" + devices_text(devices);
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
  constexpr std::size_t kFigures = 45;  // pid, peak and what is live at the end, with the blanks between
  constexpr std::size_t kMinWidth = 20;
  return std::max(kMinWidth, options.max_width - std::min(options.max_width, kFigures + indent));
}

}  // namespace

std::string profile_table(const RecordedTree& tree, const ReportOptions& options) {
  if (tree.processes.size() == 1) return process_text(tree.processes.front(), options);
  const LedgerSummary together = summarise_together(tree);
  std::string text = fmt::format("peak of all together  {}\n", both(together.peak_bytes)) +
                     process_groups_text(group_by_process(tree, together.at_peak)) + "\nprocesses\n";
  TextTable table(
      {{"  program"}, {"pid", Align::right}, {"peak", Align::right}, {"live at the end", Align::right}});
  std::string refused;  // of the first process it is above
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

}  // namespace peakmark
