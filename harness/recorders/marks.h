/* The C interface of both recorders (libpeakmark-opencl.so, libpeakmark-cupti.so): what a program may tell the
 * recorder that was loaded into it. A page, and nothing else. Never link a recorder: it is loaded by the OpenCL
 * loader (OPENCL_LAYERS) or by CUDA (CUDA_INJECTION64_PATH); look the functions up with
 * dlopen(path, RTLD_NOLOAD | RTLD_LAZY) and dlsym, and do nothing where they are not there.
 */
#ifndef PEAKMARK_RECORD_MARKS_H
#define PEAKMARK_RECORD_MARKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_MARKS_VERSION 1

/* The version of this interface that the loaded recorder speaks; 0 when it has not come up. */
typedef int (*peakmark_marks_version_t)(void);
/* From now on the program is in this phase. The text is copied. May be called before the recorder has come up. */
typedef void (*peakmark_phase_t)(const char* name);
/* Names the allocation at this address (a cl_mem, an SVM or a device pointer). The text is copied. */
typedef void (*peakmark_name_t)(uint64_t address, const char* name);
/* Absolute path of the profile being written, or NULL when there is none. Valid until the process ends. */
typedef const char* (*peakmark_profile_path_t)(void);
/* Events committed so far. */
typedef uint64_t (*peakmark_event_count_t)(void);
/* Waits until the devices have done what this process has asked them for, so that what was released before is gone: of
 * CUDA in the current context. NULL, or why nothing was waited for; the text stays. A recorder of before this one has
 * no such symbol. */
typedef const char* (*peakmark_synchronise_t)(void);

/* Environment: PEAKMARK_PROFILE=<path> - the recorder writes <path>.<pid>.
 *              PEAKMARK_SYNC=1         - finish the queue after each enqueue, so that the peak repeats. */

/* A program may mark its first phase before it calls OpenCL or CUDA for the first time, when no loader has loaded the
 * recorder yet. Whoever marks a phase then loads the recorder with dlopen (without RTLD_NOLOAD, only where the file's name
 * begins with PEAKMARK_RECORDER_FILE) and calls peakmark_phase: the recorder keeps the phase in its own memory and begins
 * in it. phase.h and the Python module peakmark do so. */
#define PEAKMARK_RECORDER_FILE "libpeakmark-"

/* A program built with an older phase.h sets this variable to <process id>:<phase> instead. A recorder still reads it
 * once, when it comes up. Do not set it: setenv races with getenv in other threads. */
#define PEAKMARK_PHASE_VARIABLE "PEAKMARK_PHASE"

#define PEAKMARK_MARKS_VERSION_SYMBOL "peakmark_marks_version"
#define PEAKMARK_PHASE_SYMBOL "peakmark_phase"
#define PEAKMARK_NAME_SYMBOL "peakmark_name"
#define PEAKMARK_PROFILE_PATH_SYMBOL "peakmark_profile_path"
#define PEAKMARK_EVENT_COUNT_SYMBOL "peakmark_event_count"
#define PEAKMARK_SYNCHRONISE_SYMBOL "peakmark_synchronise"

/* Times of single kernels, copies and fills, by CUPTI's records (the CUDA recorder only; the other has no such
 * symbols). Tracing them costs time and device memory: it is off until started, and is for a timing pass, never for
 * one in which bytes are counted. The process must have been started with PEAKMARK_KERNEL_RECORDS=1.
 * Environment: PEAKMARK_ACTIVITY_CHECK=1 - writes a second profile, <path>.activity.<pid>, from CUPTI's memory
 *                                          records, to check the first one by. */
#define PEAKMARK_KERNEL_RECORDS_VERSION 1
typedef struct peakmark_kernel_record {
  const char* name; /* demangled, copies and fills in brackets; valid until the next stop */
  uint64_t count;
  uint64_t ns; /* of all `count` runs */
} peakmark_kernel_record;
/* NULL, or why there are no records: say so, and report none. The text is valid until the next call. */
typedef const char* (*peakmark_kernel_records_start_t)(int version);
/* Waits for the device and stops. Writes at most `capacity` records, the longest first, and their whole number.
 * NULL, or why the records are not to be used (CUPTI dropped some); `count` is 0 then. */
typedef const char* (*peakmark_kernel_records_stop_t)(peakmark_kernel_record* records, uint64_t capacity,
                                                      uint64_t* count);
#define PEAKMARK_KERNEL_RECORDS_START_SYMBOL "peakmark_kernel_records_start"
#define PEAKMARK_KERNEL_RECORDS_STOP_SYMBOL "peakmark_kernel_records_stop"

#ifdef __cplusplus
}
#endif
#endif
