/* Creates the coordinate images of coords2d, and the templates of coords1d and coords2d. Images have `width` columns
 * and `count` elements, row-major. One work-item per `run` consecutive elements, which may span rows.
 *
 * Elements are written as bits, so the host compiles these kernels for unsigned integers.
 */

PM_DEVICE pm_long remainder_of(pm_long i, pm_long period) {
  const pm_long rest = i % period;
  return rest < 0 ? rest + period : rest;
}

/* Returns the source of index i on an axis, as numpy.pad does. `mode` is a PaddingMode: 1 edge, 2 reflect, 3 symmetric,
 * 4 wrap. */
PM_DEVICE pm_long source_of(pm_long i, pm_long extent, pm_int mode) {
  if (i >= 0 && i < extent) return i;
  if (mode == 1 || extent == 1) return i < 0 ? 0 : extent - 1;
  if (mode == 4) return remainder_of(i, extent);
  const pm_long period = mode == 3 ? 2 * extent : 2 * (extent - 1);
  const pm_long phase = remainder_of(i, period);
  return phase < extent ? phase : (mode == 3 ? period - 1 : period) - phase;
}

/* The elements of a run that are in one row. */
typedef struct {
  pm_long row;
  pm_long first; /* index of the row's first element */
  pm_long end;   /* index after the last element of the part */
} row_part;

PM_DEVICE row_part row_part_of(pm_long i, pm_long width, pm_long end) {
  row_part part;
  part.row = i / width;
  part.first = part.row * width;
  part.end = part.first + width < end ? part.first + width : end;
  return part;
}

/* Writes the source column of each element if `along_x` is 1, its source row if 0. */
PM_REGISTERS(coordinate_image, 48)
PM_KERNEL(coordinate_image)(PM_GLOBAL pm_element* image, pm_long count, pm_long width, pm_long before,
                            pm_long extent, pm_int mode, pm_int along_x, pm_int run) {
  pm_long i = pm_global_x() * run;
  const pm_long end = i + run < count ? i + run : count;
  while (i < end) {
    const row_part part = row_part_of(i, width, end);
    const pm_element source = (pm_element)source_of(part.row - before, extent, mode);
    for (; i < part.end; ++i) image[i] = along_x ? (pm_element)source_of(i - part.first - before, extent, mode) : source;
  }
}

/* Writes a template of mode constant: 0 in rows [y0, y1) of columns [x0, x1), and around them the values of the sides.
 * Corners have those of left and right. */
PM_REGISTERS(side_values, 40)
PM_KERNEL(side_values)(PM_GLOBAL pm_element* image, pm_long count, pm_long width, pm_long y0, pm_long y1, pm_long x0,
                       pm_long x1, pm_ulong above, pm_ulong below, pm_ulong left, pm_ulong right, pm_int run) {
  pm_long i = pm_global_x() * run;
  const pm_long end = i + run < count ? i + run : count;
  while (i < end) {
    const row_part part = row_part_of(i, width, end);
    const pm_element centre = (pm_element)(part.row < y0 ? above : part.row >= y1 ? below : 0);
    for (; i < part.end; ++i)
      image[i] = i - part.first < x0 ? (pm_element)left : i - part.first >= x1 ? (pm_element)right : centre;
  }
}
