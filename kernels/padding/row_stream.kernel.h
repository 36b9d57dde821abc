/* Rows as streams, for CPUs: a work-item stores its rows from their first element to their last.
 *
 * Where the output is larger than the caches (`past_cache`), it is stored in whole vectors of 64 bytes past them: a
 * cached store would first read what it overwrites. Elements of a vector that has several sources, or two rows, are
 * `pending` in private memory until it is whole. Only an item's first and last vectors are stored element by element,
 * since its neighbours own a part of them.
 *
 * No parameter of these functions is `restrict`: oclgrind does not simulate what clang makes of that in a loop.
 */

#if defined(__clang__) && !defined(__CUDACC__)
/* The built-ins are clang's, on which the CPU implementations of OpenCL rest. */
#define PADDING_VECTORS 1
#define PADDING_LANES ((pm_int)(64 / sizeof(pm_element)))
typedef pm_element padding_vector __attribute__((ext_vector_type(64 / sizeof(pm_element))));
typedef padding_vector padding_unaligned __attribute__((aligned(sizeof(pm_element))));
#define PADDING_LOAD(p) (*(PM_GLOBAL const padding_unaligned*)(p))
#define PADDING_LOAD_PENDING(p) (*(const padding_unaligned*)(p))
#define PADDING_STORE_PENDING(v, p) (*(padding_unaligned*)(p) = (v))
/* Vectors that are loaded before the first of them is stored. */
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

/* The built-in takes the alignment from the type of the value, which is therefore the aligned one. */
PM_DEVICE void store_past_cache(padding_vector v, PM_GLOBAL pm_element* to) {
  __builtin_nontemporal_store(v, (PM_GLOBAL padding_vector*)to);
}
#else
#define PADDING_LANES 1
#endif

/* Fetches the line of the cache at `from`, which may be any address. */
PM_DEVICE void fetch_ahead(PM_GLOBAL const pm_element* from) {
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__)) /* a simulator has no such instruction */
  __builtin_prefetch((const void*)(pm_ulong)from, 0, 2);
#endif
}
/* A run fetches this many elements ahead, a page: within a page a processor fetches ahead by itself. */
#define PADDING_AHEAD ((pm_int)(4096 / sizeof(pm_element)))

/* A vector before and one after the pending one, so that whole vectors are put where their elements belong. */
#define PADDING_PENDING (3 * PADDING_LANES)

typedef struct {
  PM_GLOBAL pm_element* to; /* where the pending vector will be stored */
  pm_element* pending;      /* the vector; PADDING_LANES elements before and after it are free */
  pm_int skipped;           /* its first elements, which the item before stores */
  pm_int count;             /* its elements so far, the skipped ones included */
  pm_int past_cache;
} padding_stream;

/* Starts a stream at `to`. `pending` has PADDING_PENDING elements. */
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

/* Stores the rest of a stream. */
PM_DEVICE void end_stream(padding_stream* s) {
  for (pm_int k = s->skipped; k < s->count; ++k) s->to[k] = s->pending[k];
}

#ifdef PADDING_VECTORS
/* Takes `count` elements, at most PADDING_LANES, that have been put behind the pending ones. */
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

/* Appends `count` times `value`. */
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

/* Appends from[0], from[step], from[2 step], ...; `step`, a constant, is 1 or -1. */
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
    /* The last vector of the run, of which the elements that are left get to the start of `pending`. */
    PADDING_STORE_PENDING(PADDING_RUN_AT(count - PADDING_LANES), s->pending - PADDING_LANES + s->count);
    return;
  }
#undef PADDING_RUN_AT
#endif
  PM_GLOBAL pm_element* to = s->to;
  for (pm_long i = 0; i < count; ++i) to[i] = from[step * i];
  s->to += count;
}

/* Appends the elements of `from` that `columns` name. */
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
    /* Few, which vectors would only delay. */
    _Pragma("clang loop vectorize(disable)") for (pm_int k = 0; k < (pm_int)(count - i); ++k) pending[k] = from[columns[i + k]];
    take(s, (pm_int)(count - i));
    return;
  }
#endif
  PM_GLOBAL pm_element* to = s->to;
  for (pm_long i = 0; i < count; ++i) to[i] = from[columns[i]];
  s->to += count;
}

/* The end of an item's rows, of which it has y_step from `first` on: `first` where it has none. */
PM_DEVICE pm_long end_of_rows(pm_long first, pm_long y_step, pm_long rows) {
  if (first >= rows) return first;
  return first + y_step < rows ? first + y_step : rows;
}
