#pragma once

#include "recorders/nvtx_abi.hpp"
#include "recorders/open_ranges.hpp"

namespace peakmark {

/// Takes the ranges of a program's copy of NVTX (there may be several in a process) as phases: push and pop,
/// start and end, of every domain and thread; with $PEAKMARK_RANGES=words those alone that are called
/// `setup`, `inputs`, `outputs`, `call` or `end`; of one that is called almost so it is told
/// (RecorderErrorKind::range_left_out). 1, or 0 where it has no such tables.
int take_ranges(nvtx::ExportTable export_table);

// NVTX loads one recorder, and the other may be the one that records. Where both are in a process, the one
// that NVTX has loaded leads: it tells the other of every range. `this_recorder` is any address in the
// recorder that calls.

/// NVTX has loaded this recorder.
int injected(nvtx::ExportTable export_table, const void* this_recorder);
/// Behind a recorder's door kLeadSymbol: the other recorder wants to be told.
void lead(OpenRanges::Begin begin, OpenRanges::End end);
/// Asks the other recorder, where it is there, to lead. When this one has come up, and behind the door
/// kFollowSymbol.
void follow_other_recorder(const void* this_recorder);

inline constexpr char kLeadSymbol[] = "peakmark_lead_ranges";
inline constexpr char kFollowSymbol[] = "peakmark_follow_ranges";

}  // namespace peakmark
