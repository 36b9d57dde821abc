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

/// The Trace Event Format, which ui.perfetto.dev opens: live bytes of each kind as counters, phases as
/// slices, allocations as spans of their life, failures as instants.
void write_trace(const RecordedTree& tree, std::ostream& out);

}  // namespace peakmark
