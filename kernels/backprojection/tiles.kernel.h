/* Tiles for CPUs: one work-item per tile of TILE_H rows by TILE_W columns of a slice. It adds LINES_AT_ONCE lines to
 * each part of the tile, and then the next lines.
 */

/* Few, so that the segments of these lines stay in the L1 cache while they are added to all parts of a tile. */
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
  /* A tile outside the circle is 0 and needs no lines. */
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
