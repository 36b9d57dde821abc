/* Lines of sinograms on their way to a filter and back.
 *
 * Padded lines and spectra lie `pitch` floats apart; a complex element is two floats. Two grains: `_rows` makes a
 * work-item of each line, for CPU devices, which vectorise the loop over x; `_elements` makes one of each column and
 * steps through the lines by row_step, which CUDA limits, four lines at a time: their loads are in flight together.
 */

#define LINES_IN_FLIGHT 4

/* An element beside the line is the one that `columns` names; without columns, a zero. */
PM_CPU_ONLY(pad_lines_rows)
PM_KERNEL(pad_lines_rows)(PM_GLOBAL const pm_element* sinogram, PM_GLOBAL const pm_int* columns, pm_int has_columns,
                          PM_GLOBAL pm_element* padded, pm_long offset, pm_long first, pm_long lines, pm_long w, pm_long before,
                          pm_long length, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= lines) return;
  PM_GLOBAL const pm_element* line = sinogram + (first + y) * w;
  PM_GLOBAL pm_element* to = padded + offset + y * pitch;
  if (has_columns) {
    for (pm_long i = 0; i < before; ++i) to[i] = line[columns[i]];
    for (pm_long i = before + w; i < length; ++i) to[i] = line[columns[i]];
  } else {
    for (pm_long i = 0; i < before; ++i) to[i] = 0;
    for (pm_long i = before + w; i < length; ++i) to[i] = 0;
  }
  for (pm_long x = 0; x < w; ++x) to[before + x] = line[x];
}

PM_REGISTERS(pad_lines_elements, 32)
PM_KERNEL(pad_lines_elements)(PM_GLOBAL const pm_element* sinogram, PM_GLOBAL const pm_int* columns,
                              pm_int has_columns, PM_GLOBAL pm_element* padded, pm_long offset, pm_long first, pm_long lines,
                              pm_long w, pm_long before, pm_long length, pm_long pitch, pm_long row_step) {
  const pm_long i = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (i >= length || y0 >= row_step) return;
  const pm_long x = i - before;
  const int inside = x >= 0 && x < w;
  const int filled = inside || has_columns;
  PM_GLOBAL const pm_element* from = sinogram + (first + y0) * w + (inside ? x : has_columns ? columns[i] : 0);
  PM_GLOBAL pm_element* to = padded + offset + y0 * pitch + i;
  pm_long y = y0;
  for (; y + (LINES_IN_FLIGHT - 1) * row_step < lines; y += LINES_IN_FLIGHT * row_step) {
    pm_element values[LINES_IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < LINES_IN_FLIGHT; ++k, from += row_step * w) values[k] = filled ? *from : 0;
#pragma unroll
    for (int k = 0; k < LINES_IN_FLIGHT; ++k, to += row_step * pitch) *to = values[k];
  }
#pragma unroll 1
  for (; y < lines; y += row_step, from += row_step * w, to += row_step * pitch) *to = filled ? *from : 0;
}

PM_CPU_ONLY(crop_lines_rows)
PM_KERNEL(crop_lines_rows)(PM_GLOBAL const pm_element* padded, pm_long offset, PM_GLOBAL pm_element* sinogram, pm_long first,
                           pm_long lines, pm_long w, pm_long before, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= lines) return;
  PM_GLOBAL const pm_element* from = padded + offset + y * pitch + before;
  PM_GLOBAL pm_element* line = sinogram + (first + y) * w;
  for (pm_long x = 0; x < w; ++x) line[x] = from[x];
}

PM_REGISTERS(crop_lines_elements, 32)
PM_KERNEL(crop_lines_elements)(PM_GLOBAL const pm_element* padded, pm_long offset, PM_GLOBAL pm_element* sinogram, pm_long first,
                               pm_long lines, pm_long w, pm_long before, pm_long pitch, pm_long row_step) {
  const pm_long x = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (x >= w || y0 >= row_step) return;
  PM_GLOBAL const pm_element* from = padded + offset + y0 * pitch + before + x;
  PM_GLOBAL pm_element* to = sinogram + (first + y0) * w + x;
  pm_long y = y0;
  for (; y + (LINES_IN_FLIGHT - 1) * row_step < lines; y += LINES_IN_FLIGHT * row_step) {
    pm_element values[LINES_IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < LINES_IN_FLIGHT; ++k, from += row_step * pitch) values[k] = *from;
#pragma unroll
    for (int k = 0; k < LINES_IN_FLIGHT; ++k, to += row_step * w) *to = values[k];
  }
#pragma unroll 1
  for (; y < lines; y += row_step, from += row_step * pitch, to += row_step * w) *to = *from;
}

/* Element k of each spectrum times filter[k], or, for a filter that is imaginary, times i * filter[k]. */
PM_DEVICE void filter_element(PM_GLOBAL pm_element* at, pm_element factor, pm_int imaginary) {
  const pm_element real = at[0];
  const pm_element other = at[1];
  at[0] = imaginary ? -other * factor : real * factor;
  at[1] = imaginary ? real * factor : other * factor;
}

PM_CPU_ONLY(filter_spectra_rows)
PM_KERNEL(filter_spectra_rows)(PM_GLOBAL pm_element* spectra, pm_long offset, PM_GLOBAL const pm_element* filter, pm_int imaginary,
                               pm_long lines, pm_long frequencies, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= lines) return;
  PM_GLOBAL pm_element* at = spectra + offset + y * pitch;
  for (pm_long k = 0; k < frequencies; ++k) filter_element(at + 2 * k, filter[k], imaginary);
}

/* A complex element, which lies at a multiple of 8 bytes, times the factor: -i becomes the sign of `other`. */
PM_DEVICE float2 filtered(float2 value, float factor, float other, pm_int imaginary) {
  float2 result;
  result.x = (imaginary ? value.y : value.x) * other;
  result.y = (imaginary ? value.x : value.y) * factor;
  return result;
}

PM_REGISTERS(filter_spectra_elements, 32)
PM_KERNEL(filter_spectra_elements)(PM_GLOBAL pm_element* spectra, pm_long offset, PM_GLOBAL const pm_element* filter,
                                   pm_int imaginary, pm_long lines, pm_long frequencies, pm_long pitch,
                                   pm_long row_step) {
  const pm_long k = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (k >= frequencies || y0 >= row_step) return;
  const pm_element factor = filter[k];
  const pm_element other = imaginary ? -factor : factor;
  PM_GLOBAL float2* at = (PM_GLOBAL float2*)(spectra + offset + y0 * pitch + 2 * k);
  PM_GLOBAL const float2* from = at;
  const pm_long step = row_step * (pitch / 2);
  pm_long y = y0;
  for (; y + (LINES_IN_FLIGHT - 1) * row_step < lines; y += LINES_IN_FLIGHT * row_step) {
    float2 values[LINES_IN_FLIGHT];
#pragma unroll
    for (int j = 0; j < LINES_IN_FLIGHT; ++j, from += step) values[j] = *from;
#pragma unroll
    for (int j = 0; j < LINES_IN_FLIGHT; ++j, at += step) *at = filtered(values[j], factor, other, imaginary);
  }
#pragma unroll 1
  for (; y < lines; y += row_step, at += step) *at = filtered(*at, factor, other, imaginary);
}
