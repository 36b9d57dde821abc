/* Vectors of 16 bytes, for GPUs: the source elements of their lanes, unaligned loads, and stores. */

/* Elements of a vector. */
#define PADDING_LANES_GPU ((pm_int)(16 / sizeof(pm_element)))

/* The source elements of the lanes of a vector. */
typedef struct {
  pm_long first; /* source column of lane 0 */
  pm_int step;   /* 1, 0 or -1 columns from a lane to the next; PADDING_MIXED: no common step */
} padding_lanes;
#define PADDING_MIXED 2

/* Limits on unrolling, which reduce register pressure. The loop over lanes runs only for vectors without a common step,
 * most of which are at borders. */
#define PADDING_LANE_BY_LANE _Pragma("unroll 2")
#define PADDING_ROW_BY_ROW _Pragma("unroll 1")

PM_DEVICE padding_lanes lanes_from(pm_long first, pm_int step) {
  padding_lanes lanes;
  lanes.first = first;
  lanes.step = step;
  return lanes;
}

/* Returns the column at which vector number `vector` of an output row starts. It is negative for vector 0 if the row
 * is not aligned to 16 bytes. */
PM_DEVICE pm_long vector_column(PM_GLOBAL const pm_element* row, pm_long vector) {
  return vector * PADDING_LANES_GPU - (pm_long)(((pm_ulong)row & 15) / sizeof(pm_element));
}

#if defined(PM_DTYPE_u8) || defined(PM_DTYPE_u16)
#define PADDING_WORD_LANES ((pm_int)(4 / sizeof(pm_element)))
#else
#define PADDING_WORD_LANES 1
#endif

/* A vector as loaded: 32-bit words, which vector_of() shifts right by `bits`. The shift is a separate step, so that
 * the loads of two rows are in flight together. */
typedef struct {
  pm_uint4 words;
  pm_uint last; /* the fifth word, if bits is not 0 */
  pm_uint bits; /* 8 x the bytes from the first word to the vector */
} padding_words;

/* Loads the vector at `from`, which may be unaligned. Reads whole words, so up to PADDING_WORD_LANES - 1 elements
 * before and after the vector. */
PM_DEVICE padding_words words_at(PM_GLOBAL const pm_element* from) {
  const pm_uint misplaced = (pm_uint)(pm_ulong)from & 15;
  padding_words w;
  w.last = 0;
  w.bits = 8 * (misplaced & 3);
  if (misplaced == 0) {
    w.words = *(PM_GLOBAL const pm_uint4*)from;
  } else {
#if defined(PM_DTYPE_u64)
    const pm_ulong low = from[0], high = from[1];
    w.words.x = (pm_uint)low;
    w.words.y = (pm_uint)(low >> 32);
    w.words.z = (pm_uint)high;
    w.words.w = (pm_uint)(high >> 32);
#else
    PM_GLOBAL const pm_uint* at = (PM_GLOBAL const pm_uint*)(from - (misplaced & 3) / sizeof(pm_element));
    w.words.x = at[0];
    w.words.y = at[1];
    w.words.z = at[2];
    w.words.w = at[3];
#if defined(PM_DTYPE_u8) || defined(PM_DTYPE_u16)
    if (w.bits != 0) w.last = at[4];
#endif
#endif
  }
  return w;
}

PM_DEVICE pm_uint4 vector_of(padding_words w) {
#if defined(PM_DTYPE_u8) || defined(PM_DTYPE_u16)
  pm_uint4 v;
  v.x = (pm_uint)((((pm_ulong)w.words.y << 32) | w.words.x) >> w.bits);
  v.y = (pm_uint)((((pm_ulong)w.words.z << 32) | w.words.y) >> w.bits);
  v.z = (pm_uint)((((pm_ulong)w.words.w << 32) | w.words.z) >> w.bits);
  v.w = (pm_uint)((((pm_ulong)w.last << 32) | w.words.w) >> w.bits);
  return v;
#else
  return w.words;
#endif
}

PM_DEVICE pm_uint4 splat(pm_element value) {
  pm_uint4 v;
#if defined(PM_DTYPE_u64)
  v.x = v.z = (pm_uint)value;
  v.y = v.w = (pm_uint)(value >> 32);
#elif defined(PM_DTYPE_u32)
  v.x = v.y = v.z = v.w = value;
#elif defined(PM_DTYPE_u16)
  v.x = v.y = v.z = v.w = value * 0x10001u;
#else
  v.x = v.y = v.z = v.w = value * 0x1010101u;
#endif
  return v;
}

/* Reverses the elements of a word. */
PM_DEVICE pm_uint turned(pm_uint w) {
#if defined(PM_DTYPE_u8)
  return (w >> 24) | ((w >> 8) & 0xff00u) | ((w << 8) & 0xff0000u) | (w << 24);
#elif defined(PM_DTYPE_u16) && defined(__CUDACC__)
  return (w >> 16) | (w << 16);
#elif defined(PM_DTYPE_u16)
  return rotate(w, 16u); /* oclgrind does not simulate the code of the shifts */
#else
  return w;
#endif
}

PM_DEVICE pm_uint4 reversed(pm_uint4 v) {
  pm_uint4 r;
#if defined(PM_DTYPE_u64)
  r.x = v.z;
  r.y = v.w;
  r.z = v.x;
  r.w = v.y;
#else
  r.x = turned(v.w);
  r.y = turned(v.z);
  r.z = turned(v.y);
  r.w = turned(v.x);
#endif
  return r;
}

/* Returns whether the lanes have a common step, and words_at() reads no element at or after `end`. */
PM_DEVICE pm_int is_vector(padding_lanes lanes, PM_GLOBAL const pm_element* row, PM_GLOBAL const pm_element* end) {
  if (lanes.step == PADDING_MIXED) return 0;
  return PADDING_WORD_LANES == 1 ||
         row + lanes.first + (PADDING_LANES_GPU + PADDING_WORD_LANES - 1) <= end;
}

/* Loads lanes with a common step: step 1 and -1 as one vector, step 0 as one element. */
PM_DEVICE padding_words run_words(padding_lanes lanes, PM_GLOBAL const pm_element* row) {
  if (lanes.step != 0) return words_at(row + lanes.first - (lanes.step < 0 ? PADDING_LANES_GPU - 1 : 0));
  padding_words w;
  w.words = splat(row[lanes.first]);
  w.last = 0;
  w.bits = 0;
  return w;
}

PM_DEVICE pm_uint4 run_vector(padding_lanes lanes, padding_words w) {
  return lanes.step < 0 ? reversed(vector_of(w)) : vector_of(w);
}

PM_DEVICE void store_vector(PM_GLOBAL pm_element* to, pm_uint4 v) { *(PM_GLOBAL pm_uint4*)to = v; }

/* Copies lanes with a common step in two rows. Both loads are issued before the first store. For one row only,
 * `to_next` is `to` and `from_next` is `from`. */
PM_DEVICE void move_runs(PM_GLOBAL pm_element* to, PM_GLOBAL pm_element* to_next, padding_lanes lanes,
                         PM_GLOBAL const pm_element* from, PM_GLOBAL const pm_element* from_next) {
  const padding_words w = run_words(lanes, from);
  const padding_words w_next = run_words(lanes, from_next);
  store_vector(to, run_vector(lanes, w));
  store_vector(to_next, run_vector(lanes, w_next));
}
