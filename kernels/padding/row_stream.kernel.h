/* Streams of rows, for CPUs: a work-item stores consecutive elements of the output, from its first to its last.
 *
 * With `past_cache`, for outputs larger than the caches, a stream writes 64-byte vectors with non-temporal stores. A
 * cached store would first read the line that it overwrites. If a vector has elements of several sources or of two
 * rows, they are collected in private memory (`pending`) until the vector is complete. Only the first and the last
 * vector are stored element by element, because a part of them may belong to other work-items.
 *
 * No parameter of these functions is `restrict`: oclgrind does not simulate the code that clang generates for it in a
 * loop.
 */

#if defined(__clang__) && !defined(__CUDACC__)
/* Built-ins of clang, which compiles kernels in OpenCL implementations for CPUs. */
#define PADDING_VECTORS 1
#define PADDING_LANES ((pm_int)(64 / sizeof(pm_element)))
typedef pm_element padding_vector __attribute__((ext_vector_type(64 / sizeof(pm_element))));
typedef padding_vector padding_unaligned __attribute__((aligned(sizeof(pm_element))));
#define PADDING_LOAD(p) (*(PM_GLOBAL const padding_unaligned*)(p))
#define PADDING_LOAD_PENDING(p) (*(const padding_unaligned*)(p))
#define PADDING_STORE_PENDING(v, p) (*(padding_unaligned*)(p) = (v))
/* Vectors whose loads are issued before the first store. */
#define PADDING_IN_FLIGHT 8
#define PADDING_BACKWARD_8(n) n + 7, n + 6, n + 5, n + 4, n + 3, n + 2, n + 1, n
#if defined(PM_DTYPE_u64)
#define PADDING_BACKWARD PADDING_BACKWARD_8(0)
#elif defined(PM_DTYPE_u32)
#define PADDING_BACKWARD PADDING_BACKWARD_8(8), PADDING_BACKWARD_8(0)
#elif defined(PM_DTYPE_u16)
#define PADDING_BACKWARD PADDING_BACKWARD_8(24), PADDING_BACKWARD_8(16), PADDING_BACKWARD_8(8), PADDING_BACKWARD_8(0)
#else
#define PADDING_BACKWARD                                                                           \
  PADDING_BACKWARD_8(56), PADDING_BACKWARD_8(48), PADDING_BACKWARD_8(40), PADDING_BACKWARD_8(32), \
      PADDING_BACKWARD_8(24), PADDING_BACKWARD_8(16), PADDING_BACKWARD_8(8), PADDING_BACKWARD_8(0)
#endif
#define PADDING_REVERSED(v) __builtin_shufflevector(v, v, PADDING_BACKWARD)

/* `to` is aligned to 64 bytes. The built-in derives this from the type, so the type must not be padding_unaligned. */
PM_DEVICE void store_past_cache(padding_vector v, PM_GLOBAL pm_element* to) {
  __builtin_nontemporal_store(v, (PM_GLOBAL padding_vector*)to);
}
#else
#define PADDING_LANES 1
#endif

/* Prefetches the cache line at `from`, which may be out of bounds. */
PM_DEVICE void fetch_ahead(PM_GLOBAL const pm_element* from) {
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__)) /* simulators have no prefetch */
  __builtin_prefetch((const void*)(pm_ulong)from, 0, 2);
#endif
}
/* Prefetch distance in elements: a page of 4 KiB. Hardware prefetchers do not cross a page boundary. */
#define PADDING_AHEAD ((pm_int)(4096 / sizeof(pm_element)))

/* Elements of the buffer of a stream: the pending vector, one before and one after it. So a whole vector can be stored
 * at any offset, even if only a part of it belongs to the pending vector. */
#define PADDING_PENDING (3 * PADDING_LANES)

typedef struct {
  PM_GLOBAL pm_element* to; /* destination of the pending vector */
  pm_element* pending;      /* the vector; PADDING_LANES elements before and after it may be overwritten */
  pm_int skipped;           /* number of its first elements that are not part of this stream */
  pm_int count;             /* number of its elements so far, with the skipped ones */
  pm_int past_cache;
} padding_stream;

/* Returns a stream that starts at `to`. `pending` is a buffer of PADDING_PENDING elements. */
PM_DEVICE padding_stream stream_at(PM_GLOBAL pm_element* to, pm_element* pending, pm_int past_cache) {
  padding_stream s;
  s.skipped = 0;
#ifdef PADDING_VECTORS
  if (past_cache) s.skipped = (pm_int)((pm_ulong)to / sizeof(pm_element)) & (PADDING_LANES - 1);
#endif
  s.to = to - s.skipped;
  s.pending = pending + PADDING_LANES;
  s.count = s.skipped;
  s.past_cache = past_cache;
  return s;
}

/* Stores the pending elements. */
PM_DEVICE void end_stream(padding_stream* s) {
  for (pm_int k = s->skipped; k < s->count; ++k) s->to[k] = s->pending[k];
}

#ifdef PADDING_VECTORS
/* Adds `count` elements, at most PADDING_LANES, which the caller has written after the pending ones. Stores the pending
 * vector if it is complete. */
PM_DEVICE void take(padding_stream* s, pm_int count) {
  s->count += count;
  if (s->count < PADDING_LANES) return;
  if (s->skipped == 0)
    store_past_cache(PADDING_LOAD_PENDING(s->pending), s->to);
  else
    for (pm_int k = s->skipped; k < PADDING_LANES; ++k) s->to[k] = s->pending[k];
  PADDING_STORE_PENDING(PADDING_LOAD_PENDING(s->pending + PADDING_LANES), s->pending);
  s->to += PADDING_LANES;
  s->skipped = 0;
  s->count -= PADDING_LANES;
}
#endif

/* Appends `count` copies of `value`. */
PM_DEVICE void append_fill(padding_stream* s, pm_element value, pm_long count) {
#ifdef PADDING_VECTORS
  if (s->past_cache) {
    const padding_vector values = (padding_vector)(value);
    const pm_long free = s->count == 0 ? 0 : PADDING_LANES - s->count;
    pm_long i = count < free ? count : free;
    PADDING_STORE_PENDING(values, s->pending + s->count);
    take(s, (pm_int)i);
    PM_GLOBAL pm_element* to = s->to;
    for (; i + PADDING_LANES <= count; i += PADDING_LANES, to += PADDING_LANES) store_past_cache(values, to);
    s->to = to;
    if (i < count) {
      PADDING_STORE_PENDING(values, s->pending);
      s->count = (pm_int)(count - i);
    }
    return;
  }
#endif
  for (pm_long i = 0; i < count; ++i) s->to[i] = value;
  s->to += count;
}

/* Appends from[0], from[step], ..., from[(count - 1) * step]. `step` is a constant, 1 or -1. */
PM_DEVICE void append_run(padding_stream* s, PM_GLOBAL const pm_element* from, const pm_int step, pm_long count) {
#ifdef PADDING_VECTORS
#define PADDING_RUN_AT(i) \
  (step > 0 ? PADDING_LOAD(from + (i)) : PADDING_REVERSED(PADDING_LOAD(from - (i) - (PADDING_LANES - 1))))
  if (s->past_cache) {
    if (count < PADDING_LANES) {
      pm_element* pending = s->pending + s->count;
      pm_int k = 0;
#if defined(PM_DTYPE_u8) || defined(PM_DTYPE_u16)
      for (; k + 16 <= count; k += 16)
        vstore16(step > 0 ? vload16(0, from + k) : vload16(0, from - k - 15).sfedcba9876543210, 0, pending + k);
#endif
      for (; k < count; ++k) pending[k] = from[step * k];
      take(s, (pm_int)count);
      return;
    }
    pm_long i = 0;
    if (s->count != 0) {
      i = PADDING_LANES - s->count;
      PADDING_STORE_PENDING(PADDING_RUN_AT(0), s->pending + s->count);
      take(s, (pm_int)i);
    }
    PM_GLOBAL pm_element* to = s->to;
    for (; i + PADDING_IN_FLIGHT * PADDING_LANES <= count; i += PADDING_IN_FLIGHT * PADDING_LANES) {
      padding_vector v[PADDING_IN_FLIGHT];
      _Pragma("unroll") for (pm_int k = 0; k < PADDING_IN_FLIGHT; ++k) {
        fetch_ahead(from + step * (i + k * PADDING_LANES + PADDING_AHEAD));
        v[k] = PADDING_RUN_AT(i + k * PADDING_LANES);
      }
      _Pragma("unroll") for (pm_int k = 0; k < PADDING_IN_FLIGHT; ++k, to += PADDING_LANES) store_past_cache(v[k], to);
    }
    for (; i + PADDING_LANES <= count; i += PADDING_LANES, to += PADDING_LANES)
      store_past_cache(PADDING_RUN_AT(i), to);
    s->to = to;
    s->count = (pm_int)(count - i);
    /* The vector at the end of the run: its last s->count elements become the first pending ones. */
    PADDING_STORE_PENDING(PADDING_RUN_AT(count - PADDING_LANES), s->pending - PADDING_LANES + s->count);
    return;
  }
#undef PADDING_RUN_AT
#endif
  PM_GLOBAL pm_element* to = s->to;
  for (pm_long i = 0; i < count; ++i) to[i] = from[step * i];
  s->to += count;
}

/* Appends from[columns[0]], ..., from[columns[count - 1]]. */
PM_DEVICE void append_gathered(padding_stream* s, PM_GLOBAL const pm_element* from,
                               PM_GLOBAL const pm_int* columns, pm_long count) {
#ifdef PADDING_VECTORS
  if (s->past_cache) {
    pm_long i = 0;
    for (; i + PADDING_LANES <= count; i += PADDING_LANES) {
      padding_vector v;
      _Pragma("unroll") for (pm_int k = 0; k < PADDING_LANES; ++k) v[k] = from[columns[i + k]];
      if (s->count == 0) {
        store_past_cache(v, s->to);
        s->to += PADDING_LANES;
      } else {
        PADDING_STORE_PENDING(v, s->pending + s->count);
        take(s, PADDING_LANES);
      }
    }
    pm_element* pending = s->pending + s->count;
    /* Fewer than PADDING_LANES elements: vector code would be slower. */
    _Pragma("clang loop vectorize(disable)") for (pm_int k = 0; k < (pm_int)(count - i); ++k) pending[k] = from[columns[i + k]];
    take(s, (pm_int)(count - i));
    return;
  }
#endif
  PM_GLOBAL pm_element* to = s->to;
  for (pm_long i = 0; i < count; ++i) to[i] = from[columns[i]];
  s->to += count;
}

/* Returns the end of the at most y_step rows of a work-item, which begin at row `first`; `first` if it has none. */
PM_DEVICE pm_long end_of_rows(pm_long first, pm_long y_step, pm_long rows) {
  if (first >= rows) return first;
  return first + y_step < rows ? first + y_step : rows;
}
