/* The C interface of both recorders (libpeakmark-opencl.so, libpeakmark-cupti.so) for the program into which one was
 * loaded. Never link a recorder: the OpenCL loader (OPENCL_LAYERS) or CUDA (CUDA_INJECTION64_PATH) loads it. Look up
 * the functions with dlopen(path, RTLD_NOLOAD | RTLD_LAZY) and dlsym, and do nothing if they are missing.
 */
#ifndef PEAKMARK_RECORD_MARKS_H
#define PEAKMARK_RECORD_MARKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_MARKS_VERSION 1

/* Returns the version of this interface in the loaded recorder; 0 if it has not started. */
typedef int (*peakmark_marks_version_t)(void);
/* Begins a phase. The text is copied. May be called before the recorder has started. */
typedef void (*peakmark_phase_t)(const char* name);
/* Names the allocation at this address (a cl_mem, an SVM or a device pointer). The text is copied. */
typedef void (*peakmark_name_t)(uint64_t address, const char* name);
/* Returns the absolute path of the profile being written, or NULL if there is none. Valid until the process ends. */
typedef const char* (*peakmark_profile_path_t)(void);
/* Returns the number of events committed so far. */
typedef uint64_t (*peakmark_event_count_t)(void);
/* Waits until the devices have finished the work of this process (CUDA: of the current context), so that memory
 * released before is freed. Returns NULL, or a static text with the reason if it did not wait. Older recorders do not have
 * this symbol. */
typedef const char* (*peakmark_synchronise_t)(void);
/* From now on, each allocation of the calling thread contains so many bytes of guards, which the program did not request:
 * they are not recorded, and on OpenCL no budget counts them. Until it is called with 0, sub-buffers of OpenCL are not
 * recorded either. Older recorders do not have this symbol. */
typedef void (*peakmark_guards_t)(int64_t bytes);

/* Environment: PEAKMARK_PROFILE=<path> - the recorder writes <path>.<pid>.
 *              PEAKMARK_SYNC=1         - finish the queue after each enqueue, so that the peak repeats. */

/* A program may mark its first phase before its first call to OpenCL or CUDA, when no loader has loaded the recorder yet.
 * To mark a phase then, load the recorder with dlopen (without RTLD_NOLOAD, and only if its file name begins with
 * PEAKMARK_RECORDER_FILE) and call peakmark_phase: the recorder remembers the phase, and the profile begins in it.
 * phase.h and the Python module peakmark do so. */
#define PEAKMARK_RECORDER_FILE "libpeakmark-"

/* A program built with an older phase.h sets this variable to <process id>:<phase> instead. A recorder still reads it
 * once, when it starts. Do not set it: setenv races with getenv in other threads. */
#define PEAKMARK_PHASE_VARIABLE "PEAKMARK_PHASE"

#define PEAKMARK_MARKS_VERSION_SYMBOL "peakmark_marks_version"
#define PEAKMARK_PHASE_SYMBOL "peakmark_phase"
#define PEAKMARK_NAME_SYMBOL "peakmark_name"
#define PEAKMARK_PROFILE_PATH_SYMBOL "peakmark_profile_path"
#define PEAKMARK_EVENT_COUNT_SYMBOL "peakmark_event_count"
#define PEAKMARK_SYNCHRONISE_SYMBOL "peakmark_synchronise"
#define PEAKMARK_GUARDS_SYMBOL "peakmark_guards"

/* Times of kernels, copies and fills, from CUPTI's activity records (the CUDA recorder only). Tracing costs time and
 * device memory: it is off until started, and is meant for a timing pass, never for a memory pass. The process must have
 * been started with PEAKMARK_KERNEL_RECORDS=1.
 * Environment: PEAKMARK_ACTIVITY_CHECK=1 - writes a second profile, <path>.activity.<pid>, from CUPTI's memory
 *                                          records, to check the first one. */
#define PEAKMARK_KERNEL_RECORDS_VERSION 1
typedef struct peakmark_kernel_record {
  const char* name; /* demangled, copies and fills in brackets; valid until the next stop */
  uint64_t count;
  uint64_t ns; /* of all `count` runs */
} peakmark_kernel_record;
/* Returns NULL, or why there are no records. The text is valid until the next call. */
typedef const char* (*peakmark_kernel_records_start_t)(int version);
/* Waits for the device and stops. Writes at most `capacity` records, the longest first, and the number of all records.
 * Returns NULL, or why the records must not be used (CUPTI dropped some); then `count` is 0. */
typedef const char* (*peakmark_kernel_records_stop_t)(peakmark_kernel_record* records, uint64_t capacity,
                                                      uint64_t* count);
#define PEAKMARK_KERNEL_RECORDS_START_SYMBOL "peakmark_kernel_records_start"
#define PEAKMARK_KERNEL_RECORDS_STOP_SYMBOL "peakmark_kernel_records_stop"

#ifdef __cplusplus
}
#endif
#endif
