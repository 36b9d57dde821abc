/* The C ABI between a program and libpeakmark-memory, which measures the device memory of its own process. Programs include
 * benchmark.hpp, which wraps this header; nothing here is for direct use. The MAJOR version is part of the library's file
 * name: within one MAJOR nothing here changes its meaning or its place.
 *
 * Each function returns NULL, or an error message that stays valid. Any thread may call them.
 */
#ifndef PEAKMARK_MEMORY_ABI_H
#define PEAKMARK_MEMORY_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_MEMORY_MAJOR 1

/* Allocations of the whole process within a region. Bytes are requested bytes of what a device must hold. */
typedef struct peakmark_memory_use {
  int64_t peak_bytes; /* maximum of live bytes, including those from before the region */
  int64_t live_before_bytes;
  int64_t live_after_bytes;
  int64_t total_bytes; /* of all allocations, whether live at the same time or not */
  int64_t allocations;
  int64_t failed_allocations;
} peakmark_memory_use;

/* Makes the loaders of OpenCL and CUDA load the recorders. Call it before the first call of either. Further calls do
 * nothing. */
__attribute__((visibility("default"))) const char* peakmark_memory_load(void);
/* Begin and end a region in which memory is accounted. Regions may be nested and may overlap. Both functions wait until
 * the devices have finished their work. */
__attribute__((visibility("default"))) const char* peakmark_memory_begin(uint64_t* region);
__attribute__((visibility("default"))) const char* peakmark_memory_end(uint64_t region, peakmark_memory_use* use);

#ifdef __cplusplus
}
#endif
#endif
