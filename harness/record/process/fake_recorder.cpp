// For tests: a recorder that records calls of the test, in a separate library like the real ones.
#include "record/recorders/marks.h"
#include "record/recorders/profile_writer.hpp"

#define PEAKMARK_EXPORT __attribute__((visibility("default")))

namespace {

peakmark::ProfileWriter writer;
bool is_up = false;

}  // namespace

extern "C" {

PEAKMARK_EXPORT int InitializeInjection() {
  is_up = writer.open_from_environment("fake 1");
  return 1;
}
PEAKMARK_EXPORT int peakmark_marks_version() {
  return is_up ? PEAKMARK_MARKS_VERSION : 0;
}
PEAKMARK_EXPORT void peakmark_phase(const char* name) {
  writer.phase(name);
}
PEAKMARK_EXPORT void peakmark_name(uint64_t address, const char* name) {
  writer.name(address, name);
}
PEAKMARK_EXPORT const char* peakmark_profile_path() {
  return writer.path();
}
PEAKMARK_EXPORT uint64_t peakmark_event_count() {
  return writer.count();
}
PEAKMARK_EXPORT const char* peakmark_synchronise() {
  return nullptr;
}

PEAKMARK_EXPORT void fake_allocation(uint64_t address, int64_t bytes) {
  writer.allocation(address, bytes, peakmark::MemoryKind::device);
}
PEAKMARK_EXPORT void fake_release(uint64_t address) {
  writer.release(address);
}
PEAKMARK_EXPORT void fake_note(const char* text) {
  writer.note(text);
}

}  // extern "C"
