/* Tiles for GPUs.
 *
 * A group of 256 items has a tile of 32 rows by 64 columns; an item has 8 pixels of a column, four rows apart. The pixels that
 * a warp of 32 items updates at once are 8 by 4: they see at most 10 columns, so their reads of local memory do not conflict.
 *
 * A place is in COLUMN from the middle between two columns of the segment. With d[i] = f[i + 1] - f[i], the value at place s is
 * (f[i] - m[i] d[i]) + s d[i], m[i] = the place of column i; local memory has the first term and d[i] side by side. COLUMN is
 * such that s + INDEX_0 is rounded to a whole column, and its bits, times the bytes of a pair, are the offset of the pair: the
 * exponent is shifted out. So an update is six instructions: place, rounding, address, one load of 8 bytes, one sum, one product
 * with a sum. Two slices share the first three and a load of 16 bytes. Pixels beyond the slice are computed, too, but not
 * stored.
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
#define PAIRS 80   /* of a segment: indices 0 to 2 MIDDLE; local memory of both kernels together is below 32 KiB */
#define COLUMN (1.0f / 4194304.0f)         /* 2^-22: a unit in the last place of floats from 2 to 4 */
#define INDEX_0 (2.0f + MIDDLE * COLUMN)   /* of place 0, exact */

/* Projects a tile to a line: the place of the tile's middle, and columns per pixel to the right and up. Returns the column at
 * index 0, which may be outside the line. */
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

/* A tile of `count` slices. The constant is 1 or 2; both give the same bits. */
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
    float few[2 * PIXELS]; /* sums of few terms have smaller rounding errors than one long sum */
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
