/* The seam between a program and libpeakmark-memory, which tells the program what it does itself with device memory. What
 * crosses it is C. Programs include benchmark.hpp, which stands before this; nothing here is for people. The library's
 * file name has the MAJOR version: what stands here keeps its meaning and its place in all of one MAJOR.
 *
 * Each function gives NULL, or why it could not; the text stays. Any thread may call them.
 */
#ifndef PEAKMARK_MEMORY_ABI_H
#define PEAKMARK_MEMORY_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_MEMORY_MAJOR 1

/* What was done from a beginning to its end, by the whole process. Bytes are requested bytes of what a device must hold. */
typedef struct peakmark_memory_use {
  int64_t peak_bytes; /* the most live at any moment, what was live before included */
  int64_t live_before_bytes;
  int64_t live_after_bytes;
  int64_t total_bytes; /* of all allocations, whether or not they were live at the same time */
  int64_t allocations;
  int64_t failed_allocations;
} peakmark_memory_use;

/* Has the loaders of OpenCL and CUDA load the recorders. To be called before the first call into either. Loaded once,
 * they stay; calling it again does nothing. */
__attribute__((visibility("default"))) const char* peakmark_memory_load(void);
/* From here on, until `peakmark_memory_end` of the same stretch: stretches may lie within each other and overlap. Both
 * wait until the devices have done what they were asked for. */
__attribute__((visibility("default"))) const char* peakmark_memory_begin(uint64_t* stretch);
__attribute__((visibility("default"))) const char* peakmark_memory_end(uint64_t stretch, peakmark_memory_use* use);

#ifdef __cplusplus
}
#endif
#endif
