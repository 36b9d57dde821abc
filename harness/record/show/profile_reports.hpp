#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "record/ledger/ledger.hpp"
#include "record/profile/call_frames.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

// The forms in which `show` prints a profile. Pure.

/// What the reports contain.
struct ReportOptions {
  bool by_site = false;               ///< the table lists sites instead of names
  std::size_t frames = 0;             ///< innermost frames that name a site; 0: see name_sites()
  std::size_t max_width = SIZE_MAX;   ///< of the console's table of processes; it shortens command lines
  std::size_t max_phases = SIZE_MAX;  ///< JSON lists no phases if there are more, only phases_by_name
};

/// Returns a table: the peak, what was live at it, what leaked, phases, kinds; the other processes, and the
/// peak of all processes together.
std::string profile_table(const RecordedTree& tree, const ReportOptions& options = {});

/// Returns JSON: `program`, `pid`, `complete`, `requested`, `by_kind`, `at_peak`, `leaked`, `phases`,
/// `phases_by_name`, `sites`, `pool_reserved_peak_bytes`, `processes`, `tree_peak_bytes` (see
/// docs/formats.md).
nlohmann::ordered_json profile_json(const RecordedTree& tree, const ReportOptions& options = {});

/// Writes a line for each event: time, thread, type, kind, address, bytes, text.
void write_events(const RecordedTree& tree, std::ostream& out);

/// How much of a profile a trace contains.
struct TraceOptions {
  bool full = false;
  std::size_t max_events = 100'000;  ///< a process with more is thinned, unless `full`
  std::size_t max_spans = 20'000;    ///< of a thinned process
  std::size_t max_points = 8'000;    ///< of each of its counters
  std::size_t max_phases = 2'000;    ///< of a thinned process; of more, the short ones are left out
  std::size_t max_failures = 1'000;
};

/// What a thinned trace leaves out; `thinned` is false if it is complete.
struct TraceSummary {
  bool thinned = false;
  std::size_t allocations = 0;  ///< of the thinned processes
  std::size_t spans = 0;        ///< of these allocations that have one
  std::size_t phases_left_out = 0;
  std::size_t failures_left_out = 0;
};

/// Writes the Trace Event Format, which ui.perfetto.dev opens: live bytes of each kind as counters, phases as
/// slices, allocations as spans of their life, failures as instants. For a process with many events the
/// counters are thinned like the page's timeline, with the exact peak, and the spans are the most important
/// ones. What is left out is also in `otherData` of the trace.
TraceSummary write_trace(const RecordedTree& tree, const TraceOptions& options, std::ostream& out);

/// Writes one self-contained HTML page: live bytes over time with the phases, what was live at the peak, what
/// leaked, and the bytes at the peak by call stack. Its element `data` holds, as JSON, `profile` (what
/// profile_json returns) and a view of each process (see docs/formats.md). The size of the page does not grow
/// with the number of events.
void write_page(const RecordedTree& tree, const ReportOptions& options, std::ostream& out);

/// A node of a flame graph: the allocations below it.
struct FlameNode {
  std::string name;
  Size bytes = 0;
  std::int64_t count = 0;
  std::vector<FlameNode> children;  ///< largest first
};

/// Returns the allocations as paths from the root: from the outermost caller to the innermost and the
/// allocation's name or kind; without call stacks, from phase and kind to name. Siblings with less than a
/// `part`-th of all bytes become one node.
FlameNode flame_graph(const std::vector<Allocation>& allocations,
                      const std::map<std::uint64_t, std::vector<CallFrame>>& stacks, Size part);

}  // namespace peakmark
