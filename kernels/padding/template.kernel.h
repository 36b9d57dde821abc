/* Mode constant of coords1d and coords2d: `padded` is a template (out_ny, out_nx) in memory, which has the values of
 * the border. See padding.kernel.h for the mapping.
 */

/* ---- coords1d: each output slice is the input slice, surrounded by the border of the template ---- */

PM_CPU_ONLY(frame_rows)
PM_KERNEL(frame_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL const pm_element* PM_RESTRICT padded,
 PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny, pm_long nx, pm_long out_ny, pm_long out_nx,
 pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, n * out_ny);
  const pm_long end = pad_x0 + nx;
  pm_element pending[PADDING_PENDING];
  padding_stream to = stream_at(out + first_row * out_nx, pending, past_cache);
  for (pm_long row = first_row; row < end_row; ++row) {
    const pm_long slice = row / out_ny;
    const pm_long padded_row = row - slice * out_ny;
    const pm_long y = padded_row - pad_y0;
    PM_GLOBAL const pm_element* border = padded + padded_row * out_nx;
    if (y < 0 || y >= ny) {
      append_run(&to, border, 1, out_nx);
      continue;
    }
    fetch_ahead(border + out_nx + end); /* right border of the next row; its left one is next to this row's right one */
    append_run(&to, border, 1, pad_x0);
    append_run(&to, in + (slice * ny + y) * nx, 1, nx);
    append_run(&to, border + end, 1, out_nx - end);
  }
  end_stream(&to);
}

PM_REGISTERS(frame_elements, 48)
PM_KERNEL(frame_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL const pm_element* PM_RESTRICT padded,
 PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny, pm_long nx, pm_long out_ny, pm_long out_nx,
 pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step, pm_int past_cache) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    const pm_long x = c - pad_x0;
    const pm_int is_whole = all_within(c, out_nx);
    const pm_int is_border = is_whole && (x + PADDING_LANES_GPU <= 0 || x >= nx);
    const pm_int is_centre = is_whole && all_within(x, nx);
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step, to += y_step * out_nx) {
      const pm_long y = row - pad_y0;
      const pm_int is_inside = y >= 0 && y < ny;
      PM_GLOBAL const pm_element* image_row = in + (slice * ny + y) * nx - pad_x0;
      PM_GLOBAL const pm_element* border_row = padded + row * out_nx;
      const pm_int from_image = is_centre && is_inside;
      PM_GLOBAL const pm_element* from = from_image ? image_row : border_row;
      PM_GLOBAL const pm_element* end = from_image ? in + n * ny * nx : padded + out_ny * out_nx;
      const pm_int is_run = is_border || (is_whole && !is_inside) || from_image;
      if (is_vector(lanes_from(c, is_run ? 1 : PADDING_MIXED), from, end)) {
        store_vector(to + c, vector_of(words_at(from + c)));
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          to[c + k] = is_inside && x + k >= 0 && x + k < nx ? image_row[c + k] : border_row[c + k];
        }
      }
    }
  }
}

/* ---- coords2d: one slice at a time is copied to the centre of the template, and the template to the output ---- */

PM_CPU_ONLY(embed_rows)
PM_KERNEL(embed_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT padded, pm_long slice,
 pm_long ny, pm_long nx, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, ny);
  pm_element pending[PADDING_PENDING];
  for (pm_long y = first_row; y < end_row; ++y) {
    padding_stream to = stream_at(padded + (pad_y0 + y) * out_nx + pad_x0, pending, past_cache);
    append_run(&to, in + (slice * ny + y) * nx, 1, nx);
    end_stream(&to);
  }
}

PM_REGISTERS(embed_elements, 32)
PM_KERNEL(embed_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT padded, pm_long slice,
 pm_long ny, pm_long nx, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  if (pm_global_y() >= y_step) return;
  PM_GLOBAL pm_element* to = padded + (pad_y0 + pm_global_y()) * out_nx + pad_x0;
  PM_GLOBAL const pm_element* from = in + (slice * ny + pm_global_y()) * nx;
  PM_GLOBAL const pm_element* slice_end = in + (slice + 1) * ny * nx;
  const pm_long x = vector_column(to, pm_global_x());
  if (x >= nx) return;
  const padding_lanes lanes = lanes_from(x, all_within(x, nx) ? 1 : PADDING_MIXED);
  PADDING_ROW_BY_ROW
  for (pm_long y = pm_global_y(); y < ny; y += y_step, to += y_step * out_nx, from += y_step * nx) {
    if (is_vector(lanes, from, slice_end)) {
      store_vector(to + x, vector_of(words_at(from + x)));
    } else {
      PADDING_LANE_BY_LANE
      for (pm_int k = 0; k < PADDING_LANES_GPU; ++k)
        if (x + k >= 0 && x + k < nx) to[x + k] = from[x + k];
    }
  }
}

/* Copies the template to a slice of the output. For CPUs, on which a copy command uses one thread. */
PM_CPU_ONLY(copy_image_rows)
PM_KERNEL(copy_image_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT padded, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long slice,
 pm_long out_ny, pm_long out_nx, pm_long y_step, pm_long z_step, pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  if (first_row >= out_ny) return;
  const pm_long rows = end_of_rows(first_row, y_step, out_ny) - first_row;
  pm_element pending[PADDING_PENDING];
  padding_stream to = stream_at(out + (slice * out_ny + first_row) * out_nx, pending, past_cache);
  append_run(&to, padded + first_row * out_nx, 1, rows * out_nx);
  end_stream(&to);
}
