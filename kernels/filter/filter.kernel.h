/* Lines of sinograms on their way to a filter and back.
 *
 * Padded lines and spectra lie `pitch` floats apart; a complex element is two floats. Two grains: `_rows` makes a
 * work-item of each line, for CPU devices, which vectorise the loop over x; `_elements` makes one of each column and
 * steps through the lines by row_step, which CUDA limits.
 */

/* Where element i of a padded line comes from: the line itself, or, beside it, the column that `columns` names; without
 * columns, a zero. */
PM_DEVICE pm_element padded_element(PM_GLOBAL const pm_element* line, PM_GLOBAL const pm_int* columns, pm_int has_columns,
                                    pm_long w, pm_long before, pm_long i) {
  const pm_long x = i - before;
  if (x >= 0 && x < w) return line[x];
  return has_columns ? line[columns[i]] : (pm_element)0;
}

PM_CPU_ONLY(pad_lines_rows)
PM_KERNEL(pad_lines_rows)(PM_GLOBAL const pm_element* sinogram, PM_GLOBAL const pm_int* columns, pm_int has_columns,
                          PM_GLOBAL pm_element* padded, pm_long first, pm_long lines, pm_long w, pm_long before,
                          pm_long length, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= lines) return;
  PM_GLOBAL const pm_element* line = sinogram + (first + y) * w;
  PM_GLOBAL pm_element* to = padded + y * pitch;
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
                              pm_int has_columns, PM_GLOBAL pm_element* padded, pm_long first, pm_long lines,
                              pm_long w, pm_long before, pm_long length, pm_long pitch, pm_long row_step) {
  const pm_long i = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (i >= length || y0 >= row_step) return;
  for (pm_long y = y0; y < lines; y += row_step)
    padded[y * pitch + i] = padded_element(sinogram + (first + y) * w, columns, has_columns, w, before, i);
}

PM_CPU_ONLY(crop_lines_rows)
PM_KERNEL(crop_lines_rows)(PM_GLOBAL const pm_element* padded, PM_GLOBAL pm_element* sinogram, pm_long first,
                           pm_long lines, pm_long w, pm_long before, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= lines) return;
  PM_GLOBAL const pm_element* from = padded + y * pitch + before;
  PM_GLOBAL pm_element* line = sinogram + (first + y) * w;
  for (pm_long x = 0; x < w; ++x) line[x] = from[x];
}

PM_REGISTERS(crop_lines_elements, 32)
PM_KERNEL(crop_lines_elements)(PM_GLOBAL const pm_element* padded, PM_GLOBAL pm_element* sinogram, pm_long first,
                               pm_long lines, pm_long w, pm_long before, pm_long pitch, pm_long row_step) {
  const pm_long x = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (x >= w || y0 >= row_step) return;
  for (pm_long y = y0; y < lines; y += row_step) sinogram[(first + y) * w + x] = padded[y * pitch + before + x];
}

/* Element k of each spectrum times filter[k], or, for a filter that is imaginary, times i * filter[k]. */
PM_DEVICE void filter_element(PM_GLOBAL pm_element* at, pm_element factor, pm_int imaginary) {
  const pm_element real = at[0];
  const pm_element other = at[1];
  at[0] = imaginary ? -other * factor : real * factor;
  at[1] = imaginary ? real * factor : other * factor;
}

PM_CPU_ONLY(filter_spectra_rows)
PM_KERNEL(filter_spectra_rows)(PM_GLOBAL pm_element* spectra, PM_GLOBAL const pm_element* filter, pm_int imaginary,
                               pm_long lines, pm_long frequencies, pm_long pitch) {
  const pm_long y = pm_global_x();
  if (y >= lines) return;
  PM_GLOBAL pm_element* at = spectra + y * pitch;
  for (pm_long k = 0; k < frequencies; ++k) filter_element(at + 2 * k, filter[k], imaginary);
}

PM_REGISTERS(filter_spectra_elements, 32)
PM_KERNEL(filter_spectra_elements)(PM_GLOBAL pm_element* spectra, PM_GLOBAL const pm_element* filter,
                                   pm_int imaginary, pm_long lines, pm_long frequencies, pm_long pitch,
                                   pm_long row_step) {
  const pm_long k = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (k >= frequencies || y0 >= row_step) return;
  for (pm_long y = y0; y < lines; y += row_step) filter_element(spectra + y * pitch + 2 * k, filter[k], imaginary);
}
