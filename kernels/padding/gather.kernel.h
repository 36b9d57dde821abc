/* Padding by int32 source coordinates in memory: coords1d, coords2d, and mode custom of every variant. See
 * padding.kernel.h for the mapping.
 */

/* ---- coords1d: rows[y] is the source row of output row y, columns[x] the source column of output column x ---- */

/* Columns that run_of() compares at once. */
#define PADDING_STRETCH 128
/* Returns the number of leading columns with columns[k] = columns[0] + k * step. Under clang, explicit vectors compare
 * them, because clang does not vectorise the loop. */
PM_DEVICE pm_long run_of(PM_GLOBAL const pm_int* columns, pm_int step, pm_long count) {
  const pm_int first = columns[0];
  pm_long run = 0;
#ifdef PADDING_VECTORS
  const int16 steps = step * (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; run + PADDING_STRETCH <= count; run += PADDING_STRETCH) {
    int16 differing = 0;
    _Pragma("unroll") for (pm_int k = 0; k < PADDING_STRETCH; k += 16)
      differing |= vload16(0, columns + run + k) ^ (steps + (first + (pm_int)(run + k) * step));
    const int8 half_of_it = differing.lo | differing.hi;
    const long2 rest = as_long2(half_of_it.lo | half_of_it.hi);
    if ((rest.x | rest.y) != 0) break; /* PoCL 3.1 compiles any() to 30 instructions */
  }
#endif
  while (run < count && columns[run] == first + (pm_int)run * step) ++run;
  return run;
}

/* Consecutive elements of an output row. Their source columns have a common step, or any order (PADDING_MIXED). */
typedef struct {
  pm_long first; /* source column of the first element; PADDING_MIXED: its output column */
  pm_long count;
  pm_int step; /* 1, 0, -1 or PADDING_MIXED */
} padding_run;
/* A shorter run becomes PADDING_MIXED. */
#define PADDING_SHORTEST_RUN 4
/* Maximum of runs found at once. A padded row usually has fewer; columns without order need several passes. */
#define PADDING_RUNS 16

/* Finds up to PADDING_RUNS runs, beginning at output column x. Returns the column after the last of them. */
PM_DEVICE pm_long find_runs(padding_run* runs, pm_int* found, PM_GLOBAL const pm_int* columns, pm_long x,
                            pm_long out_nx) {
  pm_int last = -1;
  while (x < out_nx) {
    const pm_long left = out_nx - x;
    const pm_int first = columns[x];
    pm_int step = left > 1 ? columns[x + 1] - first : 0;
    pm_long count = step < -1 || step > 1 ? 1 : run_of(columns + x, step, left);
    if (count < PADDING_SHORTEST_RUN) {
      count = left < PADDING_SHORTEST_RUN ? left : PADDING_SHORTEST_RUN;
      step = PADDING_MIXED;
    }
    if (last >= 0 && step == PADDING_MIXED && runs[last].step == PADDING_MIXED) {
      runs[last].count += count;
    } else {
      if (last + 1 == PADDING_RUNS) break;
      ++last;
      runs[last].first = step == PADDING_MIXED ? x : first;
      runs[last].count = count;
      runs[last].step = step;
    }
    x += count;
  }
  *found = last + 1;
  return x;
}

/* The source columns of a padding are mostly runs with step 1, -1 or 0. A work-item finds the runs once for all of its
 * rows. A row with more than PADDING_RUNS runs is written in several passes, each over a range of columns. */
PM_CPU_ONLY(gather_vectors_rows)
PM_KERNEL(gather_vectors_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, n * out_ny);
  padding_run runs[PADDING_RUNS];
  pm_element pending[PADDING_PENDING];
  for (pm_long x = 0, end; x < out_nx; x = end) {
    pm_int found;
    end = find_runs(runs, &found, columns, x, out_nx);
    padding_stream to = stream_at(out + first_row * out_nx + x, pending, past_cache);
    for (pm_long row = first_row; row < end_row; ++row) {
      const pm_long slice = row / out_ny;
      PM_GLOBAL const pm_element* from = in + (slice * ny + rows[row - slice * out_ny]) * nx;
      if (end - x != out_nx && row != first_row) {
        end_stream(&to);
        to = stream_at(out + row * out_nx + x, pending, past_cache);
      }
      for (pm_int i = 0; i < found; ++i) {
        const padding_run run = runs[i];
        if (run.step == PADDING_MIXED)
          append_gathered(&to, from, columns + run.first, run.count);
        else if (run.step == 1)
          append_run(&to, from + run.first, 1, run.count);
        else if (run.step == 0)
          append_fill(&to, from[run.first], run.count);
        else
          append_run(&to, from + run.first, -1, run.count);
      }
    }
    end_stream(&to);
  }
}

/* Returns the sources of a whole vector: a run if its columns have a common step of 1, 0 or -1, else PADDING_MIXED. */
PM_DEVICE padding_lanes lanes_of_columns(PM_GLOBAL const pm_int* PM_RESTRICT columns) {
  const pm_int first = columns[0];
  const pm_int step = columns[1] - first;
  pm_int differing = step < -1 || step > 1;
  for (pm_int k = 2; k < PADDING_LANES_GPU; ++k) differing |= columns[k] ^ (first + k * step);
  return lanes_from(first, differing ? PADDING_MIXED : step);
}

PM_REGISTERS(gather_vectors_elements, 56)
PM_KERNEL(gather_vectors_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    PM_GLOBAL const pm_element* image = in + slice * ny * nx;
    padding_lanes lanes = lanes_from(0, PADDING_MIXED);
    if (all_within(c, out_nx)) lanes = lanes_of_columns(columns + c);
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += 2 * y_step, to += 2 * y_step * out_nx) {
      const pm_int has_next = row + y_step < out_ny;
      PM_GLOBAL pm_element* to_next = has_next ? to + y_step * out_nx : to;
      PM_GLOBAL const pm_element* from = image + rows[row] * nx;
      PM_GLOBAL const pm_element* from_next = has_next ? image + rows[row + y_step] * nx : from;
      if (is_vector(lanes, from, in_end) && is_vector(lanes, from_next, in_end)) {
        move_runs(to + c, to_next + c, lanes, from, from_next);
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          const pm_element value = from[columns[c + k]], value_next = from_next[columns[c + k]];
          to[c + k] = value;
          to_next[c + k] = value_next;
        }
      }
    }
  }
}

/* ---- coords2d: `rows` and `columns` are images (out_ny, out_nx): the source row and column of each element ---- */

PM_CPU_ONLY(gather_images_rows)
PM_KERNEL(gather_images_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, n * out_ny);
  for (pm_long row = first_row; row < end_row; ++row) {
    const pm_long slice = row / out_ny;
    const pm_long image_row = (row - slice * out_ny) * out_nx;
    PM_GLOBAL const pm_element* from = in + slice * ny * nx;
    PM_GLOBAL pm_element* to = out + row * out_nx;
    for (pm_long i = 0; i < out_nx; ++i) to[i] = from[rows[image_row + i] * nx + columns[image_row + i]];
  }
}

/* Elements per work-item of gather_images_elements: 4; u64: 2. */
#define PADDING_GATHERED (PADDING_LANES_GPU < 4 ? PADDING_LANES_GPU : 4)
/* Slices whose loads are issued before the first store. */
#define PADDING_SLICES 2

/* Stores the first `count` values, with one store if `count` is PADDING_GATHERED and `to` is aligned. */
PM_DEVICE void store_gathered(PM_GLOBAL pm_element* to, const pm_element* values, pm_int count) {
#if defined(PM_DTYPE_u8)
  if (count == 4 && ((pm_ulong)to & 3) == 0) {
    *(PM_GLOBAL pm_uint*)to = values[0] | (pm_uint)values[1] << 8 | (pm_uint)values[2] << 16 | (pm_uint)values[3] << 24;
    return;
  }
#elif defined(PM_DTYPE_u16)
  if (count == 4 && ((pm_ulong)to & 7) == 0) {
    *(PM_GLOBAL pm_ulong*)to = (values[0] | (pm_uint)values[1] << 16) | (pm_ulong)(values[2] | (pm_uint)values[3] << 16) << 32;
    return;
  }
#elif defined(PM_DTYPE_u32)
  if (count == 4 && ((pm_ulong)to & 15) == 0) {
    pm_uint4 v;
    v.x = values[0];
    v.y = values[1];
    v.z = values[2];
    v.w = values[3];
    store_vector(to, v);
    return;
  }
#else
  if (count == 2 && ((pm_ulong)to & 15) == 0) {
    pm_uint4 v;
    v.x = (pm_uint)values[0];
    v.y = (pm_uint)(values[0] >> 32);
    v.z = (pm_uint)values[1];
    v.w = (pm_uint)(values[1] >> 32);
    store_vector(to, v);
    return;
  }
#endif
  for (pm_int k = 0; k < PADDING_GATHERED; ++k)
    if (k < count) to[k] = values[k];
}

/* Work-item (x, z) owns PADDING_GATHERED consecutive elements of the padded image, which may span rows. It reads their
 * coordinates once, for slices z, z + z_step, .... */
PM_REGISTERS(gather_images_elements, 40)
PM_KERNEL(gather_images_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long image = out_ny * out_nx;
  const pm_long i = pm_global_x() * PADDING_GATHERED;
  if (i >= image || pm_global_z() >= z_step) return;
  const pm_int count = i + PADDING_GATHERED <= image ? PADDING_GATHERED : (pm_int)(image - i);
  pm_long sources[PADDING_GATHERED];
  for (pm_int k = 0; k < PADDING_GATHERED; ++k)
    sources[k] = k < count ? (pm_long)rows[i + k] * nx + columns[i + k] : 0;
  for (pm_long slice = pm_global_z(); slice < n; slice += PADDING_SLICES * z_step) {
    pm_element values[PADDING_SLICES][PADDING_GATHERED];
    for (pm_int s = 0; s < PADDING_SLICES; ++s)
      for (pm_int k = 0; k < PADDING_GATHERED; ++k)
        values[s][k] = slice + s * z_step < n ? in[(slice + s * z_step) * ny * nx + sources[k]] : 0;
    for (pm_int s = 0; s < PADDING_SLICES; ++s)
      if (slice + s * z_step < n) store_gathered(out + (slice + s * z_step) * image + i, values[s], count);
  }
}

