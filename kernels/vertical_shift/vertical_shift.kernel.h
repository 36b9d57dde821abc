/* Shifts each radio of a stack (n_a, n_z, nx) by s = shifts[a] rows, with linear interpolation:
 *     new[z] = (1 - f) * r[z + S0] + f * r[z + S0 + 1],   S0 = floor(s), f = s - S0
 * Rows out of bounds are 0. A term with factor 0 is omitted, so an integer shift only moves rows.
 *
 * `_columns` and `_blocks` (variant fused) shift in place, in one launch for the stack. They process rows in ascending
 * order if S0 >= 0, else in descending order. So each row is read before it is overwritten.
 *   _columns, for GPUs: one work-group per strip of `width` columns of a radio.
 *   _blocks, for CPUs: one work-item per block of `width` columns of a radio; the compiler vectorises over x.
 * `_product` and `_add` are the two steps of the variant `temporaries`.
 */
typedef struct {
  pm_long s0;
  pm_element e; /* factor of row z + s0 */
  pm_element f; /* factor of row z + s0 + 1 */
} shift_t;

PM_DEVICE shift_t shift_of(float s, pm_long n_z) {
  shift_t shift;
  /* A shift by n_z rows or more leaves only zeros, and floor(s) might not fit 64 bits. NaN is treated alike. */
  const int beyond = !(s > -(float)n_z && s < (float)n_z);
  shift.s0 = beyond ? n_z : (pm_long)floor(s);
  shift.f = beyond ? 0 : (pm_element)s - (pm_element)shift.s0;
  shift.e = 1 - shift.f;
  return shift;
}

/* Rows that a work-item computes at once. It loads one row more, for the last sum, before the first store. */
#define SHIFT_ROWS 16

PM_DEVICE pm_int at_most(pm_long value, pm_int most) { return value < most ? (pm_int)(value < 0 ? 0 : value) : most; }

/* A group of `width` by `lines` items shifts a strip of `width` columns, lines * SHIFT_ROWS rows at a time. Each item
 * computes SHIFT_ROWS rows of one column. A barrier separates the loads of all items from their stores, and later loads
 * never read a stored row. So enough loads are in flight for full bandwidth, even with a single radio. */
PM_REGISTERS(vertical_shift_columns, 64)
PM_KERNEL(vertical_shift_columns)(PM_GLOBAL pm_element* radios, PM_GLOBAL const float* shifts, pm_long n_z, pm_long nx,
                                  pm_long width, pm_long lines, pm_long strips) {
  /* Uniform in a group, so that all of its items reach each barrier. */
  const pm_long strip = pm_global_x() / width;
  const pm_long a = strip / strips;
  const shift_t shift = shift_of(shifts[a], n_z);
  if (shift.s0 == 0 && shift.f == 0) return; /* no shift */
  const pm_long x = (strip - a * strips) * width + pm_local_x();
  const pm_int has_column = x < nx;
  /* Each new row has two source rows: `near` is the first in processing order, `far` the second. */
  const pm_int up = shift.s0 >= 0;
  const pm_long step = up ? nx : -nx;
  const pm_element of_near = up ? shift.e : shift.f;
  const pm_element of_far = up ? shift.f : shift.e;
  /* Counted in processing order, near is row k + ahead, far is row k + ahead + 1. */
  const pm_long ahead = up ? shift.s0 : -shift.s0 - 1;
  PM_GLOBAL pm_element* column = radios + a * n_z * nx + (up ? 0 : (n_z - 1) * nx) + x;
  for (pm_long first = pm_local_y() * SHIFT_ROWS; first - pm_local_y() * SHIFT_ROWS < n_z; first += lines * SHIFT_ROWS) {
    /* Numbers of rows and of source rows in bounds. */
    const pm_int rows = has_column ? at_most(n_z - first, SHIFT_ROWS) : 0;
    const pm_int sources = has_column ? at_most(n_z - first - ahead, SHIFT_ROWS + 1) : 0;
    PM_GLOBAL const pm_element* from = column + (first + ahead) * step;
    pm_element loaded[SHIFT_ROWS + 1];
    for (pm_int k = 0; k <= SHIFT_ROWS; ++k, from += step) loaded[k] = k < sources ? *from : 0;
    PM_BARRIER();
    PM_GLOBAL pm_element* to = column + first * step;
    for (pm_int k = 0; k < SHIFT_ROWS; ++k, to += step) {
      pm_element sum = 0;
      if (of_near != 0) sum += of_near * loaded[k];
      if (of_far != 0) sum += of_far * loaded[k + 1];
      if (k < rows) *to = sum;
    }
  }
}

/* If S0 is 0 or -1, a row is one of its own sources. Iterations over x are independent even then, but the compiler
 * cannot prove it. */
#if defined(__clang__) && !defined(__CUDACC__)
#define SHIFT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SHIFT_INDEPENDENT
#endif

/* Computes row z of a block of w columns. */
PM_DEVICE void shift_row(PM_GLOBAL pm_element* block, pm_long nx, pm_long w, pm_long n_z, pm_long z, shift_t shift) {
  const pm_long near = z + shift.s0;
  const pm_long far = near + 1;
  const int has_near = shift.e != 0 && near >= 0 && near < n_z;
  const int has_far = shift.f != 0 && far >= 0 && far < n_z;
  PM_GLOBAL pm_element* row = block + z * nx;
  PM_GLOBAL const pm_element* near_row = block + near * nx;
  PM_GLOBAL const pm_element* far_row = block + far * nx;
  if (has_near && has_far) {
    SHIFT_INDEPENDENT
    for (pm_long x = 0; x < w; ++x) row[x] = shift.e * near_row[x] + shift.f * far_row[x];
  } else if (has_near) {
    SHIFT_INDEPENDENT
    for (pm_long x = 0; x < w; ++x) row[x] = shift.e * near_row[x];
  } else if (has_far) {
    SHIFT_INDEPENDENT
    for (pm_long x = 0; x < w; ++x) row[x] = shift.f * far_row[x];
  } else {
    for (pm_long x = 0; x < w; ++x) row[x] = 0;
  }
}

/* Computes rows z to z + 3 of a block, whose five source rows must be in bounds. Each source row is loaded once, and
 * several streams reach more memory bandwidth than one. The loads of a column precede its stores, so the rows may be
 * among their own sources. */
PM_DEVICE void shift_four_rows(PM_GLOBAL pm_element* block, pm_long nx, pm_long w, pm_long z, shift_t shift) {
  PM_GLOBAL pm_element* to = block + z * nx;
  PM_GLOBAL const pm_element* from = block + (z + shift.s0) * nx;
  SHIFT_INDEPENDENT
  for (pm_long x = 0; x < w; ++x) {
    const pm_element r0 = from[x];
    const pm_element r1 = from[x + nx];
    const pm_element r2 = from[x + 2 * nx];
    const pm_element r3 = from[x + 3 * nx];
    const pm_element r4 = from[x + 4 * nx];
    to[x] = shift.e * r0 + shift.f * r1;
    to[x + nx] = shift.e * r1 + shift.f * r2;
    to[x + 2 * nx] = shift.e * r2 + shift.f * r3;
    to[x + 3 * nx] = shift.e * r3 + shift.f * r4;
  }
}

/* Copies rows z + offset to z + offset + 3 to rows z to z + 3, for an integer shift. */
PM_DEVICE void move_four_rows(PM_GLOBAL pm_element* block, pm_long nx, pm_long w, pm_long z, pm_long offset) {
  PM_GLOBAL pm_element* to = block + z * nx;
  PM_GLOBAL const pm_element* from = to + offset * nx;
  SHIFT_INDEPENDENT
  for (pm_long x = 0; x < w; ++x) {
    const pm_element r0 = from[x];
    const pm_element r1 = from[x + nx];
    const pm_element r2 = from[x + 2 * nx];
    const pm_element r3 = from[x + 3 * nx];
    to[x] = r0;
    to[x + nx] = r1;
    to[x + 2 * nx] = r2;
    to[x + 3 * nx] = r3;
  }
}

PM_CPU_ONLY(vertical_shift_blocks)
PM_KERNEL(vertical_shift_blocks)(PM_GLOBAL pm_element* radios, PM_GLOBAL const float* shifts, pm_long n_a,
                                 pm_long n_z, pm_long nx, pm_long width, pm_long blocks) {
  const pm_long i = pm_global_x();
  if (i >= n_a * blocks) return;
  const pm_long a = i / blocks;
  const pm_long x0 = (i - a * blocks) * width;
  const pm_long w = x0 + width <= nx ? width : nx - x0;
  PM_GLOBAL pm_element* block = radios + a * n_z * nx + x0;
  const shift_t shift = shift_of(shifts[a], n_z);
  if (shift.s0 == 0 && shift.f == 0) return; /* no shift */
  const int up = shift.s0 >= 0;
  const int sources = shift.e == 0 ? 0 : shift.f == 0 ? 4 : 5; /* source rows of four rows; 0: compute row by row */
  for (pm_long k = 0; k < n_z;) {
    const pm_long low = up ? k : n_z - 4 - k; /* the lowest of four rows */
    const pm_long first = low + shift.s0;
    if (sources > 0 && low >= 0 && low + 4 <= n_z && first >= 0 && first + sources <= n_z) {
      if (sources == 5)
        shift_four_rows(block, nx, w, low, shift);
      else
        move_four_rows(block, nx, w, low, shift.s0);
      k += 4;
    } else {
      shift_row(block, nx, w, n_z, up ? k : n_z - 1 - k, shift);
      k += 1;
    }
  }
}

/* product[x] = factor * radios[first + x] for x in [0, count), one work-item per `width` elements. The next kernel adds
 * the product to the shifted radio. */
PM_REGISTERS(vertical_shift_product, 24)
PM_KERNEL(vertical_shift_product)(PM_GLOBAL pm_element* product, PM_GLOBAL const pm_element* radios, pm_long first,
                                  pm_long count, pm_long width, pm_element factor) {
  const pm_long begin = pm_global_x() * width;
  const pm_long end = begin + width <= count ? begin + width : count;
  for (pm_long x = begin; x < end; ++x) product[x] = factor * radios[first + x];
}

PM_REGISTERS(vertical_shift_add, 24)
PM_KERNEL(vertical_shift_add)(PM_GLOBAL pm_element* shifted, PM_GLOBAL const pm_element* product, pm_long first,
                              pm_long count, pm_long width) {
  const pm_long begin = pm_global_x() * width;
  const pm_long end = begin + width <= count ? begin + width : count;
  for (pm_long x = begin; x < end; ++x) shifted[first + x] += product[x];
}
