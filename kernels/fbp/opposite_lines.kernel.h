/* Half-acquisition: the rotation axis is near one edge of the detector, the near edge. Line b = a + n_a/2, the opposite
 * of line a, is measured half a turn later. It has the columns beyond the near edge, mirrored.
 *
 * join_opposite joins each pair of lines of w columns to a line of `side` columns. Its column j is
 *     weight(i) * line_a[i] + (1 - weight(i)) * line_b[axis_a + axis_b - i],   i = j - added + moved
 * where line_b is interpolated linearly. The near edge is the last column of line a if `right` is 1, else its first.
 *
 * The weight falls linearly towards the near edge: from 1, through 1/2 at the mean axis (axis_a + axis_b) / 2, to 0 at
 * the edge and beyond. So a column that both lines have measured counts once. An index into line_b is clamped to
 * [0, w - 1], so that the joined line ends with measured values, which padding continues.
 *
 * The joined line is at column `before` of a padded line of `length` columns. Padded lines are `pitch` elements apart.
 *
 * part_opposite splits a filtered joined line: columns [0, split) replace line a, columns [split, side) replace line b.
 * The rest of both lines becomes 0.
 *
 * `mirrors` (n_a/2, 3) has three numbers per pair: floor and fraction of axis_a + axis_b - (w - 1), and `moved`. The
 * joined line is moved by this number of columns towards the near edge; it is negative if that is the first column.
 *
 * `_rows`, for CPUs: one work-item per pair.
 * `_elements`, for GPUs: work-item (x, y) processes pairs y, y + row_step, .... In join_opposite it computes four
 * columns of each, length/4 apart, so that loads are coalesced. In part_opposite it copies column x of both lines. The
 * launch has row_step items in y, because CUDA's maximum is 65,535 groups.
 */

/* What all columns of a joined line have in common. Columns are 32-bit, because `mirrors` has them as floats, which are
 * exact up to 2^24. */
typedef struct {
  PM_GLOBAL const pm_element* line;
  PM_GLOBAL const pm_element* opposite;
  pm_int last;  /* w - 1 */
  pm_int whole; /* column i of `line` is column whole - i + fraction of `opposite` */
  pm_int moved;
  pm_element fraction;
  pm_element slope; /* of the weight, per half column of distance from the mean axis */
} joined_line;

PM_DEVICE joined_line joined_line_of(PM_GLOBAL const pm_element* line, PM_GLOBAL const pm_element* opposite,
                                     PM_GLOBAL const pm_element* mirror, pm_long w, pm_int right) {
  joined_line joined;
  const pm_int whole = (pm_int)mirror[0];
  joined.line = line;
  joined.opposite = opposite;
  joined.last = (pm_int)w - 1;
  joined.whole = whole + joined.last;
  joined.moved = (pm_int)mirror[2];
  joined.fraction = mirror[1];
  /* Twice the distance from the mean axis to the near edge, in columns. */
  const pm_element to_edge = right ? (pm_element)(joined.last - whole) - mirror[1] : (pm_element)(joined.last + whole) + mirror[1];
  const pm_element slope = (pm_element)0.5 / (to_edge > 1 ? to_edge : 1);
  joined.slope = right ? -slope : slope;
  return joined;
}

/* Returns the value of the joined line at column i of line a, which may be out of bounds. The code has no branch, so
 * that the loads of several columns are in flight together. */
PM_DEVICE pm_element joined_column(const joined_line* joined, pm_int i) {
  const pm_int mirror = joined->whole - i;
  const pm_element low = joined->opposite[min(max(mirror, 0), joined->last)];
  const pm_element high = joined->opposite[min(max(mirror + 1, 0), joined->last)];
  const pm_int inside = min(max(i, 0), joined->last);
  const pm_element seen = joined->line[inside];
  const pm_element mirrored = low + joined->fraction * (high - low);
  const pm_element from_middle = (pm_element)(i - mirror) - joined->fraction;
  const pm_element ramp = fmin(fmax((pm_element)0.5 + joined->slope * from_middle, (pm_element)0), (pm_element)1);
  const pm_element weight = inside == i ? ramp : 0;
  return weight * seen + (1 - weight) * mirrored;
}

/* Returns the column of the joined line whose value is at column i of the padded line, or -1 if column i is 0. Outside
 * of the joined line, this is columns[i], or -1 if has_columns is 0. */
PM_DEVICE pm_int joined_from(PM_GLOBAL const pm_int* columns, pm_int has_columns, pm_long side, pm_long before, pm_long i) {
  const pm_long j = i - before;
  if (j >= 0 && j < side) return (pm_int)j;
  return has_columns ? columns[i] : -1;
}


PM_CPU_ONLY(join_opposite_rows)
PM_KERNEL(join_opposite_rows)(PM_GLOBAL const pm_element* sinograms, pm_long offset, PM_GLOBAL const pm_element* mirrors,
                              PM_GLOBAL const pm_int* columns, pm_int has_columns, PM_GLOBAL pm_element* padded,
                              pm_long padded_offset, pm_long first, pm_long pairs, pm_long half_lines, pm_long w, pm_long side,
                              pm_long added, pm_int right, pm_long before, pm_long length, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= pairs) return;
  PM_GLOBAL const pm_element* line = sinograms + offset + (first + y) * w;
  PM_GLOBAL pm_element* to = padded + padded_offset + y * pitch;
  const joined_line joined = joined_line_of(line, line + half_lines * w, mirrors + 3 * (first + y), w, right);
  for (pm_long i = 0; i < length; ++i) {
    const pm_int from = joined_from(columns, has_columns, side, before, i);
    to[i] = from < 0 ? 0 : joined_column(&joined, from - (pm_int)added + joined.moved);
  }
}

#define COLUMNS_AN_ITEM 4

PM_REGISTERS(join_opposite_elements, 48)
PM_KERNEL(join_opposite_elements)(PM_GLOBAL const pm_element* sinograms, pm_long offset,
                                  PM_GLOBAL const pm_element* mirrors, PM_GLOBAL const pm_int* columns,
                                  pm_int has_columns, PM_GLOBAL pm_element* padded, pm_long padded_offset, pm_long first,
                                  pm_long pairs, pm_long half_lines, pm_long w, pm_long side, pm_long added, pm_int right,
                                  pm_long before, pm_long length, pm_long pitch, pm_long row_step) {
  const pm_long column_step = (length + COLUMNS_AN_ITEM - 1) / COLUMNS_AN_ITEM;
  const pm_long i = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (i >= column_step || y0 >= row_step) return;
  const pm_int count = (pm_int)((length - i + column_step - 1) / column_step);
  pm_int from[COLUMNS_AN_ITEM];
#pragma unroll
  for (int k = 0; k < COLUMNS_AN_ITEM; ++k)
    from[k] = k < count ? joined_from(columns, has_columns, side, before, i + k * column_step) : -1;
  PM_GLOBAL const pm_element* line = sinograms + offset + (first + y0) * w;
  PM_GLOBAL const pm_element* opposite = line + half_lines * w;
  PM_GLOBAL const pm_element* mirror = mirrors + 3 * (first + y0);
  PM_GLOBAL pm_element* to = padded + padded_offset + y0 * pitch + i;
#pragma unroll 1
  for (pm_long y = y0; y < pairs; y += row_step) {
    const joined_line joined = joined_line_of(line, opposite, mirror, w, right);
    const pm_int moved = joined.moved - (pm_int)added;
    pm_element values[COLUMNS_AN_ITEM];
#pragma unroll
    for (int k = 0; k < COLUMNS_AN_ITEM; ++k) values[k] = joined_column(&joined, from[k] + moved);
#pragma unroll
    for (int k = 0; k < COLUMNS_AN_ITEM; ++k)
      if (k < count) to[k * column_step] = from[k] < 0 ? 0 : values[k];
    line += row_step * w;
    opposite += row_step * w;
    mirror += 3 * row_step;
    to += row_step * pitch;
  }
}

PM_DEVICE pm_element of_line(PM_GLOBAL const pm_element* from, pm_long split, pm_long x) { return x < split ? from[x] : 0; }

PM_DEVICE pm_element of_opposite(PM_GLOBAL const pm_element* from, pm_long side, pm_long split, pm_long x) {
  return split + x < side ? from[split + x] : 0;
}

PM_CPU_ONLY(part_opposite_rows)
PM_KERNEL(part_opposite_rows)(PM_GLOBAL const pm_element* padded, pm_long padded_offset, PM_GLOBAL pm_element* sinograms, pm_long offset,
                              pm_long first, pm_long pairs, pm_long half_lines, pm_long w, pm_long side, pm_long split,
                              pm_long before, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= pairs) return;
  PM_GLOBAL const pm_element* from = padded + padded_offset + y * pitch + before;
  PM_GLOBAL pm_element* line = sinograms + offset + (first + y) * w;
  for (pm_long x = 0; x < w; ++x) {
    line[x] = of_line(from, split, x);
    line[half_lines * w + x] = of_opposite(from, side, split, x);
  }
}

#define PAIRS_IN_FLIGHT 4

PM_REGISTERS(part_opposite_elements, 48)
PM_KERNEL(part_opposite_elements)(PM_GLOBAL const pm_element* padded, pm_long padded_offset, PM_GLOBAL pm_element* sinograms, pm_long offset,
                                  pm_long first, pm_long pairs, pm_long half_lines, pm_long w, pm_long side, pm_long split,
                                  pm_long before, pm_long pitch, pm_long row_step) {
  const pm_long x = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (x >= w || y0 >= row_step) return;
  PM_GLOBAL const pm_element* from = padded + padded_offset + y0 * pitch + before;
  PM_GLOBAL pm_element* line = sinograms + offset + (first + y0) * w + x;
#pragma unroll 1
  for (pm_long y = y0; y < pairs; y += PAIRS_IN_FLIGHT * row_step) {
    const pm_long left = pairs - y;
    pm_element values[PAIRS_IN_FLIGHT], opposite[PAIRS_IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < PAIRS_IN_FLIGHT; ++k, from += row_step * pitch)
      if (k * row_step < left) {
        values[k] = of_line(from, split, x);
        opposite[k] = of_opposite(from, side, split, x);
      }
#pragma unroll
    for (int k = 0; k < PAIRS_IN_FLIGHT; ++k, line += row_step * w)
      if (k * row_step < left) {
        line[0] = values[k];
        line[half_lines * w] = opposite[k];
      }
  }
}
