/* Back-projects sinograms (n_z, n_a, w) to slices (n_z, height, width):
 *     slice[y, x] = sum over a of line_a[t],   t = axis + corrections[a] + (x - s) cosines[a] - (y - s) sines[a]
 * where s = slice_axis. A line is interpolated linearly, and is 0 outside its columns.
 *
 * One work-item per pixel. cosines, sines and corrections are tables of n_a elements.
 */

/* Returns column i of a line, 0 out of bounds. If slope is not 0, the value has the weight of half-acquisition,
 * 1/2 - slope * (i - axis), clamped to [0, 1]. */
PM_DEVICE pm_element line_at(PM_GLOBAL const pm_element* line, pm_long w, pm_long i, pm_element axis,
                             pm_element slope) {
  if (i < 0 || i >= w) return 0;
  const pm_element value = line[i];
  if (slope == 0) return value;
  const pm_element weight = (pm_element)0.5 - slope * ((pm_element)i - axis);
  return weight <= 0 ? 0 : weight >= 1 ? value : weight * value;
}

PM_REGISTERS(backproject_pixels, 48)
PM_KERNEL(backproject_pixels)(PM_GLOBAL pm_element* slices, pm_long slices_offset, PM_GLOBAL const pm_element* sinograms,
                              pm_long sinograms_offset, PM_GLOBAL const pm_element* cosines,
                              PM_GLOBAL const pm_element* sines, PM_GLOBAL const pm_element* corrections,
                              pm_int has_corrections, pm_long n_z, pm_long n_a, pm_long w, pm_long y0, pm_long x0,
                              pm_long height, pm_long width, pm_long side, pm_int clip, pm_element axis,
                              pm_element slice_axis, pm_element slope) {
  const pm_long id = pm_global_x();
  if (id >= n_z * height * width) return;
  const pm_long row = id / width;
  const pm_long z = row / height;
  const pm_long x = x0 + id - row * width;
  const pm_long y = y0 + row - z * height;
  const pm_long dy = 2 * y - side + 1;
  const pm_long dx = 2 * x - side + 1;
  pm_element sum = 0;
  if (!clip || dy * dy + dx * dx <= side * side) {
    const pm_element from_axis_y = (pm_element)y - slice_axis;
    const pm_element from_axis_x = (pm_element)x - slice_axis;
    PM_GLOBAL const pm_element* line = sinograms + sinograms_offset + z * n_a * w;
    for (pm_long a = 0; a < n_a; ++a, line += w) {
      const pm_element line_axis = has_corrections ? axis + corrections[a] : axis;
      const pm_element t = line_axis + from_axis_x * cosines[a] - from_axis_y * sines[a];
      if (t > -1 && t < (pm_element)w) {
        const pm_element whole = floor(t);
        const pm_long i = (pm_long)whole;
        const pm_element at_i = line_at(line, w, i, line_axis, slope);
        sum += at_i + (t - whole) * (line_at(line, w, i + 1, line_axis, slope) - at_i);
      }
    }
  }
  slices[slices_offset + id] = sum;
}

/* Multiplies sinograms by the weights of half-acquisition, in place. One work-item per `columns` columns of a line. */
PM_REGISTERS(weigh_overlap, 32)
PM_KERNEL(weigh_overlap)(PM_GLOBAL pm_element* sinograms, pm_long offset, PM_GLOBAL const pm_element* corrections,
                         pm_int has_corrections, pm_long n_z, pm_long n_a, pm_long w, pm_long columns, pm_element axis,
                         pm_element slope) {
  const pm_long pieces = (w + columns - 1) / columns;
  const pm_long id = pm_global_x();
  if (id >= n_z * n_a * pieces) return;
  const pm_long line = id / pieces;
  const pm_element line_axis = has_corrections ? axis + corrections[line % n_a] : axis;
  const pm_long begin = (id - line * pieces) * columns;
  const pm_long end = begin + columns < w ? begin + columns : w;
  PM_GLOBAL pm_element* values = sinograms + offset + line * w;
  for (pm_long i = begin; i < end; ++i) values[i] = line_at(values, w, i, line_axis, slope);
}
