/* Computes the sum of linear.kernel.h with the texture unit, like common CUDA back-projectors. CUDA only; one sinogram
 * per launch.
 *
 * The unit interpolates linearly with 8 bits of fraction. So the error of an interpolation is up to 2^-9 of the
 * difference of two neighbours. A texel outside the sinogram is 0 (border mode).
 *
 * A group of 256 items computes a tile of 32 x 32 pixels, so that its reads are close together in the texture cache. An
 * item computes four pixels of a column, ROW_STEP rows apart.
 */
#ifdef __CUDACC__

#define GROUP 256
#define TILE 32
#define PIXELS 4
#define ROW_STEP (TILE / PIXELS)

/* Returns column i of line a with the weight of half-acquisition. At i + 0.5 the unit returns the texel itself. */
PM_DEVICE float weighted_texel(cudaTextureObject_t lines, float i, float a, float axis, float slope) {
  const float weight = 0.5f - slope * (i - axis);
  return fminf(fmaxf(weight, 0.0f), 1.0f) * tex2D<float>(lines, i + 0.5f, a + 0.5f);
}

PM_REGISTERS(backproject_texture, 48)
PM_KERNEL(backproject_texture)(PM_GLOBAL float* slices, pm_long slices_offset, pm_ulong lines,
                               PM_GLOBAL const float* cosines, PM_GLOBAL const float* sines,
                               PM_GLOBAL const float* corrections, pm_int has_corrections, pm_long n_a, pm_long y0,
                               pm_long x0, pm_long height, pm_long width, pm_long side, pm_int clip, float axis,
                               float slice_axis, float slope) {
  const pm_long tiles_x = (width + TILE - 1) / TILE;
  const pm_long id = pm_global_x() / GROUP;
  const pm_long tile_row = id / tiles_x;
  const int item = pm_local_x();
  const pm_long column = (id - tile_row * tiles_x) * TILE + item % TILE;
  const pm_long row = tile_row * TILE + item / TILE;
  if (column >= width) return;
  const float x = (float)(x0 + column) - slice_axis;
  const float y = (float)(y0 + row) - slice_axis;
  float sums[PIXELS] = {0, 0, 0, 0};
  for (pm_long a = 0; a < n_a; ++a) {
    const float line_axis = has_corrections ? axis + corrections[a] : axis;
    const float sine = sines[a];
    const float first = line_axis + x * cosines[a];
    for (int k = 0; k < PIXELS; ++k) {
      const float t = first - (y + (float)(k * ROW_STEP)) * sine;
      if (slope == 0) {
        sums[k] += tex2D<float>(lines, t + 0.5f, (float)a + 0.5f);
      } else {
        const float i = floorf(t);
        const float at_i = weighted_texel(lines, i, (float)a, line_axis, slope);
        sums[k] += at_i + (t - i) * (weighted_texel(lines, i + 1, (float)a, line_axis, slope) - at_i);
      }
    }
  }
  for (int k = 0; k < PIXELS; ++k) {
    const pm_long r = row + k * ROW_STEP;
    if (r >= height) break;
    const pm_long dy = 2 * (y0 + r) - side + 1;
    const pm_long dx = 2 * (x0 + column) - side + 1;
    slices[slices_offset + r * width + column] = clip && dy * dy + dx * dx > side * side ? 0 : sums[k];
  }
}

#endif
