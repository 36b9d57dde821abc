/* The sum that linear.kernel.h states, a tile of pixels at a time: under one angle a tile sees a stretch of a line, a
 * little longer than the tile is wide. Bounds, weights and the place in the line are settled once a tile and angle.
 *
 * Positions: `table` holds for each angle cosine, sine, start and axis in fixed point with 36 bits of fraction. Where a
 * tile starts in a line is worked out in 64-bit integers; only places within its stretch, below 128, are floats. So
 * the error of a position does not grow with the width.
 *
 * Two grains: `_tiles` for CPUs, a work-item a tile, whose sums stay in the first-level cache or in registers;
 * `_groups` for GPUs, a work-group a tile, which puts the stretches of several angles into local memory.
 */
#define FRACTION_BITS 36
#define UNIT (1.0f / 68719476736.0f) /* 2^-36 */

/* The stretch of a line that a tile of h by w pixels sees. */
typedef struct {
  pm_long first; /* its first column; may lie outside the line */
  pm_long count; /* columns, one more than interpolation needs: a rounded place may reach the next */
  float place;   /* of the tile's first pixel, in columns from `first` on */
  float step_x;  /* columns a pixel to the right */
  float step_y;  /* columns a pixel up */
} stretch_t;

PM_DEVICE stretch_t stretch_of(PM_GLOBAL const pm_long* view, pm_long y, pm_long x, pm_long h, pm_long w) {
  const pm_long cosine = view[0];
  const pm_long sine = view[1];
  const pm_long start = view[2] + x * cosine - y * sine;
  const pm_long along_x = (w - 1) * cosine;
  const pm_long along_y = -(h - 1) * sine;
  const pm_long least = start + (along_x < 0 ? along_x : 0) + (along_y < 0 ? along_y : 0);
  const pm_long most = start + (along_x > 0 ? along_x : 0) + (along_y > 0 ? along_y : 0);
  stretch_t stretch;
  stretch.first = least >> FRACTION_BITS;
  stretch.count = (most >> FRACTION_BITS) - stretch.first + 3;
  stretch.place = (float)(start - stretch.first * ((pm_long)1 << FRACTION_BITS)) * UNIT;
  stretch.step_x = (float)cosine * UNIT;
  stretch.step_y = (float)sine * UNIT;
  return stretch;
}

/* Column i of a line, 0 outside it, weighted for half-acquisition where slope is not 0. */
PM_DEVICE float line_at(PM_GLOBAL const float* line, pm_long w, pm_long i, float axis, float slope) {
  if (i < 0 || i >= w) return 0;
  const float value = line[i];
  if (slope == 0) return value;
  const float weight = 0.5f - slope * ((float)i - axis);
  return weight <= 0 ? 0 : weight >= 1 ? value : weight * value;
}

PM_DEVICE int inside_circle(pm_long side, pm_long y, pm_long x) {
  const pm_long dy = 2 * y - side + 1;
  const pm_long dx = 2 * x - side + 1;
  return dy * dy + dx * dx <= side * side;
}

/* 2 x the distance from the middle of the slice to the nearest of `count` pixels from `first` on. */
PM_DEVICE pm_long twice_nearest(pm_long side, pm_long first, pm_long count) {
  const pm_long low = 2 * first - side + 1;
  const pm_long high = low + 2 * (count - 1);
  return low > 0 ? low : high < 0 ? -high : 0;
}

PM_DEVICE int tile_meets_circle(pm_long side, pm_long y, pm_long x, pm_long h, pm_long w) {
  const pm_long dy = twice_nearest(side, y, h);
  const pm_long dx = twice_nearest(side, x, w);
  return dy * dy + dx * dx <= side * side;
}

/* ---- CPUs ---- */

#define TILE_H 32
#define TILE_W 64

/* Lanes of a vector that look columns up in two registers, with one instruction of AVX-512 or three of AVX2. 0 where
 * this compiler names no such instruction: columns are then looked up in memory. A test may say which. */
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

/* Lane k: the i[k]th element of low and high put together; i is in [0, 2 LANES). */
#if LANES == 16 && defined(__AVX512F__)
typedef float floats_t __attribute__((vector_size(64))); /* as builtins have them */
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
  const ints_t by = __builtin_astype(i, ints_t); /* its low three bits count */
  const floats_t from_low = __builtin_ia32_permvarsf256(__builtin_astype(low, floats_t), by);
  const floats_t from_high = __builtin_ia32_permvarsf256(__builtin_astype(high, floats_t), by);
  return select(__builtin_astype(from_low, lanes_t), __builtin_astype(from_high, lanes_t), i << 28); /* the top bit */
}
#else /* as a test on any device has it */
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

/* The weights of line_at for LANES columns from `first` on. */
PM_DEVICE lanes_t weights_from(pm_long first, float axis, float slope) {
  return clamp(0.5f - slope * ((float)first + LANE_NUMBERS - axis), 0.0f, 1.0f);
}

#define PART_H LANES
#define PART_W LANES

/* Adds to a square of pixels, with (y, x) of the slice in its corner, what `count` lines give it; h and v do not matter:
 * what lies beyond the slice is for nobody. Under any angle a square sees at most 1.42 (LANES - 1) + 2 columns, so two
 * registers hold them, and its sums stay in registers over all of the lines. With d[i] = f[i + 1] - f[i], the value at t
 * is f[i] - i d[i] + t d[i], i = floor(t): the first two terms are looked up as one, and no fraction is needed. */
PM_DEVICE void add_to_part(float* sums, PM_GLOBAL const float* line, PM_GLOBAL const pm_long* view, int count, pm_long w,
                           pm_long y, pm_long x, int h, int v, float slope) {
  const lanes_t number = LANE_NUMBERS;
  lanes_t few[LANES]; /* sums of few terms lose less than one long sum */
#pragma unroll
  for (int r = 0; r < LANES; ++r) few[r] = 0;
  for (int a = 0; a < count; ++a, line += w, view += 4) {
    const stretch_t stretch = stretch_of(view, y, x, LANES, LANES);
    const pm_long first = stretch.first;
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
    const lanes_t step_y = stretch.step_y;
    const lanes_t bottom = stretch.place + number * stretch.step_x;
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

/* Few rows: the shorter the stretch, the finer the places in it. */
#define PART_H 8
#define PART_W TILE_W
#define LONGEST_STRETCH (PART_H + PART_W + 4)

/* Adds to h by v pixels, with (y, x) of the slice in their corner, what `count` lines give them. */
PM_DEVICE void add_to_part(float* sums, PM_GLOBAL const float* line, PM_GLOBAL const pm_long* view, int count, pm_long w,
                           pm_long y, pm_long x, int h, int v, float slope) {
  float few[PART_H][PART_W]; /* as above */
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < v; ++c) few[r][c] = 0;
  for (int a = 0; a < count; ++a, line += w, view += 4) {
    const stretch_t stretch = stretch_of(view, y, x, h, v);
    if (stretch.first >= w || stretch.first + stretch.count <= 0) continue;
    const int columns = (int)stretch.count;
    float from[LONGEST_STRETCH];
    if (slope == 0 && stretch.first >= 0 && stretch.first + columns <= w) {
      for (int i = 0; i < columns; ++i) from[i] = line[stretch.first + i];
    } else {
      const float axis = (float)view[3] * UNIT;
      for (int i = 0; i < columns; ++i) from[i] = line_at(line, w, stretch.first + i, axis, slope);
    }
    for (int r = 0; r < h; ++r) {
      const float place = stretch.place - (float)r * stretch.step_y;
      for (int c = 0; c < v; ++c) {
        const float t = place + (float)c * stretch.step_x;
        const int i = (int)t;
        few[r][c] += from[i] + (t - (float)i) * (from[i + 1] - from[i]);
      }
    }
  }
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < v; ++c) sums[r * TILE_W + c] += few[r][c];
}

#endif

/* Lines that all parts of a tile are given before the next ones: what they see of them stays in the first-level cache.
 */
#define LINES_AT_ONCE 16

PM_CPU_ONLY(backproject_tiles)
PM_KERNEL(backproject_tiles)(PM_GLOBAL float* slices, pm_long slices_offset, PM_GLOBAL const float* sinograms,
                             pm_long sinograms_offset, PM_GLOBAL const pm_long* table, pm_long n_z, pm_long n_a,
                             pm_long w, pm_long y0, pm_long x0, pm_long height, pm_long width, pm_long side,
                             pm_int clip, float slope) {
  const pm_long tiles_x = (width + TILE_W - 1) / TILE_W;
  const pm_long tiles_y = (height + TILE_H - 1) / TILE_H;
  const pm_long id = pm_global_x();
  if (id >= n_z * tiles_y * tiles_x) return;
  const pm_long tile_row = id / tiles_x;
  const pm_long z = tile_row / tiles_y;
  const pm_long tile_x = (id - tile_row * tiles_x) * TILE_W;
  const pm_long tile_y = (tile_row - z * tiles_y) * TILE_H;
  const int h = (int)(height - tile_y < TILE_H ? height - tile_y : TILE_H);
  const int v = (int)(width - tile_x < TILE_W ? width - tile_x : TILE_W);
  const pm_long y = y0 + tile_y;
  const pm_long x = x0 + tile_x;
  PM_GLOBAL float* tile = slices + slices_offset + (z * height + tile_y) * width + tile_x;
  float sums[TILE_H][TILE_W];
  for (int r = 0; r < TILE_H; ++r)
    for (int c = 0; c < TILE_W; ++c) sums[r][c] = 0;
  /* No line where the tile is all 0. */
  const pm_long lines = clip && !tile_meets_circle(side, y, x, h, v) ? 0 : n_a;
  PM_GLOBAL const float* sinogram = sinograms + sinograms_offset + z * n_a * w;
  for (pm_long a = 0; a < lines; a += LINES_AT_ONCE) {
    const int count = (int)(lines - a < LINES_AT_ONCE ? lines - a : LINES_AT_ONCE);
    for (int r = 0; r < h; r += PART_H)
      for (int c = 0; c < v; c += PART_W) {
        const int part_h = h - r < PART_H ? h - r : PART_H;
        const int part_v = v - c < PART_W ? v - c : PART_W;
        if (!clip || tile_meets_circle(side, y + r, x + c, part_h, part_v))
          add_to_part(&sums[r][c], sinogram + a * w, table + 4 * a, count, w, y + r, x + c, part_h, part_v, slope);
      }
  }
  for (int r = 0; r < h; ++r)
    for (int c = 0; c < v; ++c)
      tile[r * width + c] = clip && !inside_circle(side, y + r, x + c) ? 0 : sums[r][c];
}

/* ---- GPUs ----
 *
 * A group of 256 items has a tile of 32 rows by 64 columns; an item has 8 pixels of a column, four rows apart. The pixels that
 * a warp of 32 items updates at once are 8 by 4: they see at most 10 columns, so their reads of local memory do not conflict.
 *
 * A place is in COLUMN from the middle between two columns of the stretch. With d[i] = f[i + 1] - f[i], the value at place s is
 * (f[i] - m[i] d[i]) + s d[i], m[i] = the place of column i; local memory has the first term and d[i] side by side. COLUMN is
 * such that s + INDEX_0 is rounded to a whole column, and its bits, times the bytes of a pair, are the offset of the pair: the
 * exponent is shifted out. So an update is six instructions: place, rounding, address, one load of 8 bytes, one sum, one product
 * with a sum. Two slices share the first three and a load of 16 bytes. Pixels beyond the slice are computed as the others are,
 * and not stored.
 */

#define GROUP 256
#define WARP 32
#define TILE_ROWS 32
#define TILE_COLUMNS 64
#define PIXELS 8
#define PATCH_ROWS (TILE_ROWS / PIXELS)
#define PATCH_COLUMNS 8
#define ANGLES 16
#define MIDDLE 36  /* index of the column left of the tile's middle; a pixel is at most 35.2 columns away */
#define PAIRS 80   /* of a stretch: indices 0 to 2 MIDDLE; local memory of both kernels together is below 32 KiB */
#define COLUMN (1.0f / 4194304.0f)         /* 2^-22: a unit in the last place of floats from 2 to 4 */
#define INDEX_0 (2.0f + MIDDLE * COLUMN)   /* of place 0, exact */

/* What a tile sees of a line: the place of the tile's middle, and columns a pixel to the right and up. Returns the column at
 * index 0, which may lie outside the line. */
PM_DEVICE int first_column(PM_LOCAL_PTR(float4) sight, PM_GLOBAL const pm_long* view, pm_long y, pm_long x) {
  const pm_long half_column = (pm_long)1 << FRACTION_BITS; /* `twice` has one more bit of fraction */
  const pm_long twice = 2 * view[2] + (2 * x + TILE_COLUMNS - 1) * view[0] - (2 * y + TILE_ROWS - 1) * view[1];
  const pm_long left = twice >> (FRACTION_BITS + 1);
  sight->x = (float)(twice - (2 * left + 1) * half_column) * (0.5f * UNIT * COLUMN);
  sight->y = (float)view[0] * (UNIT * COLUMN);
  sight->z = (float)view[1] * (UNIT * COLUMN);
  return (int)left - MIDDLE;
}

/* Column i of a line of w columns, 0 outside it. */
PM_DEVICE float column_at(PM_GLOBAL const float* line, pm_uint w, int i) {
  return (pm_uint)i < w ? line[i] : 0;
}

/* The weight of column i in half-acquisition. */
PM_DEVICE float weight_at(int i, float axis, float slope) {
  return fmin(fmax(0.5f - slope * ((float)i - axis), 0.0f), 1.0f);
}

/* A tile of `count` slices, a constant: 1 or 2, which give the same bits. */
PM_DEVICE void backproject_tile(const int count, PM_LOCAL_PTR(float2) pairs, PM_LOCAL_PTR(float4) sights,
                                PM_LOCAL_PTR(int) firsts, PM_GLOBAL float* slices, PM_GLOBAL const float* sinograms,
                                PM_GLOBAL const pm_long* table, pm_long n_z, pm_long n_a, pm_long w, pm_long y0,
                                pm_long x0, pm_long height, pm_long width, pm_long side, pm_int clip, float slope) {
  const pm_long tiles_x = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const pm_long tiles_y = (height + TILE_ROWS - 1) / TILE_ROWS;
  const pm_long id = pm_global_x() / GROUP;
  const pm_long tile_row = id / tiles_x;
  const pm_long z = tile_row / tiles_y * count;
  if (z >= n_z) return; /* a whole group */
  const pm_long tile_x = (id - tile_row * tiles_x) * TILE_COLUMNS;
  const pm_long tile_y = tile_row % tiles_y * TILE_ROWS;
  const pm_long y = y0 + tile_y;
  const pm_long x = x0 + tile_x;
  const int item = pm_local_x();
  const int lane = item % WARP;
  const int column = item / WARP * PATCH_COLUMNS + lane % PATCH_COLUMNS;
  const int row = lane / PATCH_COLUMNS;
  const float right = (float)column - 0.5f * (TILE_COLUMNS - 1);
  const float down = 0.5f * (PATCH_ROWS - 1) - (float)row;
  const float middle = MIDDLE + 0.5f - (float)lane;
  float sums[2 * PIXELS];
  for (int k = 0; k < count * PIXELS; ++k) sums[k] = 0;
  /* The same for all items of a group, as barriers need it. */
  const pm_long angles = clip && !tile_meets_circle(side, y, x, TILE_ROWS, TILE_COLUMNS) ? 0 : n_a;
  PM_GLOBAL const float* lines = sinograms + z * n_a * w;
  int part = 0; /* of sights and firsts: items that are behind still read the other */
  for (pm_long a = 0; a < angles; a += ANGLES, lines += ANGLES * w, part = ANGLES - part) {
    const int views = (int)(angles - a < ANGLES ? angles - a : ANGLES);
    if (item < views) firsts[part + item] = first_column(&sights[part + item], table + 4 * (a + item), y, x);
    PM_BARRIER();
    for (int b = item / WARP; b < views; b += GROUP / WARP) {
      const int first = firsts[part + b] + lane;
      PM_GLOBAL const float* line = lines + b * w;
      PM_LOCAL_PTR(float2) to = pairs + (b * PAIRS + lane) * count;
      for (int s = 0; s < count; ++s, line += n_a * w)
#pragma unroll
        for (int i = 0; i < PAIRS; i += WARP) {
          float low = column_at(line, (pm_uint)w, first + i);
          float high = column_at(line, (pm_uint)w, first + i + 1);
          if (slope != 0) {
            const float axis = (float)table[4 * (a + b) + 3] * UNIT;
            low *= weight_at(first + i, axis, slope);
            high *= weight_at(first + i + 1, axis, slope);
          }
          const float step = high - low;
          float2 pair;
          pair.x = PM_FMA(middle - (float)i, step, low);
          pair.y = step * (1.0f / COLUMN);
          if (i + lane < PAIRS) to[i * count + s] = pair;
        }
    }
    PM_BARRIER();
    float few[2 * PIXELS]; /* sums of few terms lose less than one long sum */
    for (int k = 0; k < count * PIXELS; ++k) few[k] = 0;
    PM_LOCAL_PTR(const float2) seen = pairs;
#pragma unroll 2
    for (int b = 0; b < views; ++b, seen += PAIRS * count) {
      const float4 sight = sights[part + b];
      const float start = PM_FMA(right, sight.y, PM_FMA(down, sight.z, sight.x));
#pragma unroll
      for (int k = 0; k < PIXELS; ++k) {
        const float place = PM_FMA(0.5f * (TILE_ROWS - PATCH_ROWS) - (float)(k * PATCH_ROWS), sight.z, start);
        const pm_uint offset = (pm_uint)PM_FLOAT_BITS(place + INDEX_0) * (pm_uint)(count * sizeof(float2));
        PM_LOCAL_PTR(const float2) at = (PM_LOCAL_PTR(const float2))((PM_LOCAL_PTR(const char))seen + offset);
#pragma unroll
        for (int s = 0; s < count; ++s) {
          const float2 pair = at[s];
          few[k * count + s] = PM_FMA(place, pair.y, few[k * count + s] + pair.x);
        }
      }
    }
    for (int k = 0; k < count * PIXELS; ++k) sums[k] += few[k];
  }
  if (tile_x + column >= width) return;
  PM_GLOBAL float* to = slices + (z * height + tile_y + row) * width + tile_x + column;
#pragma unroll
  for (int k = 0; k < PIXELS; ++k) {
    const int r = row + k * PATCH_ROWS;
    if (tile_y + r >= height) break;
    for (int s = 0; s < count; ++s)
      to[(s * height + k * PATCH_ROWS) * width] =
          clip && !inside_circle(side, y + r, x + column) ? 0 : sums[k * count + s];
  }
}

PM_REGISTERS(backproject_groups, 64)
PM_KERNEL(backproject_groups)(PM_GLOBAL float* slices, pm_long slices_offset, PM_GLOBAL const float* sinograms,
                              pm_long sinograms_offset, PM_GLOBAL const pm_long* table, pm_long n_z, pm_long n_a,
                              pm_long w, pm_long y0, pm_long x0, pm_long height, pm_long width, pm_long side,
                              pm_int clip, float slope) {
  PM_LOCAL float2 pairs[ANGLES * PAIRS];
  PM_LOCAL float4 sights[2 * ANGLES];
  PM_LOCAL int firsts[2 * ANGLES];
  backproject_tile(1, pairs, sights, firsts, slices + slices_offset, sinograms + sinograms_offset, table, n_z, n_a, w, y0,
                   x0, height, width, side, clip, slope);
}

/* n_z is even. */
PM_REGISTERS(backproject_groups_of_two, 112)
PM_KERNEL(backproject_groups_of_two)(PM_GLOBAL float* slices, pm_long slices_offset, PM_GLOBAL const float* sinograms,
                                     pm_long sinograms_offset, PM_GLOBAL const pm_long* table, pm_long n_z, pm_long n_a,
                                     pm_long w, pm_long y0, pm_long x0, pm_long height, pm_long width, pm_long side,
                                     pm_int clip, float slope) {
  PM_LOCAL float4 pairs[ANGLES * PAIRS];
  PM_LOCAL float4 sights[2 * ANGLES];
  PM_LOCAL int firsts[2 * ANGLES];
  backproject_tile(2, (PM_LOCAL_PTR(float2))pairs, sights, firsts, slices + slices_offset, sinograms + sinograms_offset,
                   table, n_z, n_a, w, y0, x0, height, width, side, clip, slope);
}
