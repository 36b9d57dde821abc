/* Parts of a tile, for CPUs: segment_of() projects a part to a line, add_to_part() adds several lines to its pixels.
 * With AVX2 or AVX-512, a part is a square whose columns are selected from registers; else they are read from memory.
 */

/* The segment of a line to which h by w pixels project, the first of which is (y, x). */
typedef struct {
  pm_long first; /* its first column; may be out of bounds */
  pm_long count; /* its columns: one more than interpolation needs, because a rounded place may reach the next */
  float place;   /* of pixel (y, x), in columns from `first` */
  float step_x;  /* columns per pixel to the right */
  float step_y;  /* columns per pixel up */
} segment_t;

PM_DEVICE segment_t segment_of(PM_GLOBAL const pm_long* view, pm_long y, pm_long x, pm_long h, pm_long w) {
  const pm_long cosine = view[0];
  const pm_long sine = view[1];
  const pm_long start = view[2] + x * cosine - y * sine;
  const pm_long along_x = (w - 1) * cosine;
  const pm_long along_y = -(h - 1) * sine;
  const pm_long least = start + (along_x < 0 ? along_x : 0) + (along_y < 0 ? along_y : 0);
  const pm_long most = start + (along_x > 0 ? along_x : 0) + (along_y > 0 ? along_y : 0);
  segment_t segment;
  segment.first = least >> FRACTION_BITS;
  segment.count = (most >> FRACTION_BITS) - segment.first + 3;
  segment.place = (float)(start - segment.first * ((pm_long)1 << FRACTION_BITS)) * UNIT;
  segment.step_x = (float)cosine * UNIT;
  segment.step_y = (float)sine * UNIT;
  return segment;
}

/* Returns column i of a line, 0 out of bounds. If slope is not 0, the value has the weight of half-acquisition,
 * 1/2 - slope * (i - axis), clamped to [0, 1]. */
PM_DEVICE float line_at(PM_GLOBAL const float* line, pm_long w, pm_long i, float axis, float slope) {
  if (i < 0 || i >= w) return 0;
  const float value = line[i];
  if (slope == 0) return value;
  const float weight = 0.5f - slope * ((float)i - axis);
  return weight <= 0 ? 0 : weight >= 1 ? value : weight * value;
}

#define TILE_H 32
#define TILE_W 64

/* Lanes of a vector for look_up(), which selects columns from two registers: 16 with AVX-512 (one instruction), 8 with
 * AVX2 (three instructions). 0 without these instructions; then columns are read from memory. A test may define it. */
#ifdef BACKPROJECTION_LANES
#define LANES BACKPROJECTION_LANES
#elif !defined(__CUDACC__) && defined(__has_builtin)
#if defined(__AVX512F__) && __has_builtin(__builtin_ia32_vpermi2varps512)
#define LANES 16
#elif defined(__AVX2__) && __has_builtin(__builtin_ia32_permvarsf256)
#define LANES 8
#endif
#endif
#ifndef LANES
#define LANES 0
#endif

#if LANES > 0

#if LANES == 16
typedef float16 lanes_t;
typedef int16 columns_t;
#define LANE_NUMBERS (lanes_t)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define LOAD_LANES(from) vload16(0, from)
#define STORE_LANES(lanes, to) vstore16(lanes, 0, to)
#define TO_COLUMNS(places) convert_int16(places)
#else
typedef float8 lanes_t;
typedef int8 columns_t;
#define LANE_NUMBERS (lanes_t)(0, 1, 2, 3, 4, 5, 6, 7)
#define LOAD_LANES(from) vload8(0, from)
#define STORE_LANES(lanes, to) vstore8(lanes, 0, to)
#define TO_COLUMNS(places) convert_int8(places)
#endif

/* Returns in lane k element i[k] of low and high, which together have elements 0 to 2 * LANES - 1. */
#if LANES == 16 && defined(__AVX512F__)
typedef float floats_t __attribute__((vector_size(64))); /* the types of the built-ins */
typedef int ints_t __attribute__((vector_size(64)));

PM_DEVICE lanes_t look_up(lanes_t low, lanes_t high, columns_t i) {
  return __builtin_astype(
      __builtin_ia32_vpermi2varps512(__builtin_astype(low, floats_t), __builtin_astype(i, ints_t),
                                     __builtin_astype(high, floats_t)),
      lanes_t);
}
#elif LANES == 8 && defined(__AVX2__)
typedef float floats_t __attribute__((vector_size(32)));
typedef int ints_t __attribute__((vector_size(32)));

PM_DEVICE lanes_t look_up(lanes_t low, lanes_t high, columns_t i) {
  const ints_t by = __builtin_astype(i, ints_t); /* the instruction uses the low 3 bits */
  const floats_t from_low = __builtin_ia32_permvarsf256(__builtin_astype(low, floats_t), by);
  const floats_t from_high = __builtin_ia32_permvarsf256(__builtin_astype(high, floats_t), by);
  return select(__builtin_astype(from_low, lanes_t), __builtin_astype(from_high, lanes_t), i << 28); /* by bit 3 of i */
}
#else /* for a test, on any device */
PM_DEVICE lanes_t look_up(lanes_t low, lanes_t high, columns_t i) {
  float from[2 * LANES], found[LANES];
  STORE_LANES(low, from);
  STORE_LANES(high, from + LANES);
  int places[LANES];
  STORE_LANES(i, places);
  for (int k = 0; k < LANES; ++k) found[k] = from[places[k]];
  return LOAD_LANES(found);
}
#endif

/* Returns the weights of columns [first, first + LANES), as in line_at(). */
PM_DEVICE lanes_t weights_from(pm_long first, float axis, float slope) {
  return clamp(0.5f - slope * ((float)first + LANE_NUMBERS - axis), 0.0f, 1.0f);
}

#define PART_H LANES
#define PART_W LANES

/* Adds `count` lines to a part of LANES by LANES pixels, the first of which is (y, x). Does not use h and v: pixels
 * outside of the slice are computed, too, but not stored.
 *
 * At any angle, the part projects to at most 1.42 * (LANES - 1) + 2 columns, which fit two registers. The sums stay in
 * registers for all lines. With d[i] = f[i + 1] - f[i] and i = floor(t), the value at t is
 *     (f[i] - i * d[i]) + t * d[i]
 * The first term is one table entry, and the fraction of t is not needed. */
PM_DEVICE void add_to_part(float* sums, PM_GLOBAL const float* line, PM_GLOBAL const pm_long* view, int count, pm_long w,
                           pm_long y, pm_long x, int h, int v, float slope) {
  const lanes_t number = LANE_NUMBERS;
  lanes_t few[LANES]; /* sums over `count` lines; their rounding errors are smaller than those of one long sum */
#pragma unroll
  for (int r = 0; r < LANES; ++r) few[r] = 0;
  for (int a = 0; a < count; ++a, line += w, view += 4) {
    const segment_t segment = segment_of(view, y, x, LANES, LANES);
    const pm_long first = segment.first;
    if (first >= w || first + 2 * LANES <= 0) continue;
    lanes_t low, high, low_next, high_next;
    if (first >= 0 && first + 2 * LANES < w) {
      low = LOAD_LANES(line + first);
      high = LOAD_LANES(line + first + LANES);
      low_next = LOAD_LANES(line + first + 1);
      high_next = LOAD_LANES(line + first + LANES + 1);
      if (slope != 0) {
        const float axis = (float)view[3] * UNIT;
        low *= weights_from(first, axis, slope);
        high *= weights_from(first + LANES, axis, slope);
        low_next *= weights_from(first + 1, axis, slope);
        high_next *= weights_from(first + LANES + 1, axis, slope);
      }
    } else {
      const float axis = (float)view[3] * UNIT;
      float from[2 * LANES + 1];
      for (int i = 0; i <= 2 * LANES; ++i) from[i] = line_at(line, w, first + i, axis, slope);
      low = LOAD_LANES(from);
      high = LOAD_LANES(from + LANES);
      low_next = LOAD_LANES(from + 1);
      high_next = LOAD_LANES(from + LANES + 1);
    }
    const lanes_t low_step = low_next - low;
    const lanes_t high_step = high_next - high;
    low -= number * low_step;
    high -= (number + (float)LANES) * high_step;
    const lanes_t step_y = segment.step_y;
    const lanes_t bottom = segment.place + number * segment.step_x;
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
      const lanes_t t = bottom - (float)r * step_y;
      const columns_t i = TO_COLUMNS(t);
      few[r] += look_up(low, high, i);
      few[r] += t * look_up(low_step, high_step, i);
    }
  }
#pragma unroll
  for (int r = 0; r < LANES; ++r) {
    float* row = sums + r * TILE_W;
    STORE_LANES(LOAD_LANES(row) + few[r], row);
  }
}

#else

/* Few rows: in a short segment places are small, so floats resolve them more finely. */
#define PART_H 8
#define PART_W TILE_W
#define LONGEST_STRETCH (PART_H + PART_W + 4)

/* Adds `count` lines to a part of h by v pixels, the first of which is (y, x). */
PM_DEVICE void add_to_part(float* sums, PM_GLOBAL const float* line, PM_GLOBAL const pm_long* view, int count, pm_long w,
                           pm_long y, pm_long x, int h, int v, float slope) {
  float few[PART_H][PART_W]; /* as above */
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < v; ++c) few[r][c] = 0;
  for (int a = 0; a < count; ++a, line += w, view += 4) {
    const segment_t segment = segment_of(view, y, x, h, v);
    if (segment.first >= w || segment.first + segment.count <= 0) continue;
    const int columns = (int)segment.count;
    float from[LONGEST_STRETCH];
    if (slope == 0 && segment.first >= 0 && segment.first + columns <= w) {
      for (int i = 0; i < columns; ++i) from[i] = line[segment.first + i];
    } else {
      const float axis = (float)view[3] * UNIT;
      for (int i = 0; i < columns; ++i) from[i] = line_at(line, w, segment.first + i, axis, slope);
    }
    for (int r = 0; r < h; ++r) {
      const float place = segment.place - (float)r * segment.step_y;
      for (int c = 0; c < v; ++c) {
        const float t = place + (float)c * segment.step_x;
        const int i = (int)t;
        few[r][c] += from[i] + (t - (float)i) * (from[i + 1] - from[i]);
      }
    }
  }
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < v; ++c) sums[r * TILE_W + c] += few[r][c];
}

#endif
