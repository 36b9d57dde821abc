/* Computes the sum of linear.kernel.h by tiles of 32 rows by 64 columns. At one angle, a tile projects to a segment of
 * a line, at most a little longer than the width of the tile. Bounds, weights and the place of the tile in the line are
 * computed once per tile and angle.
 *
 * `table` (n_a, 4) has cosine, sine, start and axis of each angle in fixed point: 64-bit integers with 36 bits of
 * fraction. Pixel (y, x) projects to column start + x * cosine - y * sine. The place of a tile in a line is computed in
 * integers; only places within a segment, below 128 columns, are floats. So the error of a position does not depend on
 * the width.
 *
 * `_tiles`, for CPUs: one work-item per tile; sums are in the L1 cache or in registers.
 * `_groups`, for GPUs: one work-group per tile; segments of several angles are in local memory.
 */
#define FRACTION_BITS 36
#define UNIT (1.0f / 68719476736.0f) /* 2^-36 */

PM_DEVICE int inside_circle(pm_long side, pm_long y, pm_long x) {
  const pm_long dy = 2 * y - side + 1;
  const pm_long dx = 2 * x - side + 1;
  return dy * dy + dx * dx <= side * side;
}

/* Returns twice the distance along an axis from the slice's centre to the nearest of pixels [first, first + count). */
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

#include "tile_parts.kernel.h"
#include "tiles.kernel.h"
#include "groups.kernel.h"
