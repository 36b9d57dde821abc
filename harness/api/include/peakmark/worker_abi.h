/* The C ABI between a worker program and libpeakmark-worker. Everything that passes between them is C, so that the program
 * needs neither the compiler, nor the C++ library, nor the flags of the library. Programs include worker.hpp, which wraps
 * this header; nothing here is for direct use.
 *
 * The version is semantic. MAJOR changes when something here changes its meaning or its place. It is part of the library's
 * file name, and peakmark refuses a worker of another MAJOR. MINOR changes when something is added at the end of a struct
 * that is passed alone (peakmark_device, _computation, _variant, _worker; structs that are passed in arrays keep their
 * size). A library runs every program that was compiled against the same or a lower MINOR, and refuses a higher one.
 */
#ifndef PEAKMARK_WORKER_ABI_H
#define PEAKMARK_WORKER_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEAKMARK_API_MAJOR 1
#define PEAKMARK_API_MINOR 0

/* An error. The function that is called fills it in; the caller has set it to zeros before. Texts end with a zero. */
enum {
  PEAKMARK_FINE = 0,
  PEAKMARK_OUT_OF_MEMORY = 1,      /* the device has too little memory: outcome out_of_memory */
  PEAKMARK_UNSUPPORTED = 2,        /* outcome unsupported */
  PEAKMARK_USAGE = 3,              /* the caller's mistake: an unknown axis, an argument that is not valid */
  PEAKMARK_HOST_OUT_OF_MEMORY = 4, /* outcome crashed; the device is not affected */
  PEAKMARK_BROKEN = 5,             /* any other error: outcome crashed, and the worker is replaced */
  PEAKMARK_WRONG_ANSWER = 6,       /* from verify only */
  PEAKMARK_OVERFLOW = 7            /* from programs only: a size of this case does not fit 64 bits */
};
typedef struct peakmark_failure {
  int32_t kind;
  char message[2044];
} peakmark_failure;

/* The value of an axis, and its type. Valid until the call returns. */
enum { PEAKMARK_INTEGER = 0, PEAKMARK_WORD = 1, PEAKMARK_FLOAT = 2 };
typedef union peakmark_axis_value {
  int64_t integer;
  const char* word;
  double floating;
} peakmark_axis_value;
typedef struct peakmark_value {
  const char* axis;
  int32_t type;
  peakmark_axis_value value;
} peakmark_value;

typedef struct peakmark_case {
  const peakmark_value* values; /* one for each axis of the variant, in its order */
  size_t count;
} peakmark_case;

/* The source of kernels in the dialect of kernel_language.h. */
typedef struct peakmark_cuda_image {
  const char* dtype;
  const void* data; /* a fatbin */
  size_t bytes;
} peakmark_cuda_image;
typedef struct peakmark_kernel_source {
  const char* name;
  const char* text; /* needs no zero at its end */
  size_t text_bytes;
  const peakmark_cuda_image* cuda_images;
  size_t cuda_image_count;
} peakmark_kernel_source;

/* Work-items along x, y, z, and those of a group; a group size of 0 is chosen by the library. */
typedef struct peakmark_range {
  int64_t items[3];
  int64_t local[3];
} peakmark_range;

/* An argument of a kernel. */
enum {
  PEAKMARK_ARRAY = 0,
  PEAKMARK_I32 = 1,
  PEAKMARK_U32 = 2,
  PEAKMARK_I64 = 3,
  PEAKMARK_U64 = 4,
  PEAKMARK_F32 = 5,
  PEAKMARK_F64 = 6
};
typedef struct peakmark_argument {
  int32_t type;
  union {
    void* array;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
  } value;
} peakmark_argument;

/* A device, and arrays on it. Valid until the computation that was made with it is destroyed. */
typedef struct peakmark_device {
  void* self;
  const char* backend; /* opencl, cuda, dry */
  const char* name;
  int32_t is_cpu;
  void* context; /* cl_context */
  void* queue;   /* cl_command_queue, cudaStream_t */
  void* device;  /* cl_device_id */
  void (*finish)(void* self, peakmark_failure* failure);
  /* Names an allocation of the program in reports: a cl_mem, an SVM pointer or a device pointer. */
  void (*name_allocation)(void* self, uint64_t address, const char* name);
  /* Returns an array of zeros; NULL if it fails. */
  void* (*create)(void* self, const char* name, const char* dtype, const int64_t* extents, size_t dimensions,
                  peakmark_failure* failure);
  /* Waits for the queue. The memory is free when it returns. */
  void (*release)(void* self, void* array);
  int64_t (*bytes)(void* self, void* array);
  uint64_t (*handle)(void* self, void* array); /* cl_mem, device pointer, number on dry; 0: no elements */
  void (*write)(void* self, void* array, const void* from, int64_t bytes, peakmark_failure* failure);
  void (*read)(void* self, void* array, void* to, int64_t bytes, peakmark_failure* failure);
  void (*fill)(void* self, void* array, double value, peakmark_failure* failure);

  /* Since 1.2. */
  int32_t has_f64;
  int64_t compute_units;
  int64_t memory_bytes;         /* -1: unknown, also of the next two */
  int64_t max_allocation_bytes; /* of one array */
  int64_t cache_bytes;          /* of the last level */
  /* Returns an array whose elements are not set; NULL if it fails. */
  void* (*create_uninitialised)(void* self, const char* name, const char* dtype, const int64_t* extents,
                                size_t dimensions, peakmark_failure* failure);
  /* Reads elements from `first` on, as many as `bytes` hold. */
  void (*read_part)(void* self, void* array, int64_t first, void* to, int64_t bytes, peakmark_failure* failure);
  /* Writes an array piece by piece: `generate` fills `piece`, which begins with element `first`. Not called on dry. */
  void (*write_generated)(void* self, void* array,
                          void (*generate)(void* context, void* piece, int64_t bytes, int64_t first,
                                           peakmark_failure* failure),
                          void* context, peakmark_failure* failure);
  void (*fill_part)(void* self, void* array, int64_t first, int64_t count, double value, peakmark_failure* failure);
  void (*copy)(void* self, void* from, int64_t from_offset_bytes, void* to, int64_t to_offset_bytes, int64_t bytes,
               peakmark_failure* failure);
  /* Returns a kernel, which is valid as long as the device; NULL if it fails. */
  void* (*kernel)(void* self, const peakmark_kernel_source* source, const char* name, const char* dtype,
                  peakmark_failure* failure);
  void (*launch)(void* self, void* kernel, const peakmark_range* range, const peakmark_argument* arguments,
                 size_t count, peakmark_failure* failure);
  /* Returns the object of this key. The first call for a key gets it from `make`; NULL from there is not kept. The
   * library calls `destroy` when it closes the device, or when it has kept 256 newer objects: the returned pointer is
   * valid until the next call. */
  void* (*cached)(void* self, const char* key, void* (*make)(void* context, peakmark_failure* failure), void* context,
                  void (*destroy)(void* object), peakmark_failure* failure);

  /* Since 1.3. */
  int32_t index; /* among the devices of its backend; of CUDA the device ordinal */
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
/* Which values of a metric are better. */
enum { PEAKMARK_NEITHER = 0, PEAKMARK_HIGHER = 1, PEAKMARK_LOWER = 2 };
typedef struct peakmark_computation {
  void* self;
  void (*step)(void* self, int32_t step, peakmark_failure* failure);
  int64_t (*bytes_moved)(void* self, peakmark_failure* failure); /* by one call; -1: unknown */
  void (*destroy)(void* self);
  /* Since 1.1: floating-point operations of one call; below 0: unknown. NULL: the program is of 1.0. */
  double (*flops)(void* self, peakmark_failure* failure);
  /* Calls `metric` for each number that the case reports, after `verify`. NULL: it reports none. */
  void (*metrics)(void* self, void (*metric)(void* sink, const char* name, double value, int32_t better), void* sink,
                  peakmark_failure* failure);
} peakmark_computation;

typedef struct peakmark_axis {
  const char* name;
  int32_t type; /* of its values */
  peakmark_axis_value default_value;
  int64_t minimum;            /* of integers */
  const char* const* choices; /* of words; empty: any word */
  size_t choice_count;
  const char* help;
} peakmark_axis;

/* A formula under test. One of the three functions is set, and decides the form. An estimator with `bytes` may have
 * `parts` too, which reports show. */
typedef struct peakmark_estimator {
  const char* name;
  void* self;
  /* Returns the bytes that this case needs (form `iterative`). */
  int64_t (*bytes)(void* self, const peakmark_case* asked, peakmark_failure* failure);
  /* Calls `part` for each named part (form `module`). */
  void (*parts)(void* self, const peakmark_case* asked,
                void (*part)(void* sink, const char* name, int64_t per_slice_bytes, int64_t fixed_bytes), void* sink,
                peakmark_failure* failure);
  /* Returns the maximum of slices that fit (form `documented`), whatever the slice axis of the case. */
  int64_t (*slices)(void* self, const peakmark_case* asked, int64_t available_bytes, peakmark_failure* failure);
} peakmark_estimator;

typedef struct peakmark_variant {
  const char* name; /* OPERATION/NAME */
  const char* help;
  const char* const* backends;
  size_t backend_count;
  const peakmark_axis* axes;
  size_t axis_count;
  const char* slice_axis; /* NULL: none */
  int32_t slice_dimension;
  int32_t destroys_input;
  const char* output_dtype; /* NULL: the value of the axis dtype, or f32 without one */
  const peakmark_estimator* estimators;
  size_t estimator_count;
  void* self;
  /* Reports what is wrong with a case on any device, as a failure. NULL: every case is valid. */
  void (*check)(void* self, const peakmark_case* asked, peakmark_failure* failure);
  void (*make)(void* self, const peakmark_device* device, const peakmark_case* asked, peakmark_computation* made,
               peakmark_failure* failure);
} peakmark_variant;

typedef struct peakmark_worker {
  int32_t api_major; /* of the header that the program was compiled with */
  int32_t api_minor;
  const char* name;   /* NULL: the file name of the program */
  const char* build;  /* Release, Debug; NULL: unknown */
  const char* commit; /* of the program's sources; NULL: unknown */
  const peakmark_variant* const* variants;
  size_t variant_count;
} peakmark_worker;

/* The only exported symbol: does everything that a worker program does. Returns the exit code. */
__attribute__((visibility("default"))) int peakmark_worker_run(const peakmark_worker* worker, int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif
