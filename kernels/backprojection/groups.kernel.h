/* Tiles for GPUs: a group of 256 items computes a tile of 32 rows by 64 columns, of one slice or of two.
 *
 * An item computes 8 pixels of a column, 4 rows apart. At once, a warp of 32 items updates 4 rows by 8 columns, which
 * project to at most 10 columns of a line. So its reads of local memory have no bank conflicts. Pixels outside of the
 * slice are computed, too, but not stored.
 *
 * Local memory has the segments of ANGLES lines: for each column i of a segment a pair, f[i] - m[i] * d[i] and d[i].
 * Here f[i] is the value of the column, d[i] = f[i + 1] - f[i], and m[i] the place of the column. The value at a place
 * s between columns i and i + 1 is
 *     (f[i] - m[i] * d[i]) + s * d[i]
 *
 * A place is a distance from the midpoint between columns MIDDLE and MIDDLE + 1. Its unit is such that one column is
 * COLUMN = 2^-22. The sum s + INDEX_0 is in [2, 4), where floats have steps of 2^-22, so it is rounded to a whole
 * column. The mantissa of the sum is the index i. The bits of the sum times the bytes of a pair are the offset of the
 * pair, because the exponent overflows.
 *
 * So an update has six instructions: FMA (place), add (rounding), address, load of 8 bytes, add, FMA. Two slices share
 * the first three, and one load of 16 bytes.
 */

#define GROUP 256
#define WARP 32
#define TILE_ROWS 32
#define TILE_COLUMNS 64
#define PIXELS 8
#define PATCH_ROWS (TILE_ROWS / PIXELS)
#define PATCH_COLUMNS 8
#define ANGLES 16
#define MIDDLE 36  /* index of the column left of the tile's centre; a pixel is at most 35.2 columns away */
#define PAIRS 80   /* per segment: indices 0 to 2 * MIDDLE; local memory of both kernels together is below 32 KiB */
#define COLUMN (1.0f / 4194304.0f)         /* 2^-22: the unit in the last place of floats in [2, 4) */
#define INDEX_0 (2.0f + MIDDLE * COLUMN)   /* the sum for place 0, which has index MIDDLE; exact */

/* Projects the tile at (y, x) to a line. Sets sight->x to the place of the tile's centre, sight->y and sight->z to the
 * steps of a place per pixel to the right and up. Returns the column of index 0, which may be out of bounds. */
PM_DEVICE int first_column(PM_LOCAL_PTR(float4) sight, PM_GLOBAL const pm_long* view, pm_long y, pm_long x) {
  const pm_long half_column = (pm_long)1 << FRACTION_BITS; /* in units of `twice`: FRACTION_BITS + 1 bits of fraction */
  const pm_long twice = 2 * view[2] + (2 * x + TILE_COLUMNS - 1) * view[0] - (2 * y + TILE_ROWS - 1) * view[1];
  const pm_long left = twice >> (FRACTION_BITS + 1);
  sight->x = (float)(twice - (2 * left + 1) * half_column) * (0.5f * UNIT * COLUMN);
  sight->y = (float)view[0] * (UNIT * COLUMN);
  sight->z = (float)view[1] * (UNIT * COLUMN);
  return (int)left - MIDDLE;
}

/* Returns column i of a line of w columns, 0 out of bounds. */
PM_DEVICE float column_at(PM_GLOBAL const float* line, pm_uint w, int i) {
  return (pm_uint)i < w ? line[i] : 0;
}

/* Returns the weight of column i in half-acquisition. */
PM_DEVICE float weight_at(int i, float axis, float slope) {
  return fmin(fmax(0.5f - slope * ((float)i - axis), 0.0f), 1.0f);
}

/* Computes a tile of `count` consecutive slices. `count` is a constant, 1 or 2; both give the same bits. */
PM_DEVICE void backproject_tile(const int count, PM_LOCAL_PTR(float2) pairs, PM_LOCAL_PTR(float4) sights,
                                PM_LOCAL_PTR(int) firsts, PM_GLOBAL float* slices, PM_GLOBAL const float* sinograms,
                                PM_GLOBAL const pm_long* table, pm_long n_z, pm_long n_a, pm_long w, pm_long y0,
                                pm_long x0, pm_long height, pm_long width, pm_long side, pm_int clip, float slope) {
  const pm_long tiles_x = (width + TILE_COLUMNS - 1) / TILE_COLUMNS;
  const pm_long tiles_y = (height + TILE_ROWS - 1) / TILE_ROWS;
  const pm_long id = pm_global_x() / GROUP;
  const pm_long tile_row = id / tiles_x;
  const pm_long z = tile_row / tiles_y * count;
  if (z >= n_z) return; /* the whole group */
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
  /* Uniform in a group, as barriers require. */
  const pm_long angles = clip && !tile_meets_circle(side, y, x, TILE_ROWS, TILE_COLUMNS) ? 0 : n_a;
  PM_GLOBAL const float* lines = sinograms + z * n_a * w;
  int part = 0; /* start of the half of sights and firsts in use; slower items may still read the other half */
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
    float few[2 * PIXELS]; /* sums over ANGLES lines; their rounding errors are smaller than those of one long sum */
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

/* n_z must be even. */
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
