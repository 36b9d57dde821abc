/* The seam between a worker program and libpeakmark-worker: what crosses it is C, so that neither side needs the other's
 * compiler, C++ library or flags. Programs include worker.hpp, which stands before this; nothing here is for people.
 *
 * The version is semantic. MAJOR changes when what stands here changes its meaning or its place: the library's file name
 * has it, and peakmark refuses a worker of another. MINOR changes when something is added at the end of a struct that is
 * handed over alone (peakmark_device, _computation, _variant, _worker; those that stand in arrays keep their size): a
 * library serves every program that was compiled against a lower or the same MINOR, and refuses a higher one.
 */
#ifndef PEAKMARK_WORKER_ABI_H
#define PEAKMARK_WORKER_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_API_MAJOR 1
#define PEAKMARK_API_MINOR 1

/* What went wrong. Whoever is called fills it in; the caller has cleared it before. Texts end with a zero. */
enum {
  PEAKMARK_FINE = 0,
  PEAKMARK_OUT_OF_MEMORY = 1,      /* of the device: the outcome out_of_memory */
  PEAKMARK_UNSUPPORTED = 2,        /* the outcome unsupported */
  PEAKMARK_USAGE = 3,              /* a mistake of whoever asks: an axis that is not there, a size that overflows */
  PEAKMARK_HOST_OUT_OF_MEMORY = 4, /* the outcome crashed; the device is as good as before */
  PEAKMARK_BROKEN = 5,             /* anything else: the outcome crashed, and the worker is replaced */
  PEAKMARK_WRONG_ANSWER = 6        /* of verify alone */
};
typedef struct peakmark_failure {
  int32_t kind;
  char message[2044];
} peakmark_failure;

/* The value of an axis: a number, or a word. Valid while the call lasts. */
typedef struct peakmark_value {
  const char* axis;
  const char* word; /* NULL: it is `number` */
  int64_t number;
} peakmark_value;

typedef struct peakmark_case {
  const peakmark_value* values; /* every axis of the variant, in its order */
  size_t count;
} peakmark_case;

/* A device, and an offer of arrays on it. Valid until the computation that was made with it is destroyed. */
typedef struct peakmark_device {
  void* self;
  const char* backend; /* opencl, cuda, dry */
  const char* name;
  int32_t is_cpu;
  void* context; /* cl_context */
  void* queue;   /* cl_command_queue, cudaStream_t */
  void* device;  /* cl_device_id */
  void (*finish)(void* self, peakmark_failure* failure);
  /* Names an allocation of the program's own in reports: a cl_mem, an SVM or a device pointer. */
  void (*name_allocation)(void* self, uint64_t address, const char* name);
  /* An array of zeros. NULL where it failed. */
  void* (*create)(void* self, const char* name, const char* dtype, const int64_t* extents, size_t dimensions,
                  peakmark_failure* failure);
  /* Waits for what was enqueued: the memory is free when it returns. */
  void (*release)(void* self, void* array);
  int64_t (*bytes)(void* self, void* array);
  uint64_t (*handle)(void* self, void* array); /* cl_mem, a device pointer */
  void (*write)(void* self, void* array, const void* from, int64_t bytes, peakmark_failure* failure);
  void (*read)(void* self, void* array, void* to, int64_t bytes, peakmark_failure* failure);
  void (*fill)(void* self, void* array, double value, peakmark_failure* failure);
} peakmark_device;

/* The steps of one case, in the order in which they are called. */
enum {
  PEAKMARK_SET_UP = 0,
  PEAKMARK_CREATE_INPUTS = 1,
  PEAKMARK_CREATE_OUTPUTS = 2,
  PEAKMARK_CALL = 3,
  PEAKMARK_RESTORE_INPUTS = 4,
  PEAKMARK_VERIFY = 5
};
typedef struct peakmark_computation {
  void* self;
  void (*step)(void* self, int32_t step, peakmark_failure* failure);
  int64_t (*bytes_moved)(void* self, peakmark_failure* failure); /* of one call; -1: unknown */
  void (*destroy)(void* self);
  /* 1.1: floating-point operations of one call; below 0: unknown. NULL: the program is of 1.0. */
  double (*flops)(void* self, peakmark_failure* failure);
} peakmark_computation;

typedef struct peakmark_axis {
  const char* name;
  const char* default_word; /* NULL: an axis of numbers */
  int64_t default_number;
  int64_t least;              /* of numbers */
  const char* const* choices; /* of words; none: any word */
  size_t choice_count;
  const char* help;
} peakmark_axis;

/* A formula under test. One of the three is set, and says its form. */
typedef struct peakmark_estimator {
  const char* name;
  void* self;
  /* Bytes that this case needs (`iterative`). */
  int64_t (*bytes)(void* self, const peakmark_case* asked, peakmark_failure* failure);
  /* Named parts (`module`): calls `part` for each. */
  void (*parts)(void* self, const peakmark_case* asked,
                void (*part)(void* sink, const char* name, int64_t bytes_a_slice, int64_t fixed_bytes), void* sink,
                peakmark_failure* failure);
  /* The most slices that fit (`documented`); the slice axis of the case says nothing. */
  int64_t (*slices)(void* self, const peakmark_case* asked, int64_t available_bytes, peakmark_failure* failure);
} peakmark_estimator;

typedef struct peakmark_variant {
  const char* name; /* OPERATION/WAY */
  const char* help;
  const char* const* backends;
  size_t backend_count;
  const peakmark_axis* axes;
  size_t axis_count;
  const char* slice_axis; /* NULL: none */
  int32_t slice_dimension;
  int32_t destroys_input;
  const char* output_dtype; /* NULL: that of the axis dtype, else f32 */
  const peakmark_estimator* estimators;
  size_t estimator_count;
  void* self;
  /* What is wrong with a case whatever the device, as a failure. NULL: nothing ever is. */
  void (*check)(void* self, const peakmark_case* asked, peakmark_failure* failure);
  void (*make)(void* self, const peakmark_device* device, const peakmark_case* asked, peakmark_computation* made,
               peakmark_failure* failure);
} peakmark_variant;

typedef struct peakmark_worker {
  int32_t api_major; /* those that the program was compiled against */
  int32_t api_minor;
  const char* name;   /* NULL: the file name of the program */
  const char* build;  /* Release, Debug; NULL: unknown */
  const char* commit; /* of the program's sources; NULL: unknown */
  const peakmark_variant* const* variants;
  size_t variant_count;
} peakmark_worker;

/* The only door: the whole of a worker program but its variants. Returns the exit code. */
__attribute__((visibility("default"))) int peakmark_worker_run(const peakmark_worker* worker, int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif
