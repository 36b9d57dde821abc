/* Kernels around the FFTs of a filter: pad the lines of a sinogram, multiply spectra by the filter, crop the result.
 *
 * A sinogram has `w` floats per line, without gaps. Padded lines and spectra are `pitch` floats apart. A complex
 * element is two floats: real part, imaginary part.
 *
 * `_rows`, for CPUs: one work-item per line; the compiler vectorises the loop over the columns.
 * `_elements`, for GPUs: work-item (x, y) processes column or frequency x of lines y, y + row_step, .... The launch has
 * row_step items in y, because CUDA's maximum is 65,535 groups. An item loads LINES_IN_FLIGHT elements before it stores
 * the first, so that their loads are in flight together.
 */

#define LINES_IN_FLIGHT 4

/* Copies lines [first, first + lines) to columns [before, before + w) of padded lines of `length` columns. Any other
 * column i is line[columns[i]], or 0 if has_columns is 0. */
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

/* Copies columns [before, before + w) of padded lines back to lines [first, first + lines). */
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

/* Multiplies a complex element by `factor`, or by i * factor if `imaginary`. */
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

/* Returns the same product, for a load and a store of 8 bytes, which must be aligned. `other` is -factor if
 * `imaginary`, else `factor`. */
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
