/* Padding of a stack (n, ny, nx) to (n, out_ny, out_nx), in peakmark's kernel language.
 *
 * Elements are moved and never computed with, so the host compiles this for the unsigned integer of an
 * element's size: no bit of a NaN changes and no device needs f64.
 *
 * Every kernel comes in two grains with the same arguments. `_rows`, for CPUs: a work-item owns a row
 * (gather_vectors: y_step rows) and moves it in runs, past the caches where `past_cache` says so.
 * `_elements`, for GPUs: a work-item owns a column, works out its source once, and takes rows y, y + y_step,
 * ... of slices z, z + z_step, ..., since CUDA ends at 65,535 groups in y and z.
 */

/* ---- Coordinates ---- */

PM_DEVICE pm_long clamped(pm_long i, pm_long extent) {
  if (i < 0) return 0;
  return i < extent ? i : extent - 1;
}

/* Where i falls in a period that starts at 0. One period to either side is the common case and needs no
 * division, which costs a GPU more than the load it feeds. */
PM_DEVICE pm_long phase_of(pm_long i, pm_long period) {
  if (i < 0) i += period;
  if (i >= period) i -= period;
  if (i < 0 || i >= period) {
    i %= period;
    if (i < 0) i += period;
  }
  return i;
}

/* Reflect, symmetric and wrap are one: an image that runs forward, then (unless it wraps) backward from
 * `top`. */
PM_DEVICE pm_long periodic(pm_long i, pm_long extent, pm_long period, pm_long top) {
  const pm_long phase = phase_of(i, period);
  return phase < extent ? phase : top - phase;
}

/* ---- Runs of a row ---- */

#if defined(__clang__) && !defined(__CUDACC__)
/* Where an output is larger than the caches (`past_cache`), whole vectors are stored past them: a cached
 * store would first read what it overwrites. The built-in is clang's, on which the CPU implementations of
 * OpenCL rest. */
#define PADDING_VECTORS 1
#if defined(PM_DTYPE_u64)
#define PADDING_LANES 8
typedef ulong8 padding_vector;
#define PADDING_REVERSED(v) (v).s76543210
#define PADDING_LOAD(p) vload8(0, p)
#else
#define PADDING_LANES 16
#if defined(PM_DTYPE_u8)
typedef uchar16 padding_vector;
#elif defined(PM_DTYPE_u16)
typedef ushort16 padding_vector;
#else
typedef uint16 padding_vector;
#endif
#define PADDING_REVERSED(v) (v).sfedcba9876543210
#define PADDING_LOAD(p) vload16(0, p)
#endif
#define PADDING_STORE_PAST_CACHE(v, p) __builtin_nontemporal_store(v, (PM_GLOBAL padding_vector*)(p))

/* Elements before the next place where a vector may be stored. */
PM_DEVICE pm_long head_of(PM_GLOBAL const pm_element* out, pm_long count) {
  const pm_long misplaced = (pm_long)(((pm_ulong)out / sizeof(pm_element)) & (PADDING_LANES - 1));
  const pm_long head = misplaced == 0 ? 0 : PADDING_LANES - misplaced;
  return head < count ? head : count;
}
#endif

PM_DEVICE void fill_run(PM_GLOBAL pm_element* out, pm_element value, pm_long count, pm_int past_cache) {
  pm_long i = 0;
#ifdef PADDING_VECTORS
  if (past_cache) {
    const padding_vector values = (padding_vector)(value);
    for (const pm_long head = head_of(out, count); i < head; ++i) out[i] = value;
    for (; i + PADDING_LANES <= count; i += PADDING_LANES) PADDING_STORE_PAST_CACHE(values, out + i);
  }
#endif
  for (; i < count; ++i) out[i] = value;
}

PM_DEVICE void copy_run(PM_GLOBAL pm_element* PM_RESTRICT out, PM_GLOBAL const pm_element* PM_RESTRICT in,
                        pm_long count, pm_int past_cache) {
  pm_long i = 0;
#ifdef PADDING_VECTORS
  if (past_cache) {
    for (const pm_long head = head_of(out, count); i < head; ++i) out[i] = in[i];
    for (; i + PADDING_LANES <= count; i += PADDING_LANES)
      PADDING_STORE_PAST_CACHE(PADDING_LOAD(in + i), out + i);
  }
#endif
  for (; i < count; ++i) out[i] = in[i];
}

/* out[i] = in[-i] */
PM_DEVICE void reverse_run(PM_GLOBAL pm_element* PM_RESTRICT out, PM_GLOBAL const pm_element* PM_RESTRICT in,
                           pm_long count, pm_int past_cache) {
  pm_long i = 0;
#ifdef PADDING_VECTORS
  if (past_cache) {
    for (const pm_long head = head_of(out, count); i < head; ++i) out[i] = in[-i];
    for (; i + PADDING_LANES <= count; i += PADDING_LANES) {
      const padding_vector backward = PADDING_LOAD(in - i - (PADDING_LANES - 1));
      PADDING_STORE_PAST_CACHE(PADDING_REVERSED(backward), out + i);
    }
  }
#endif
  for (; i < count; ++i) out[i] = in[-i];
}

/* ---- computed: no coordinates in memory ---- */

PM_CPU_ONLY(pad_constant_rows)
PM_KERNEL(pad_constant_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_ulong y0, pm_ulong y1, pm_ulong x0, pm_ulong x1) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long y = row - slice * out_ny - pad_y0;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  fill_run(to, (pm_element)x0, pad_x0, past_cache);
  to += pad_x0;
  if (y < 0)
    fill_run(to, (pm_element)y0, nx, past_cache);
  else if (y >= ny)
    fill_run(to, (pm_element)y1, nx, past_cache);
  else
    copy_run(to, in + (slice * ny + y) * nx, nx, past_cache);
  fill_run(to + nx, (pm_element)x1, out_nx - pad_x0 - nx, past_cache);
}

PM_CPU_ONLY(pad_edge_rows)
PM_KERNEL(pad_edge_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long y = clamped(row - slice * out_ny - pad_y0, ny);
  PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  fill_run(to, from[0], pad_x0, past_cache);
  copy_run(to + pad_x0, from, nx, past_cache);
  fill_run(to + pad_x0 + nx, from[nx - 1], out_nx - pad_x0 - nx, past_cache);
}

PM_CPU_ONLY(pad_periodic_rows)
PM_KERNEL(pad_periodic_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_long period_y, pm_long top_y, pm_long period_x, pm_long top_x) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long y = periodic(row - slice * out_ny - pad_y0, ny, period_y, top_y);
  PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  pm_long phase = phase_of(-pad_x0, period_x);
  pm_long left = out_nx;
  while (left > 0) {
    const pm_long end = phase < nx ? nx : period_x;
    const pm_long run = end - phase < left ? end - phase : left;
    if (phase < nx)
      copy_run(to, from + phase, run, past_cache);
    else
      reverse_run(to, from + (top_x - phase), run, past_cache);
    to += run;
    left -= run;
    phase = end < period_x ? end : 0;
  }
}

/* The item's rows are y, y + y_step, ...; its slices z, z + z_step, ...: CUDA ends at 65,535 groups in y and
 * z.
 */
PM_REGISTERS(pad_constant_elements, 56)
PM_KERNEL(pad_constant_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_ulong y0, pm_ulong y1, pm_ulong x0, pm_ulong x1) {
  const pm_long column = pm_global_x();
  if (column >= out_nx || pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  const pm_long x = column - pad_x0;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step)
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step) {
      const pm_long y = row - pad_y0;
      pm_element value;
      if (x < 0)
        value = (pm_element)x0;
      else if (x >= nx)
        value = (pm_element)x1;
      else if (y < 0)
        value = (pm_element)y0;
      else if (y >= ny)
        value = (pm_element)y1;
      else
        value = in[(slice * ny + y) * nx + x];
      out[(slice * out_ny + row) * out_nx + column] = value;
    }
}

PM_REGISTERS(pad_edge_elements, 56)
PM_KERNEL(pad_edge_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long column = pm_global_x();
  if (column >= out_nx || pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  const pm_long x = clamped(column - pad_x0, nx);
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step)
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step)
      out[(slice * out_ny + row) * out_nx + column] = in[(slice * ny + clamped(row - pad_y0, ny)) * nx + x];
}

PM_REGISTERS(pad_periodic_elements, 56)
PM_KERNEL(pad_periodic_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_long period_y, pm_long top_y, pm_long period_x, pm_long top_x) {
  const pm_long column = pm_global_x();
  if (column >= out_nx || pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  const pm_long x = periodic(column - pad_x0, nx, period_x, top_x);
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step)
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step) {
      const pm_long y = periodic(row - pad_y0, ny, period_y, top_y);
      out[(slice * out_ny + row) * out_nx + column] = in[(slice * ny + y) * nx + x];
    }
}

/* ---- coords1d: a source row for each row, a source column for each column ---- */

/* How many columns follow the first in equal steps. Stretches are compared whole, so that it is vectorised.
 */
#define PADDING_STRETCH 64
PM_DEVICE pm_long run_of(PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_int step, pm_long count) {
  const pm_int first = columns[0];
  pm_long run = 0;
  for (pm_int differing = 0; run + PADDING_STRETCH <= count; run += PADDING_STRETCH) {
    const pm_int expected = first + (pm_int)run * step;
    for (pm_int k = 0; k < PADDING_STRETCH; ++k) differing |= columns[run + k] ^ (expected + k * step);
    if (differing) break;
  }
  while (run < count && columns[run] == first + (pm_int)run * step) ++run;
  return run;
}

/* A work-item owns `y_step` rows. Columns of a padding are mostly neighbours, upward, downward or one and the
 * same: such runs are looked for once for all of its rows and moved as runs. */
PM_CPU_ONLY(gather_vectors_rows)
PM_KERNEL(gather_vectors_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = first_row + y_step < n * out_ny ? first_row + y_step : n * out_ny;
  for (pm_long x = 0; x < out_nx;) {
    const pm_long left = out_nx - x;
    const pm_int first = columns[x];
    const pm_int step = left > 1 ? columns[x + 1] - first : 0;
    pm_long run = step < -1 || step > 1 ? 1 : run_of(columns + x, step, left);
    const pm_int is_run = run >= 16;
    if (!is_run) run = left < PADDING_STRETCH ? left : PADDING_STRETCH;
    for (pm_long row = first_row; row < end_row; ++row) {
      const pm_long slice = row / out_ny;
      PM_GLOBAL const pm_element* from = in + (slice * ny + rows[row - slice * out_ny]) * nx;
      PM_GLOBAL pm_element* to = out + row * out_nx + x;
      if (!is_run)
        for (pm_long k = 0; k < run; ++k) to[k] = from[columns[x + k]];
      else if (step == 1)
        copy_run(to, from + first, run, past_cache);
      else if (step == 0)
        fill_run(to, from[first], run, past_cache);
      else
        reverse_run(to, from + first, run, past_cache);
    }
    x += run;
  }
}

PM_REGISTERS(gather_vectors_elements, 56)
PM_KERNEL(gather_vectors_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long column = pm_global_x();
  if (column >= out_nx || pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  const pm_long x = columns[column];
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step)
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step)
      out[(slice * out_ny + row) * out_nx + column] = in[(slice * ny + rows[row]) * nx + x];
}

/* ---- coords2d: a source row and a source column for each element of a padded image ---- */

PM_CPU_ONLY(gather_images_rows)
PM_KERNEL(gather_images_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long image_row = (row - slice * out_ny) * out_nx;
  PM_GLOBAL const pm_element* from = in + slice * ny * nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  for (pm_long i = 0; i < out_nx; ++i) to[i] = from[rows[image_row + i] * nx + columns[image_row + i]];
}

PM_REGISTERS(gather_images_elements, 72)
PM_KERNEL(gather_images_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out,
 PM_GLOBAL const pm_int* PM_RESTRICT rows, PM_GLOBAL const pm_int* PM_RESTRICT columns, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long column = pm_global_x();
  if (column >= out_nx || pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step)
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step) {
      const pm_long i = row * out_nx + column;
      out[slice * out_ny * out_nx + i] = in[(slice * ny + rows[i]) * nx + columns[i]];
    }
}

/* ---- The constant mode of coords1d: images within the border that a padded template has ---- */

PM_CPU_ONLY(frame_rows)
PM_KERNEL(frame_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL const pm_element* PM_RESTRICT padded,
 PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny, pm_long nx, pm_long out_ny, pm_long out_nx,
 pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long row = pm_global_x();
  if (row >= n * out_ny) return;
  const pm_long slice = row / out_ny;
  const pm_long padded_row = row - slice * out_ny;
  const pm_long y = padded_row - pad_y0;
  PM_GLOBAL const pm_element* border = padded + padded_row * out_nx;
  PM_GLOBAL pm_element* to = out + row * out_nx;
  if (y < 0 || y >= ny) {
    copy_run(to, border, out_nx, past_cache);
    return;
  }
  const pm_long end = pad_x0 + nx;
  copy_run(to, border, pad_x0, past_cache);
  copy_run(to + pad_x0, in + (slice * ny + y) * nx, nx, past_cache);
  copy_run(to + end, border + end, out_nx - end, past_cache);
}

PM_REGISTERS(frame_elements, 56)
PM_KERNEL(frame_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL const pm_element* PM_RESTRICT padded,
 PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny, pm_long nx, pm_long out_ny, pm_long out_nx,
 pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long column = pm_global_x();
  if (column >= out_nx || pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  const pm_long x = column - pad_x0;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step)
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step) {
      const pm_long y = row - pad_y0;
      const pm_int inside = x >= 0 && x < nx && y >= 0 && y < ny;
      out[(slice * out_ny + row) * out_nx + column] =
          inside ? in[(slice * ny + y) * nx + x] : padded[row * out_nx + column];
    }
}

/* ---- The constant mode of coords2d: an image into the centre of a padded template ---- */

PM_CPU_ONLY(embed_rows)
PM_KERNEL(embed_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT padded, pm_long slice,
 pm_long ny, pm_long nx, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long y = pm_global_x();
  if (y >= ny) return;
  copy_run(padded + (pad_y0 + y) * out_nx + pad_x0, in + (slice * ny + y) * nx, nx, past_cache);
}

PM_REGISTERS(embed_elements, 32)
PM_KERNEL(embed_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT padded, pm_long slice,
 pm_long ny, pm_long nx, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long x = pm_global_x();
  if (x >= nx || pm_global_y() >= y_step) return;
  for (pm_long y = pm_global_y(); y < ny; y += y_step)
    padded[(pad_y0 + y) * out_nx + pad_x0 + x] = in[(slice * ny + y) * nx + x];
}

/* A device copy of the template, for devices on which a copy command is slower than a kernel. */
PM_CPU_ONLY(copy_image_rows)
PM_KERNEL(copy_image_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT padded, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long slice,
 pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long y = pm_global_x();
  if (y >= out_ny) return;
  copy_run(out + (slice * out_ny + y) * out_nx, padded + y * out_nx, out_nx, past_cache);
}
