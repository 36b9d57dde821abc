/* The C ABI between a program and libpeakmark-memory, which measures the device memory of its own process. C++ programs
 * include benchmark.hpp, and Python programs import the module `peakmark`; both call what is here. The MAJOR version is part
 * of the library's file name: within one MAJOR nothing here changes its meaning or its place. Any thread may call these
 * functions.
 */
#ifndef PEAKMARK_MEMORY_ABI_H
#define PEAKMARK_MEMORY_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_MEMORY_MAJOR 1

/* -- For C++ programs. Each function returns NULL, or an error message that stays valid. */

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

/* -- For the Python module. Each function returns a status and sets `answer`: JSON, or after a failure the message. The text
 * is valid until the next call of the same thread. These follow the processes that this one starts, too. */

typedef enum peakmark_memory_status {
  PEAKMARK_MEMORY_OK = 0,
  PEAKMARK_MEMORY_FAILED = 1,
  PEAKMARK_MEMORY_NO_RECORDER = 2, /* there is no recorder, driver or usable loader on this machine */
  PEAKMARK_MEMORY_TOO_LATE = 3     /* OpenCL or CUDA was called before its recorder could be loaded */
} peakmark_memory_status;

/* Sets the environment variables by which the loaders of OpenCL and CUDA load the recorders at their first call, and calls
 * neither. Answers with the variables: {"PEAKMARK_PROFILE": "...", ...}. `sync`: finish the queue after each command;
 * `stacks`: record call stacks. */
__attribute__((visibility("default"))) int peakmark_memory_request(int sync, int stacks, const char** answer);
/* Fails if OpenCL or CUDA is used unrecorded. Answers with the number of recorders: {"recorders": N}. */
__attribute__((visibility("default"))) int peakmark_memory_require(const char** answer);

#define PEAKMARK_MEMORY_NO_REGION UINT64_MAX
/* Begins a region. Answers with {"region": N}. `since`: an earlier region from whose beginning on `peak_since_bytes` counts,
 * or PEAKMARK_MEMORY_NO_REGION. `timeline`: 1: keep the live bytes after each change; PEAKMARK_MEMORY_REPETITIONS: the answer
 * has `repetitions`, what the phases that occur several times leave behind; or the sum of both. */
#define PEAKMARK_MEMORY_REPETITIONS 2
__attribute__((visibility("default"))) int peakmark_memory_region_begin(uint64_t since, int timeline, const char** answer);
/* Ends it, and answers with its figures, notes and lists: the keys are the attributes and methods of peakmark.windows.Window. */
__attribute__((visibility("default"))) int peakmark_memory_region_end(uint64_t region, const char** answer);

#ifdef __cplusplus
}
#endif
#endif
