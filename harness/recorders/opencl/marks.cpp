#include "recorders/marks.h"

#include "recorders/open_ranges.hpp"
#include "recorders/opencl/layer.hpp"
#include "recorders/opencl/queues.hpp"

using peakmark::opencl_layer::layer;

extern "C" {

PEAKMARK_EXPORT int peakmark_marks_version() {
  return layer.writer.path() == nullptr ? 0 : PEAKMARK_MARKS_VERSION;
}

PEAKMARK_EXPORT void peakmark_phase(const char* name) {
  peakmark::open_ranges().mark(name);
}

PEAKMARK_EXPORT void peakmark_name(uint64_t address, const char* name) {
  if (layer.writer.path() != nullptr) layer.writer.name(address, name);
}

PEAKMARK_EXPORT const char* peakmark_profile_path() {
  return layer.writer.path();
}

PEAKMARK_EXPORT uint64_t peakmark_event_count() {
  return layer.writer.count();
}

PEAKMARK_EXPORT const char* peakmark_synchronise() {
  return peakmark::opencl_layer::synchronise();
}

}  // extern "C"
