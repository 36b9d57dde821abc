/* Computes the sum of linear.kernel.h for a tile of pixels at a time. Under one angle, a tile is projected to a segment of
 * a line, a little longer than the width of the tile. Bounds, weights and the place in the line are computed once per
 * tile and angle.
 *
 * Positions: `table` has cosine, sine, start and axis of each angle in fixed point with 36 bits of fraction. The start of
 * a tile in a line is computed in 64-bit integers; only places within its segment, below 128, are floats. So the error
 * of a position does not depend on the width.
 *
 * Two grains: `_tiles` for CPUs, one work-item per tile, with sums in the first-level cache or in registers;
 * `_groups` for GPUs, one work-group per tile, with the segments of several angles in local memory.
 */
#define FRACTION_BITS 36
#define UNIT (1.0f / 68719476736.0f) /* 2^-36 */

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

#include "tile_parts.kernel.h"
#include "tiles.kernel.h"
#include "groups.kernel.h"
