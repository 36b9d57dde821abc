// A part of each recorder: what NVTX calls, and what the two recorders call of each other.
#include "recorders/nvtx.hpp"

#define PEAKMARK_EXPORT __attribute__((visibility("default")))

extern "C" {

PEAKMARK_EXPORT int InitializeInjectionNvtx2(peakmark::nvtx::ExportTable export_table) {
  return peakmark::injected(export_table, reinterpret_cast<const void*>(&InitializeInjectionNvtx2));
}

PEAKMARK_EXPORT void peakmark_lead_ranges(peakmark::OpenRanges::Begin begin, peakmark::OpenRanges::End end) {
  peakmark::lead(begin, end);
}

PEAKMARK_EXPORT void peakmark_follow_ranges() {
  peakmark::follow_other_recorder(reinterpret_cast<const void*>(&peakmark_follow_ranges));
}

}  // extern "C"
