#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "show/process_tree.hpp"

namespace peakmark {

// The forms in which a profile is shown. Pure: what was recorded goes in, text comes out.

/// How much is told.
struct ReportOptions {
  bool by_site = false;                ///< the table lists sites instead of names
  std::size_t frames = 1;              ///< innermost frames by which sites differ
  bool skips_wrappers = false;         ///< the table begins behind frames that most sites share
  std::size_t max_width = SIZE_MAX;    ///< of the console's table of processes, whose command lines are cut
  std::size_t most_phases = SIZE_MAX;  ///< of more than these JSON lists none, only phases_by_name
};

/// Peak, what was live at it, what leaked, phases, kinds; the other processes, and the peak of them all
/// together.
std::string profile_table(const RecordedTree& tree, const ReportOptions& options = {});

/// `program`, `pid`, `complete`, `requested`, `by_kind`, `at_peak`, `leaked`, `phases`,
/// `phases_by_name`, `sites`, `pool_reserved_peak_bytes`, `processes`, `tree_peak_bytes`: see
/// docs/formats.md.
std::string profile_json(const RecordedTree& tree, const ReportOptions& options = {});

/// A line an event: time, thread, type, kind, address, bytes, text.
void write_events(const RecordedTree& tree, std::ostream& out);

/// How much of a profile a trace holds.
struct TraceOptions {
  bool full = false;
  std::size_t max_events = 100'000;  ///< a process with more is thinned, unless `full`
  std::size_t max_spans = 20'000;    ///< of a thinned process
  std::size_t max_points = 8'000;    ///< of each of its counters
  std::size_t max_phases = 2'000;    ///< of it that are drawn however short they are
  std::size_t max_failures = 1'000;
};

/// What a thinned trace leaves out; `thinned` is false where it has everything.
struct TraceSummary {
  bool thinned = false;
  std::size_t allocations = 0;  ///< of the thinned processes
  std::size_t spans = 0;        ///< of these that have one
  std::size_t phases_left_out = 0;
  std::size_t failures_left_out = 0;
};

/// The Trace Event Format, which ui.perfetto.dev opens: live bytes of each kind as counters, phases as
/// slices, allocations as spans of their life, failures as instants. Of a process with many events the
/// counters are thinned like the page's timeline, the peak kept exactly; spans are those of
/// `spans_for_trace`. What is left out is in `otherData` of the trace too.
TraceSummary write_trace(const RecordedTree& tree, const TraceOptions& options, std::ostream& out);

}  // namespace peakmark
