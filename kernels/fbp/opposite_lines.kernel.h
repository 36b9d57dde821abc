/* Half-acquisition: the axis is near one edge of the detector, and what lies beyond that edge is seen half a turn later,
 * mirrored. Lines a and a + n_a/2 together are one line of `side` columns, of which column j is
 *     weight * (column i of line a) + (1 - weight) * (its opposite at axis_a + axis_b - i, interpolated), i = j - added + moved,
 * weight = 1/2 at the middle of the columns that both have seen, at (axis_a + axis_b)/2, from 1 to 0 towards the edge where
 * line a ends, so that columns seen twice count once; 0 where line a has ended. `right`: that is its last column. The
 * opposite's last columns go on, so that what is put beside the joined line goes on from there.
 *
 * `mirrors` has three numbers a pair: of axis_a + axis_b - (w - 1) whole columns and the fraction, and `moved`, towards the
 * edge that the axis is near and never away from it.
 *
 * Filtered, its columns 0 to split go where line a was, the others where its opposite was, zeros after both.
 */

PM_DEVICE pm_element joined_column(PM_GLOBAL const pm_element* line, PM_GLOBAL const pm_element* opposite,
                                   PM_GLOBAL const pm_element* mirror, pm_long w, pm_int right, pm_long i) {
  const pm_long whole = (pm_long)mirror[0] + (w - 1) - i;
  const pm_long low = whole < 0 ? 0 : whole >= w ? w - 1 : whole;
  const pm_long high = whole < -1 ? 0 : whole >= w - 1 ? w - 1 : whole + 1;
  const pm_element mirrored = opposite[low] + mirror[1] * (opposite[high] - opposite[low]);
  if (i < 0 || i >= w) return mirrored;
  /* Twice the columns from the middle of what both see to i, and from there to the edge. */
  const pm_long whole_sum = (pm_long)mirror[0];
  const pm_element from_middle = (pm_element)(2 * i - whole_sum - (w - 1)) - mirror[1];
  const pm_element to_edge = right ? (pm_element)(w - 1 - whole_sum) - mirror[1] : (pm_element)(w - 1 + whole_sum) + mirror[1];
  const pm_element part = from_middle / (2 * (to_edge > 1 ? to_edge : 1));
  const pm_element ramp = right ? (pm_element)0.5 - part : (pm_element)0.5 + part;
  const pm_element weight = ramp <= 0 ? 0 : ramp >= 1 ? 1 : ramp;
  return weight * line[i] + (1 - weight) * mirrored;
}

PM_DEVICE pm_element padded_column(PM_GLOBAL const pm_element* line, PM_GLOBAL const pm_element* opposite,
                                   PM_GLOBAL const pm_element* mirror, PM_GLOBAL const pm_int* columns,
                                   pm_int has_columns, pm_long w, pm_long side, pm_long added, pm_int right,
                                   pm_long before, pm_long i) {
  pm_long j = i - before;
  if (j < 0 || j >= side) {
    if (!has_columns) return 0;
    j = columns[i];
  }
  return joined_column(line, opposite, mirror, w, right, j - added + (pm_long)mirror[2]);
}

/* A work-item a line of `padded`, for CPUs, or an element of it in steps of row_step lines. */
PM_CPU_ONLY(join_opposite_rows)
PM_KERNEL(join_opposite_rows)(PM_GLOBAL const pm_element* sinograms, pm_long offset, PM_GLOBAL const pm_element* mirrors,
                              PM_GLOBAL const pm_int* columns, pm_int has_columns, PM_GLOBAL pm_element* padded,
                              pm_long padded_offset, pm_long first, pm_long pairs, pm_long half_lines, pm_long w, pm_long side,
                              pm_long added, pm_int right, pm_long before, pm_long length, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= pairs) return;
  PM_GLOBAL const pm_element* line = sinograms + offset + (first + y) * w;
  PM_GLOBAL pm_element* to = padded + padded_offset + y * pitch;
  for (pm_long i = 0; i < length; ++i)
    to[i] = padded_column(line, line + half_lines * w, mirrors + 3 * (first + y), columns, has_columns, w, side, added, right,
                          before, i);
}

PM_REGISTERS(join_opposite_elements, 32)
PM_KERNEL(join_opposite_elements)(PM_GLOBAL const pm_element* sinograms, pm_long offset,
                                  PM_GLOBAL const pm_element* mirrors, PM_GLOBAL const pm_int* columns,
                                  pm_int has_columns, PM_GLOBAL pm_element* padded, pm_long padded_offset, pm_long first,
                                  pm_long pairs, pm_long half_lines, pm_long w, pm_long side, pm_long added, pm_int right,
                                  pm_long before, pm_long length, pm_long pitch, pm_long row_step) {
  const pm_long i = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (i >= length || y0 >= row_step) return;
  for (pm_long y = y0; y < pairs; y += row_step) {
    PM_GLOBAL const pm_element* line = sinograms + offset + (first + y) * w;
    padded[padded_offset + y * pitch + i] = padded_column(line, line + half_lines * w, mirrors + 3 * (first + y), columns,
                                                          has_columns, w, side, added, right, before, i);
  }
}

PM_DEVICE void part_column(PM_GLOBAL const pm_element* from, PM_GLOBAL pm_element* line, PM_GLOBAL pm_element* opposite,
                           pm_long side, pm_long split, pm_long x) {
  line[x] = x < split ? from[x] : 0;
  opposite[x] = split + x < side ? from[split + x] : 0;
}

PM_CPU_ONLY(part_opposite_rows)
PM_KERNEL(part_opposite_rows)(PM_GLOBAL const pm_element* padded, pm_long padded_offset, PM_GLOBAL pm_element* sinograms, pm_long offset,
                              pm_long first, pm_long pairs, pm_long half_lines, pm_long w, pm_long side, pm_long split,
                              pm_long before, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= pairs) return;
  PM_GLOBAL pm_element* line = sinograms + offset + (first + y) * w;
  for (pm_long x = 0; x < w; ++x)
    part_column(padded + padded_offset + y * pitch + before, line, line + half_lines * w, side, split, x);
}

PM_REGISTERS(part_opposite_elements, 32)
PM_KERNEL(part_opposite_elements)(PM_GLOBAL const pm_element* padded, pm_long padded_offset, PM_GLOBAL pm_element* sinograms, pm_long offset,
                                  pm_long first, pm_long pairs, pm_long half_lines, pm_long w, pm_long side, pm_long split,
                                  pm_long before, pm_long pitch, pm_long row_step) {
  const pm_long x = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (x >= w || y0 >= row_step) return;
  for (pm_long y = y0; y < pairs; y += row_step) {
    PM_GLOBAL pm_element* line = sinograms + offset + (first + y) * w;
    part_column(padded + padded_offset + y * pitch + before, line, line + half_lines * w, side, split, x);
  }
}
