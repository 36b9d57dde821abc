/* Marks the phases of a C or C++ program. Header-only, nothing to link:
 *
 *     #include <peakmark/phase.h>
 *     peakmark_phase("call");
 *     ...
 *     peakmark_phase("");                                        // ends the phase
 *     peakmark_name((uint64_t)(uintptr_t)buffer, "filter");      // a cl_mem, an SVM or a device pointer
 *     for (i = 0; i < peakmark_calls(); ++i) { ... }             // N times under `record --repeat-call N`, else once
 *
* Without a recorder they do nothing. A phase marked before the first call into OpenCL or CUDA is not lost: the mark
 * loads the recorder, and the profile begins in that phase. A name needs a recorder that is already loaded. Both may be
 * called from any thread; a phase applies to the whole process. They read the environment and never change it. On
 * systems without dlopen in the C library (glibc before 2.34) link with -ldl.
 */
#ifndef PEAKMARK_RECORD_PHASE_H
#define PEAKMARK_RECORD_PHASE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the recorder of OpenCL (0) or CUDA (1) in this process, or NULL. `load` loads it if it is not loaded yet: the
 * loader of OpenCL or CUDA later gets the same library. Layers of others are never loaded here. */
static inline void* peakmark_recorder_(int which, int load) {
  static void* found[2];
  const char* named;
  const char* file;
  char path[4096];
  size_t length;
  void* recorder = __atomic_load_n(&found[which], __ATOMIC_ACQUIRE);
  if (recorder != NULL) return recorder;
  named = getenv(which == 0 ? "OPENCL_LAYERS" : "CUDA_INJECTION64_PATH");
  if (named == NULL || getenv("PEAKMARK_PROFILE") == NULL) return NULL;
  length = which == 0 ? strcspn(named, ":") : strlen(named); /* the recorder is the first of several layers */
  if (length == 0 || length >= sizeof(path)) return NULL;
  memcpy(path, named, length);
  path[length] = '\0';
  file = strrchr(path, '/');
  file = file == NULL ? path : file + 1;
  load = load && strncmp(file, PEAKMARK_RECORDER_FILE, strlen(PEAKMARK_RECORDER_FILE)) == 0;
  recorder = dlopen(path, load ? RTLD_LAZY : RTLD_NOLOAD | RTLD_LAZY);
  if (recorder != NULL) __atomic_store_n(&found[which], recorder, __ATOMIC_RELEASE);
  return recorder;
}

/* Begins a phase. */
static inline void peakmark_phase(const char* name) {
  int which;
  for (which = 0; which < 2; ++which) {
    void* const recorder = peakmark_recorder_(which, 1);
    void* symbol;
    peakmark_phase_t function;
    if (recorder == NULL || (symbol = dlsym(recorder, PEAKMARK_PHASE_SYMBOL)) == NULL) continue;
    memcpy(&function, &symbol, sizeof(function)); /* ISO C cannot cast an object pointer to a function pointer */
    function(name);
  }
}

/* Returns how often the program repeats what it measures: N under `peakmark record --repeat-call N`, otherwise 1. Mark each
 * repetition as a phase, and end it. */
static inline long peakmark_calls(void) {
  const char* const calls = getenv("PEAKMARK_REPEAT_CALL");
  const long number = calls == NULL ? 1 : strtol(calls, NULL, 10);
  return number > 1 ? number : 1;
}

/* Names the allocation at this address. */
static inline void peakmark_name(uint64_t address, const char* name) {
  int which;
  for (which = 0; which < 2; ++which) {
    void* const recorder = peakmark_recorder_(which, 0);
    void* symbol;
    peakmark_name_t function;
    if (recorder == NULL || (symbol = dlsym(recorder, PEAKMARK_NAME_SYMBOL)) == NULL) continue;
    memcpy(&function, &symbol, sizeof(function));
    function(address, name);
  }
}

#ifdef __cplusplus
}
#endif
#endif
