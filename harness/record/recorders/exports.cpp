// The functions that each recorder exports: the C interface of marks.h for the program, the entry point for
// NVTX, and the functions with which the two recorders of a process call each other.
#include "record/recorders/exports.hpp"

#include "record/recorders/marks.h"
#include "record/recorders/nvtx.hpp"
#include "record/recorders/open_ranges.hpp"

extern "C" {

PEAKMARK_EXPORT int peakmark_marks_version() {
  return peakmark::is_recording() ? PEAKMARK_MARKS_VERSION : 0;
}

PEAKMARK_EXPORT void peakmark_phase(const char* name) {
  peakmark::open_ranges().mark(name);
}

PEAKMARK_EXPORT void peakmark_name(uint64_t address, const char* name) {
  if (peakmark::is_recording()) peakmark::recorder_profile().name(address, name);
}

PEAKMARK_EXPORT const char* peakmark_profile_path() {
  return peakmark::is_recording() ? peakmark::recorder_profile().path() : nullptr;
}

PEAKMARK_EXPORT uint64_t peakmark_event_count() {
  return peakmark::recorder_profile().count();
}

PEAKMARK_EXPORT const char* peakmark_synchronise() {
  return peakmark::synchronise_devices();
}

PEAKMARK_EXPORT void peakmark_guards(int64_t bytes) {
  peakmark::guard_bytes = bytes;
}

PEAKMARK_EXPORT int InitializeInjectionNvtx2(peakmark::nvtx::ExportTable export_table) {
  return peakmark::start_from_nvtx(export_table, reinterpret_cast<const void*>(&InitializeInjectionNvtx2));
}

PEAKMARK_EXPORT void peakmark_lead_ranges(peakmark::OpenRanges::Begin begin, peakmark::OpenRanges::End end) {
  peakmark::forward_ranges(begin, end);
}

PEAKMARK_EXPORT void peakmark_follow_ranges() {
  peakmark::request_ranges(reinterpret_cast<const void*>(&peakmark_follow_ranges));
}

}  // extern "C"
