/* Padding of a stack (n, ny, nx) to (n, out_ny, out_nx), in peakmark's kernel language.
 *
 * Elements are moved and never computed with, so the host compiles this for the unsigned integer of an
 * element's size: no bit of a NaN changes and no device needs f64.
 *
 * Every kernel comes in two grains with the same arguments. `_rows`, for CPUs: a work-item owns a row
 * (gather_vectors: y_step rows) and moves it in runs, past the caches where `past_cache` says so.
 * `_elements`, for GPUs: a work-item owns 16 bytes of a row, as they are aligned in the output, works out once
 * where they come from, and takes rows y, y + y_step, ... of slices z, z + z_step, ..., since CUDA ends at
 * 65,535 groups in y and z. The host chooses y_step so that those rows are aligned alike.
 */

/* ---- Coordinates ---- */

PM_DEVICE pm_long clamped(pm_long i, pm_long extent) {
  if (i < 0) return 0;
  return i < extent ? i : extent - 1;
}

/* Where i falls in a period that starts at 0. One period to either side is the common case and needs no
 * division, which costs a GPU more than the load it feeds. */
PM_DEVICE pm_long phase_of(pm_long i, pm_long period) {
  if (i < 0) i += period;
  if (i >= period) i -= period;
  if (i < 0 || i >= period) {
    i %= period;
    if (i < 0) i += period;
  }
  return i;
}

/* Reflect, symmetric and wrap are one: an image that runs forward, then (unless it wraps) backward from
 * `top`. */
PM_DEVICE pm_long periodic(pm_long i, pm_long extent, pm_long period, pm_long top) {
  const pm_long phase = phase_of(i, period);
  return phase < extent ? phase : top - phase;
}

/* ---- Runs of a row ---- */

#if defined(__clang__) && !defined(__CUDACC__)
/* Where an output is larger than the caches (`past_cache`), whole vectors are stored past them: a cached
 * store would first read what it overwrites. The built-in is clang's, on which the CPU implementations of
 * OpenCL rest. */
#define PADDING_VECTORS 1
#if defined(PM_DTYPE_u64)
#define PADDING_LANES 8
typedef ulong8 padding_vector;
#define PADDING_REVERSED(v) (v).s76543210
#define PADDING_LOAD(p) vload8(0, p)
#else
#define PADDING_LANES 16
#if defined(PM_DTYPE_u8)
typedef uchar16 padding_vector;
#elif defined(PM_DTYPE_u16)
typedef ushort16 padding_vector;
#else
typedef uint16 padding_vector;
#endif
#define PADDING_REVERSED(v) (v).sfedcba9876543210
#define PADDING_LOAD(p) vload16(0, p)
#endif
#define PADDING_STORE_PAST_CACHE(v, p) __builtin_nontemporal_store(v, (PM_GLOBAL padding_vector*)(p))

/* Elements before the next place where a vector may be stored. */
PM_DEVICE pm_long head_of(PM_GLOBAL const pm_element* out, pm_long count) {
  const pm_long misplaced = (pm_long)(((pm_ulong)out / sizeof(pm_element)) & (PADDING_LANES - 1));
  const pm_long head = misplaced == 0 ? 0 : PADDING_LANES - misplaced;
  return head < count ? head : count;
}
#endif

PM_DEVICE void fill_run(PM_GLOBAL pm_element* out, pm_element value, pm_long count, pm_int past_cache) {
  pm_long i = 0;
#ifdef PADDING_VECTORS
  if (past_cache) {
    const padding_vector values = (padding_vector)(value);
    for (const pm_long head = head_of(out, count); i < head; ++i) out[i] = value;
    for (; i + PADDING_LANES <= count; i += PADDING_LANES) PADDING_STORE_PAST_CACHE(values, out + i);
  }
#endif
  for (; i < count; ++i) out[i] = value;
}

PM_DEVICE void copy_run(PM_GLOBAL pm_element* PM_RESTRICT out, PM_GLOBAL const pm_element* PM_RESTRICT in,
                        pm_long count, pm_int past_cache) {
  pm_long i = 0;
#ifdef PADDING_VECTORS
  if (past_cache) {
    for (const pm_long head = head_of(out, count); i < head; ++i) out[i] = in[i];
    for (; i + PADDING_LANES <= count; i += PADDING_LANES)
      PADDING_STORE_PAST_CACHE(PADDING_LOAD(in + i), out + i);
  }
#endif
  for (; i < count; ++i) out[i] = in[i];
}

/* out[i] = in[-i] */
PM_DEVICE void reverse_run(PM_GLOBAL pm_element* PM_RESTRICT out, PM_GLOBAL const pm_element* PM_RESTRICT in,
                           pm_long count, pm_int past_cache) {
  pm_long i = 0;
#ifdef PADDING_VECTORS
  if (past_cache) {
    for (const pm_long head = head_of(out, count); i < head; ++i) out[i] = in[-i];
    for (; i + PADDING_LANES <= count; i += PADDING_LANES) {
      const padding_vector backward = PADDING_LOAD(in - i - (PADDING_LANES - 1));
      PADDING_STORE_PAST_CACHE(PADDING_REVERSED(backward), out + i);
    }
  }
#endif
  for (; i < count; ++i) out[i] = in[-i];
}

/* ---- Vectors of a row, for GPUs ---- */

/* Elements of a vector of 16 bytes. */
#define PADDING_LANES_GPU ((pm_int)(16 / sizeof(pm_element)))

/* How the lanes of a vector follow each other in the source. */
typedef struct {
  pm_long first; /* source of the first lane, in elements from the start of the source row */
  pm_int step;   /* 1, 0 or -1 from a lane to the next; PADDING_MIXED: lane by lane */
} padding_lanes;
#define PADDING_MIXED 2

/* Lanes one by one are those of vectors at borders: unrolled whole they would take registers from all others. */
#define PADDING_LANE_BY_LANE _Pragma("unroll 2")
#define PADDING_ROW_BY_ROW _Pragma("unroll 1")

PM_DEVICE padding_lanes lanes_from(pm_long first, pm_int step) {
  padding_lanes lanes;
  lanes.first = first;
  lanes.step = step;
  return lanes;
}

/* The column at which a vector starts, the row's being at `row`: below 0 for the first, where the row is not
 * aligned. */
PM_DEVICE pm_long vector_column(PM_GLOBAL const pm_element* row, pm_long vector) {
  return vector * PADDING_LANES_GPU - (pm_long)(((pm_ulong)row & 15) / sizeof(pm_element));
}

#if defined(PM_DTYPE_u8) || defined(PM_DTYPE_u16)
#define PADDING_WORD_LANES ((pm_int)(4 / sizeof(pm_element)))
#else
#define PADDING_WORD_LANES 1
#endif

/* A vector as it was loaded: words that are still to be shifted by `bits` where it was not aligned. Loads and
 * shifts are apart, so that the loads of two rows are in flight together. */
typedef struct {
  pm_uint4 words;
  pm_uint last;
  pm_uint bits;
} padding_words;

/* Loads the vector at `from`, aligned or not. Reads whole words, so up to PADDING_WORD_LANES - 1 elements past it. */
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

/* The elements of a word, the last first. */
PM_DEVICE pm_uint turned(pm_uint w) {
#if defined(PM_DTYPE_u8)
  return (w >> 24) | ((w >> 8) & 0xff00u) | ((w << 8) & 0xff0000u) | (w << 24);
#elif defined(PM_DTYPE_u16) && defined(__CUDACC__)
  return (w >> 16) | (w << 16);
#elif defined(PM_DTYPE_u16)
  return rotate(w, 16u); /* a compiler makes of shifts what oclgrind does not simulate */
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

/* Whether the lanes are a run whose words all end before `end`. */
PM_DEVICE pm_int is_vector(padding_lanes lanes, PM_GLOBAL const pm_element* row, PM_GLOBAL const pm_element* end) {
  if (lanes.step == PADDING_MIXED) return 0;
  return PADDING_WORD_LANES == 1 ||
         row + lanes.first + (PADDING_LANES_GPU + PADDING_WORD_LANES - 1) <= end;
}

/* The words of a run. */
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

/* Moves a run of two rows, or of one where `to` and `to_next` are the same: both load before one is stored. */
PM_DEVICE void move_runs(PM_GLOBAL pm_element* to, PM_GLOBAL pm_element* to_next, padding_lanes lanes,
                         PM_GLOBAL const pm_element* from, PM_GLOBAL const pm_element* from_next) {
  const padding_words w = run_words(lanes, from);
  const padding_words w_next = run_words(lanes, from_next);
  store_vector(to, run_vector(lanes, w));
  store_vector(to_next, run_vector(lanes, w_next));
}

/* ---- computed: no coordinates in memory ---- */

PM_CPU_ONLY(pad_constant_rows)
PM_KERNEL(pad_constant_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_ulong y0, pm_ulong y1, pm_ulong x0, pm_ulong x1) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long y = row - slice * out_ny - pad_y0;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  fill_run(to, (pm_element)x0, pad_x0, past_cache);
  to += pad_x0;
  if (y < 0)
    fill_run(to, (pm_element)y0, nx, past_cache);
  else if (y >= ny)
    fill_run(to, (pm_element)y1, nx, past_cache);
  else
    copy_run(to, in + (slice * ny + y) * nx, nx, past_cache);
  fill_run(to + nx, (pm_element)x1, out_nx - pad_x0 - nx, past_cache);
}

PM_CPU_ONLY(pad_edge_rows)
PM_KERNEL(pad_edge_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long y = clamped(row - slice * out_ny - pad_y0, ny);
  PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  fill_run(to, from[0], pad_x0, past_cache);
  copy_run(to + pad_x0, from, nx, past_cache);
  fill_run(to + pad_x0 + nx, from[nx - 1], out_nx - pad_x0 - nx, past_cache);
}

PM_CPU_ONLY(pad_periodic_rows)
PM_KERNEL(pad_periodic_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_long period_y, pm_long top_y, pm_long period_x, pm_long top_x) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long y = periodic(row - slice * out_ny - pad_y0, ny, period_y, top_y);
  PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  pm_long phase = phase_of(-pad_x0, period_x);
  pm_long left = out_nx;
  while (left > 0) {
    const pm_long end = phase < nx ? nx : period_x;
    const pm_long run = end - phase < left ? end - phase : left;
    if (phase < nx)
      copy_run(to, from + phase, run, past_cache);
    else
      reverse_run(to, from + (top_x - phase), run, past_cache);
    to += run;
    left -= run;
    phase = end < period_x ? end : 0;
  }
}

/* Lanes of columns c, c + 1, ... that are all in [0, width). */
PM_DEVICE pm_int all_within(pm_long c, pm_long width) { return c >= 0 && c + PADDING_LANES_GPU <= width; }

PM_REGISTERS(pad_constant_elements, 48)
PM_KERNEL(pad_constant_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_ulong y0, pm_ulong y1, pm_ulong x0, pm_ulong x1) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    const pm_long x = c - pad_x0;
    const pm_int is_whole = all_within(c, out_nx);
    const pm_int is_border = is_whole && (x + PADDING_LANES_GPU <= 0 || x >= nx);
    const padding_lanes lanes = lanes_from(x, is_whole && all_within(x, nx) ? 1 : PADDING_MIXED);
    const pm_element side = (pm_element)(x < 0 ? x0 : x1);
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step, to += y_step * out_nx) {
      const pm_long y = row - pad_y0;
      const pm_int is_inside = y >= 0 && y < ny;
      const pm_element above = (pm_element)(y < 0 ? y0 : y1);
      PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
      if (is_border || (!is_inside && lanes.step == 1)) {
        store_vector(to + c, splat(is_border ? side : above));
      } else if (is_vector(lanes, from, in_end)) {
        store_vector(to + c, vector_of(words_at(from + x)));
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          to[c + k] = x + k < 0     ? (pm_element)x0
                      : x + k >= nx ? (pm_element)x1
                      : is_inside   ? from[x + k]
                                    : above;
        }
      }
    }
  }
}

PM_REGISTERS(pad_edge_elements, 48)
PM_KERNEL(pad_edge_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    const pm_long x = c - pad_x0;
    PM_GLOBAL const pm_element* image = in + slice * ny * nx;
    padding_lanes lanes = lanes_from(clamped(x, nx), PADDING_MIXED);
    if (all_within(c, out_nx)) {
      if (all_within(x, nx))
        lanes.step = 1;
      else if (x + PADDING_LANES_GPU <= 1 || x >= nx - 1)
        lanes.step = 0;
    }
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += 2 * y_step, to += 2 * y_step * out_nx) {
      const pm_int has_next = row + y_step < out_ny;
      PM_GLOBAL pm_element* to_next = has_next ? to + y_step * out_nx : to;
      PM_GLOBAL const pm_element* from = image + clamped(row - pad_y0, ny) * nx;
      PM_GLOBAL const pm_element* from_next = has_next ? image + clamped(row + y_step - pad_y0, ny) * nx : from;
      if (is_vector(lanes, from, in_end) && is_vector(lanes, from_next, in_end)) {
        move_runs(to + c, to_next + c, lanes, from, from_next);
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          const pm_element value = from[clamped(x + k, nx)], value_next = from_next[clamped(x + k, nx)];
          to[c + k] = value;
          to_next[c + k] = value_next;
        }
      }
    }
  }
}

PM_DEVICE pm_long next_phase(pm_long phase, pm_long step, pm_long period) {
  return phase + step < period ? phase + step : phase + step - period;
}

PM_REGISTERS(pad_periodic_elements, 56)
PM_KERNEL(pad_periodic_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_long period_y, pm_long top_y, pm_long period_x, pm_long top_x) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  const pm_long first_phase_y = phase_of(pm_global_y() - pad_y0, period_y);
  const pm_long phase_step = phase_of(y_step, period_y);
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    PM_GLOBAL const pm_element* image = in + slice * ny * nx;
    const pm_long phase = phase_of(c - pad_x0, period_x);
    padding_lanes lanes = lanes_from(phase < nx ? phase : top_x - phase, PADDING_MIXED);
    if (all_within(c, out_nx)) {
      if (phase + PADDING_LANES_GPU <= nx)
        lanes.step = 1;
      else if (phase >= nx && phase + PADDING_LANES_GPU <= period_x)
        lanes.step = -1;
    }
    pm_long phase_y = first_phase_y;
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += 2 * y_step, to += 2 * y_step * out_nx) {
      const pm_int has_next = row + y_step < out_ny;
      PM_GLOBAL pm_element* to_next = has_next ? to + y_step * out_nx : to;
      PM_GLOBAL const pm_element* from = image + (phase_y < ny ? phase_y : top_y - phase_y) * nx;
      phase_y = next_phase(phase_y, phase_step, period_y);
      PM_GLOBAL const pm_element* from_next = has_next ? image + (phase_y < ny ? phase_y : top_y - phase_y) * nx : from;
      phase_y = next_phase(phase_y, phase_step, period_y);
      if (is_vector(lanes, from, in_end) && is_vector(lanes, from_next, in_end)) {
        move_runs(to + c, to_next + c, lanes, from, from_next);
      } else {
        pm_long p = phase;
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k >= 0 && c + k < out_nx) {
            const pm_long source = p < nx ? p : top_x - p;
            const pm_element value = from[source], value_next = from_next[source];
            to[c + k] = value;
            to_next[c + k] = value_next;
          }
          if (++p == period_x) p = 0;
        }
      }
    }
  }
}

/* ---- coords1d: a source row for each row, a source column for each column ---- */

/* How many columns follow the first in equal steps. Stretches are compared whole, so that it is vectorised.
 */
#define PADDING_STRETCH 64
PM_DEVICE pm_long run_of(PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_int step, pm_long count) {
  const pm_int first = columns[0];
  pm_long run = 0;
  for (pm_int differing = 0; run + PADDING_STRETCH <= count; run += PADDING_STRETCH) {
    const pm_int expected = first + (pm_int)run * step;
    for (pm_int k = 0; k < PADDING_STRETCH; ++k) differing |= columns[run + k] ^ (expected + k * step);
    if (differing) break;
  }
  while (run < count && columns[run] == first + (pm_int)run * step) ++run;
  return run;
}

/* A work-item owns `y_step` rows. Columns of a padding are mostly neighbours, upward, downward or one and the
 * same: such runs are looked for once for all of its rows and moved as runs. */
PM_CPU_ONLY(gather_vectors_rows)
PM_KERNEL(gather_vectors_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = first_row + y_step < n * out_ny ? first_row + y_step : n * out_ny;
  for (pm_long x = 0; x < out_nx;) {
    const pm_long left = out_nx - x;
    const pm_int first = columns[x];
    const pm_int step = left > 1 ? columns[x + 1] - first : 0;
    pm_long run = step < -1 || step > 1 ? 1 : run_of(columns + x, step, left);
    const pm_int is_run = run >= 16;
    if (!is_run) run = left < PADDING_STRETCH ? left : PADDING_STRETCH;
    for (pm_long row = first_row; row < end_row; ++row) {
      const pm_long slice = row / out_ny;
      PM_GLOBAL const pm_element* from = in + (slice * ny + rows[row - slice * out_ny]) * nx;
      PM_GLOBAL pm_element* to = out + row * out_nx + x;
      if (!is_run)
        for (pm_long k = 0; k < run; ++k) to[k] = from[columns[x + k]];
      else if (step == 1)
        copy_run(to, from + first, run, past_cache);
      else if (step == 0)
        fill_run(to, from[first], run, past_cache);
      else
        reverse_run(to, from + first, run, past_cache);
    }
    x += run;
  }
}

/* The sources of the lanes, where they are a run. */
PM_DEVICE padding_lanes lanes_of_columns(PM_GLOBAL const pm_int* PM_RESTRICT columns) {
  const pm_int first = columns[0];
  const pm_int step = columns[1] - first;
  pm_int differing = step < -1 || step > 1;
  for (pm_int k = 2; k < PADDING_LANES_GPU; ++k) differing |= columns[k] ^ (first + k * step);
  return lanes_from(first, differing ? PADDING_MIXED : step);
}

PM_REGISTERS(gather_vectors_elements, 56)
PM_KERNEL(gather_vectors_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    PM_GLOBAL const pm_element* image = in + slice * ny * nx;
    padding_lanes lanes = lanes_from(0, PADDING_MIXED);
    if (all_within(c, out_nx)) lanes = lanes_of_columns(columns + c);
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += 2 * y_step, to += 2 * y_step * out_nx) {
      const pm_int has_next = row + y_step < out_ny;
      PM_GLOBAL pm_element* to_next = has_next ? to + y_step * out_nx : to;
      PM_GLOBAL const pm_element* from = image + rows[row] * nx;
      PM_GLOBAL const pm_element* from_next = has_next ? image + rows[row + y_step] * nx : from;
      if (is_vector(lanes, from, in_end) && is_vector(lanes, from_next, in_end)) {
        move_runs(to + c, to_next + c, lanes, from, from_next);
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          const pm_element value = from[columns[c + k]], value_next = from_next[columns[c + k]];
          to[c + k] = value;
          to_next[c + k] = value_next;
        }
      }
    }
  }
}

/* ---- coords2d: a source row and a source column for each element of a padded image ---- */

PM_CPU_ONLY(gather_images_rows)
PM_KERNEL(gather_images_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long image_row = (row - slice * out_ny) * out_nx;
  PM_GLOBAL const pm_element* from = in + slice * ny * nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  for (pm_long i = 0; i < out_nx; ++i) to[i] = from[rows[image_row + i] * nx + columns[image_row + i]];
}

/* Elements of a work-item that reads coordinates of each. */
#define PADDING_GATHERED (PADDING_LANES_GPU < 4 ? PADDING_LANES_GPU : 4)
/* Slices that are read before the first of them is stored. */
#define PADDING_SLICES 2

PM_DEVICE void store_gathered(PM_GLOBAL pm_element* to, const pm_element* values, pm_int count) {
#if defined(PM_DTYPE_u8)
  if (count == 4 && ((pm_ulong)to & 3) == 0) {
    *(PM_GLOBAL pm_uint*)to = values[0] | (pm_uint)values[1] << 8 | (pm_uint)values[2] << 16 | (pm_uint)values[3] << 24;
    return;
  }
#elif defined(PM_DTYPE_u16)
  if (count == 4 && ((pm_ulong)to & 7) == 0) {
    *(PM_GLOBAL pm_ulong*)to = (values[0] | (pm_uint)values[1] << 16) | (pm_ulong)(values[2] | (pm_uint)values[3] << 16) << 32;
    return;
  }
#elif defined(PM_DTYPE_u32)
  if (count == 4 && ((pm_ulong)to & 15) == 0) {
    pm_uint4 v;
    v.x = values[0];
    v.y = values[1];
    v.z = values[2];
    v.w = values[3];
    store_vector(to, v);
    return;
  }
#else
  if (count == 2 && ((pm_ulong)to & 15) == 0) {
    pm_uint4 v;
    v.x = (pm_uint)values[0];
    v.y = (pm_uint)(values[0] >> 32);
    v.z = (pm_uint)values[1];
    v.w = (pm_uint)(values[1] >> 32);
    store_vector(to, v);
    return;
  }
#endif
  for (pm_int k = 0; k < PADDING_GATHERED; ++k)
    if (k < count) to[k] = values[k];
}

/* A work-item owns four neighbours of the padded image (u64: two), whatever rows they are of, reads their
 * coordinates once and takes slices z, z + z_step, ... */
PM_REGISTERS(gather_images_elements, 40)
PM_KERNEL(gather_images_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long image = out_ny * out_nx;
  const pm_long i = pm_global_x() * PADDING_GATHERED;
  if (i >= image || pm_global_z() >= z_step) return;
  const pm_int count = i + PADDING_GATHERED <= image ? PADDING_GATHERED : (pm_int)(image - i);
  pm_long sources[PADDING_GATHERED];
  for (pm_int k = 0; k < PADDING_GATHERED; ++k)
    sources[k] = k < count ? (pm_long)rows[i + k] * nx + columns[i + k] : 0;
  for (pm_long slice = pm_global_z(); slice < n; slice += PADDING_SLICES * z_step) {
    pm_element values[PADDING_SLICES][PADDING_GATHERED];
    for (pm_int s = 0; s < PADDING_SLICES; ++s)
      for (pm_int k = 0; k < PADDING_GATHERED; ++k)
        values[s][k] = slice + s * z_step < n ? in[(slice + s * z_step) * ny * nx + sources[k]] : 0;
    for (pm_int s = 0; s < PADDING_SLICES; ++s)
      if (slice + s * z_step < n) store_gathered(out + (slice + s * z_step) * image + i, values[s], count);
  }
}

/* ---- The constant mode of coords1d: images within the border that a padded template has ---- */

PM_CPU_ONLY(frame_rows)
PM_KERNEL(frame_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL const pm_element* PM_RESTRICT padded,
 PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny, pm_long nx, pm_long out_ny, pm_long out_nx,
 pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long padded_row = row - slice * out_ny;
  const pm_long y = padded_row - pad_y0;
  PM_GLOBAL const pm_element* border = padded + padded_row * out_nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  if (y < 0 || y >= ny) {
    copy_run(to, border, out_nx, past_cache);
    return;
  }
  const pm_long end = pad_x0 + nx;
  copy_run(to, border, pad_x0, past_cache);
  copy_run(to + pad_x0, in + (slice * ny + y) * nx, nx, past_cache);
  copy_run(to + end, border + end, out_nx - end, past_cache);
}

PM_REGISTERS(frame_elements, 48)
PM_KERNEL(frame_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL const pm_element* PM_RESTRICT padded,
 PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny, pm_long nx, pm_long out_ny, pm_long out_nx,
 pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step, pm_int past_cache) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    const pm_long x = c - pad_x0;
    const pm_int is_whole = all_within(c, out_nx);
    const pm_int is_border = is_whole && (x + PADDING_LANES_GPU <= 0 || x >= nx);
    const pm_int is_centre = is_whole && all_within(x, nx);
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step, to += y_step * out_nx) {
      const pm_long y = row - pad_y0;
      const pm_int is_inside = y >= 0 && y < ny;
      PM_GLOBAL const pm_element* image_row = in + (slice * ny + y) * nx - pad_x0;
      PM_GLOBAL const pm_element* border_row = padded + row * out_nx;
      const pm_int from_image = is_centre && is_inside;
      PM_GLOBAL const pm_element* from = from_image ? image_row : border_row;
      PM_GLOBAL const pm_element* end = from_image ? in + n * ny * nx : padded + out_ny * out_nx;
      const pm_int is_run = is_border || (is_whole && !is_inside) || from_image;
      if (is_vector(lanes_from(c, is_run ? 1 : PADDING_MIXED), from, end)) {
        store_vector(to + c, vector_of(words_at(from + c)));
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          to[c + k] = is_inside && x + k >= 0 && x + k < nx ? image_row[c + k] : border_row[c + k];
        }
      }
    }
  }
}

/* ---- The constant mode of coords2d: an image into the centre of a padded template ---- */

PM_CPU_ONLY(embed_rows)
PM_KERNEL(embed_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT padded, pm_long slice,
 pm_long ny, pm_long nx, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long y = pm_global_x();
  if (y >= ny) return;
  copy_run(padded + (pad_y0 + y) * out_nx + pad_x0, in + (slice * ny + y) * nx, nx, past_cache);
}

PM_REGISTERS(embed_elements, 32)
PM_KERNEL(embed_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT padded, pm_long slice,
 pm_long ny, pm_long nx, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  if (pm_global_y() >= y_step) return;
  PM_GLOBAL pm_element* to = padded + (pad_y0 + pm_global_y()) * out_nx + pad_x0;
  PM_GLOBAL const pm_element* from = in + (slice * ny + pm_global_y()) * nx;
  PM_GLOBAL const pm_element* slice_end = in + (slice + 1) * ny * nx;
  const pm_long x = vector_column(to, pm_global_x());
  if (x >= nx) return;
  const padding_lanes lanes = lanes_from(x, all_within(x, nx) ? 1 : PADDING_MIXED);
  PADDING_ROW_BY_ROW
  for (pm_long y = pm_global_y(); y < ny; y += y_step, to += y_step * out_nx, from += y_step * nx) {
    if (is_vector(lanes, from, slice_end)) {
      store_vector(to + x, vector_of(words_at(from + x)));
    } else {
      PADDING_LANE_BY_LANE
      for (pm_int k = 0; k < PADDING_LANES_GPU; ++k)
        if (x + k >= 0 && x + k < nx) to[x + k] = from[x + k];
    }
  }
}

/* A device copy of the template, for devices on which a copy command is slower than a kernel. */
PM_CPU_ONLY(copy_image_rows)
PM_KERNEL(copy_image_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT padded, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long slice,
 pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long y = pm_global_x();
  if (y >= out_ny) return;
  copy_run(out + (slice * out_ny + y) * out_nx, padded + y * out_nx, out_nx, past_cache);
}
