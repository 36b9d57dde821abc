/* Blurs each image of a stack (n, ny, nx), row-major. `weights` has 2 * radius + 1 elements, for one axis. A pixel
 * outside an image has the value of the nearest pixel inside. */
PM_DEVICE pm_long inside(pm_long i, pm_long length) { return i < 0 ? 0 : i < length ? i : length - 1; }

/* Both axes at once: (2 * radius + 1)^2 products per pixel. One work-item (x, y, image) per pixel. */
PM_KERNEL(whole)(PM_GLOBAL const pm_element* in, PM_GLOBAL pm_element* out, PM_GLOBAL const pm_element* weights,
                 pm_long ny, pm_long nx, pm_long radius) {
  const pm_long x = pm_global_x(), y = pm_global_y(), image = pm_global_z() * ny * nx;
  if (x >= nx || y >= ny) return;
  pm_element sum = 0;
  for (pm_long dy = -radius; dy <= radius; ++dy)
    for (pm_long dx = -radius; dx <= radius; ++dx)
      sum += weights[dy + radius] * weights[dx + radius] * in[image + inside(y + dy, ny) * nx + inside(x + dx, nx)];
  out[image + y * nx + x] = sum;
}

/* One axis per launch: along x, then along y. One work-item (x, y, image) per pixel. */
PM_KERNEL(separable)(PM_GLOBAL const pm_element* in, PM_GLOBAL pm_element* out, PM_GLOBAL const pm_element* weights,
                     pm_long ny, pm_long nx, pm_long radius, pm_long is_along_y) {
  const pm_long x = pm_global_x(), y = pm_global_y();
  if (x >= nx || y >= ny) return;
  const pm_long i = is_along_y ? y : x, step = is_along_y ? nx : 1, length = is_along_y ? ny : nx;
  const pm_long pixel = (pm_global_z() * ny + y) * nx + x;
  pm_element sum = 0;
  for (pm_long d = -radius; d <= radius; ++d)
    sum += weights[d + radius] * in[pixel + (inside(i + d, length) - i) * step];
  out[pixel] = sum;
}

/* One axis per launch, in place. One work-item (line, image) per row or column. It keeps the original values of the
 * last radius + 1 pixels in `lines`, an array (n, max(ny, nx), radius + 1). */
PM_KERNEL(in_place)(PM_GLOBAL pm_element* images, PM_GLOBAL pm_element* lines, PM_GLOBAL const pm_element* weights,
                    pm_long ny, pm_long nx, pm_long radius, pm_long is_along_y) {
  const pm_long line = pm_global_x(), z = pm_global_y();
  if (line >= (is_along_y ? nx : ny)) return;
  const pm_long step = is_along_y ? nx : 1, length = is_along_y ? ny : nx;
  PM_GLOBAL pm_element* pixels = images + z * ny * nx + line * (is_along_y ? 1 : nx);
  PM_GLOBAL pm_element* kept = lines + (z * (ny > nx ? ny : nx) + line) * (radius + 1);
  for (pm_long i = 0; i < length; ++i) {
    kept[i % (radius + 1)] = pixels[i * step];
    pm_element sum = 0;
    for (pm_long d = -radius; d <= radius; ++d) {
      const pm_long j = inside(i + d, length);
      sum += weights[d + radius] * (j > i ? pixels[j * step] : kept[j % (radius + 1)]);
    }
    pixels[i * step] = sum;
  }
}
