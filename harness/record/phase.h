/* What a C or C++ program marks its phases with. A header, nothing to link:
 *
 *     #include <peakmark/record/phase.h>
 *     peakmark_phase("call");
 *     ...
 *     peakmark_phase("");                                        // in no phase any more
 *     peakmark_name((uint64_t)(uintptr_t)buffer, "filter");      // a cl_mem, an SVM or a device pointer
 *
 * Where nothing is recorded they do nothing. A phase marked before the first call into OpenCL or CUDA is not lost: the
 * recorder begins in it. A name needs a recorder that is there. Call peakmark_phase from one thread at a time: a phase
 * is one of the whole process. On systems without dlopen in the C library (glibc before 2.34) link with -ldl.
 */
#ifndef PEAKMARK_RECORD_PHASE_H
#define PEAKMARK_RECORD_PHASE_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder that the loader of OpenCL (0) or CUDA (1) has loaded into this process, or NULL. */
#ifndef __cplusplus
int setenv(const char* name, const char* value, int overwrite); /* POSIX; with -std=c11, headers do not tell of it */
#endif

static inline void* peakmark_recorder_(int which) {
  static void* found[2];
  const char* named;
  char path[4096];
  size_t length;
  if (found[which] != NULL) return found[which];
  named = getenv(which == 0 ? "OPENCL_LAYERS" : "CUDA_INJECTION64_PATH");
  if (named == NULL) return NULL;
  length = which == 0 ? strcspn(named, ":") : strlen(named); /* the recorder is the first of several layers */
  if (length == 0 || length >= sizeof(path)) return NULL;
  memcpy(path, named, length);
  path[length] = '\0';
  found[which] = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  return found[which];
}

/* From now on the program is in this phase. */
static inline void peakmark_phase(const char* name) {
  char mark[4096 + 32];
  int which;
  if (getenv("PEAKMARK_PROFILE") == NULL) return;
  snprintf(mark, sizeof(mark), "%ld:%s", (long)getpid(), name);
  setenv(PEAKMARK_PHASE_VARIABLE, mark, 1);
  for (which = 0; which < 2; ++which) {
    void* const recorder = peakmark_recorder_(which);
    void* symbol;
    peakmark_phase_t tell;
    if (recorder == NULL || (symbol = dlsym(recorder, PEAKMARK_PHASE_SYMBOL)) == NULL) continue;
    memcpy(&tell, &symbol, sizeof(tell)); /* ISO C has no cast from a pointer to an object to one to a function */
    tell(name);
  }
}

/* Names the allocation at this address. */
static inline void peakmark_name(uint64_t address, const char* name) {
  int which;
  for (which = 0; which < 2; ++which) {
    void* const recorder = peakmark_recorder_(which);
    void* symbol;
    peakmark_name_t tell;
    if (recorder == NULL || (symbol = dlsym(recorder, PEAKMARK_NAME_SYMBOL)) == NULL) continue;
    memcpy(&tell, &symbol, sizeof(tell));
    tell(address, name);
  }
}

#ifdef __cplusplus
}
#endif
#endif
