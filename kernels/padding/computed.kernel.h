/* Padding without coordinates in memory: each work-item computes the source of its elements. Mode constant has a
 * kernel, edge another, and the periodic modes reflect, symmetric and wrap share one. See padding.kernel.h for the
 * mapping.
 */



PM_DEVICE pm_long clamped(pm_long i, pm_long extent) {
  if (i < 0) return 0;
  return i < extent ? i : extent - 1;
}

/* Returns i modulo `period`, in [0, period). An i at most one period out of bounds is the common case. It needs no
 * 64-bit division, which takes a GPU longer than the load that depends on it. */
PM_DEVICE pm_long phase_of(pm_long i, pm_long period) {
  if (i < 0) i += period;
  if (i >= period) i -= period;
  if (i < 0 || i >= period) {
    i %= period;
    if (i < 0) i += period;
  }
  return i;
}

/* Returns the source of index i. The host gives period and top for each mode, with e = extent:
 *     wrap       period = e,      top is unused
 *     symmetric  period = 2e,     top = 2e - 1
 *     reflect    period = 2e - 2, top = 2e - 2; if e = 1: period = 1
 */
PM_DEVICE pm_long periodic(pm_long i, pm_long extent, pm_long period, pm_long top) {
  const pm_long phase = phase_of(i, period);
  return phase < extent ? phase : top - phase;
}

/* y0, y1, x0 and x1 are the bits of the values above, below, left and right. Corners have those of left and right. */
PM_CPU_ONLY(pad_constant_rows)
PM_KERNEL(pad_constant_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_ulong y0, pm_ulong y1, pm_ulong x0, pm_ulong x1) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, n * out_ny);
  pm_element pending[PADDING_PENDING];
  padding_stream to = stream_at(out + first_row * out_nx, pending, past_cache);
  for (pm_long row = first_row; row < end_row; ++row) {
    const pm_long slice = row / out_ny;
    const pm_long y = row - slice * out_ny - pad_y0;
    append_fill(&to, (pm_element)x0, pad_x0);
    if (y < 0 || y >= ny)
      append_fill(&to, (pm_element)(y < 0 ? y0 : y1), nx);
    else
      append_run(&to, in + (slice * ny + y) * nx, 1, nx);
    append_fill(&to, (pm_element)x1, out_nx - pad_x0 - nx);
  }
  end_stream(&to);
}

PM_CPU_ONLY(pad_edge_rows)
PM_KERNEL(pad_edge_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, n * out_ny);
  pm_element pending[PADDING_PENDING];
  padding_stream to = stream_at(out + first_row * out_nx, pending, past_cache);
  for (pm_long row = first_row; row < end_row; ++row) {
    const pm_long slice = row / out_ny;
    const pm_long y = clamped(row - slice * out_ny - pad_y0, ny);
    PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
    append_fill(&to, from[0], pad_x0);
    append_run(&to, from, 1, nx);
    append_fill(&to, from[nx - 1], out_nx - pad_x0 - nx);
  }
  end_stream(&to);
}

PM_CPU_ONLY(pad_periodic_rows)
PM_KERNEL(pad_periodic_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_long period_y, pm_long top_y, pm_long period_x, pm_long top_x) {
  const pm_long first_row = pm_global_x() * y_step;
  const pm_long end_row = end_of_rows(first_row, y_step, n * out_ny);
  const pm_long first_phase = phase_of(-pad_x0, period_x);
  pm_element pending[PADDING_PENDING];
  padding_stream to = stream_at(out + first_row * out_nx, pending, past_cache);
  for (pm_long row = first_row; row < end_row; ++row) {
    const pm_long slice = row / out_ny;
    const pm_long y = periodic(row - slice * out_ny - pad_y0, ny, period_y, top_y);
    PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
    pm_long phase = first_phase;
    for (pm_long left = out_nx; left > 0;) {
      const pm_long end = phase < nx ? nx : period_x;
      const pm_long run = end - phase < left ? end - phase : left;
      if (phase < nx)
        append_run(&to, from + phase, 1, run);
      else
        append_run(&to, from + (top_x - phase), -1, run);
      left -= run;
      phase = end < period_x ? end : 0;
    }
  }
  end_stream(&to);
}

/* Returns whether all lanes of a vector at column c are in [0, width). */
PM_DEVICE pm_int all_within(pm_long c, pm_long width) { return c >= 0 && c + PADDING_LANES_GPU <= width; }

PM_REGISTERS(pad_constant_elements, 48)
PM_KERNEL(pad_constant_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_ulong y0, pm_ulong y1, pm_ulong x0, pm_ulong x1) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    const pm_long x = c - pad_x0;
    const pm_int is_whole = all_within(c, out_nx);
    const pm_int is_border = is_whole && (x + PADDING_LANES_GPU <= 0 || x >= nx);
    const padding_lanes lanes = lanes_from(x, is_whole && all_within(x, nx) ? 1 : PADDING_MIXED);
    const pm_element side = (pm_element)(x < 0 ? x0 : x1);
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += y_step, to += y_step * out_nx) {
      const pm_long y = row - pad_y0;
      const pm_int is_inside = y >= 0 && y < ny;
      const pm_element above = (pm_element)(y < 0 ? y0 : y1);
      PM_GLOBAL const pm_element* from = in + (slice * ny + y) * nx;
      if (is_border || (!is_inside && lanes.step == 1)) {
        store_vector(to + c, splat(is_border ? side : above));
      } else if (is_vector(lanes, from, in_end)) {
        store_vector(to + c, vector_of(words_at(from + x)));
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          to[c + k] = x + k < 0     ? (pm_element)x0
                      : x + k >= nx ? (pm_element)x1
                      : is_inside   ? from[x + k]
                                    : above;
        }
      }
    }
  }
}

PM_REGISTERS(pad_edge_elements, 48)
PM_KERNEL(pad_edge_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    const pm_long x = c - pad_x0;
    PM_GLOBAL const pm_element* image = in + slice * ny * nx;
    padding_lanes lanes = lanes_from(clamped(x, nx), PADDING_MIXED);
    if (all_within(c, out_nx)) {
      if (all_within(x, nx))
        lanes.step = 1;
      else if (x + PADDING_LANES_GPU <= 1 || x >= nx - 1)
        lanes.step = 0;
    }
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += 2 * y_step, to += 2 * y_step * out_nx) {
      const pm_int has_next = row + y_step < out_ny;
      PM_GLOBAL pm_element* to_next = has_next ? to + y_step * out_nx : to;
      PM_GLOBAL const pm_element* from = image + clamped(row - pad_y0, ny) * nx;
      PM_GLOBAL const pm_element* from_next = has_next ? image + clamped(row + y_step - pad_y0, ny) * nx : from;
      if (is_vector(lanes, from, in_end) && is_vector(lanes, from_next, in_end)) {
        move_runs(to + c, to_next + c, lanes, from, from_next);
      } else {
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k < 0 || c + k >= out_nx) continue;
          const pm_element value = from[clamped(x + k, nx)], value_next = from_next[clamped(x + k, nx)];
          to[c + k] = value;
          to_next[c + k] = value_next;
        }
      }
    }
  }
}

PM_DEVICE pm_long next_phase(pm_long phase, pm_long step, pm_long period) {
  return phase + step < period ? phase + step : phase + step - period;
}

PM_REGISTERS(pad_periodic_elements, 56)
PM_KERNEL(pad_periodic_elements)
(PM_GLOBAL const pm_element* PM_RESTRICT in, PM_GLOBAL pm_element* PM_RESTRICT out, pm_long n, pm_long ny,
 pm_long nx, pm_long out_ny, pm_long out_nx, pm_long pad_y0, pm_long pad_x0, pm_long y_step, pm_long z_step,
 pm_int past_cache, pm_long period_y, pm_long top_y, pm_long period_x, pm_long top_x) {
  if (pm_global_y() >= y_step || pm_global_z() >= z_step) return;
  PM_GLOBAL const pm_element* in_end = in + n * ny * nx;
  const pm_long first_phase_y = phase_of(pm_global_y() - pad_y0, period_y);
  const pm_long phase_step = phase_of(y_step, period_y);
  for (pm_long slice = pm_global_z(); slice < n; slice += z_step) {
    PM_GLOBAL pm_element* to = out + (slice * out_ny + pm_global_y()) * out_nx;
    const pm_long c = vector_column(to, pm_global_x());
    if (c >= out_nx) continue;
    PM_GLOBAL const pm_element* image = in + slice * ny * nx;
    const pm_long phase = phase_of(c - pad_x0, period_x);
    padding_lanes lanes = lanes_from(phase < nx ? phase : top_x - phase, PADDING_MIXED);
    if (all_within(c, out_nx)) {
      if (phase + PADDING_LANES_GPU <= nx)
        lanes.step = 1;
      else if (phase >= nx && phase + PADDING_LANES_GPU <= period_x)
        lanes.step = -1;
    }
    pm_long phase_y = first_phase_y;
    PADDING_ROW_BY_ROW
    for (pm_long row = pm_global_y(); row < out_ny; row += 2 * y_step, to += 2 * y_step * out_nx) {
      const pm_int has_next = row + y_step < out_ny;
      PM_GLOBAL pm_element* to_next = has_next ? to + y_step * out_nx : to;
      PM_GLOBAL const pm_element* from = image + (phase_y < ny ? phase_y : top_y - phase_y) * nx;
      phase_y = next_phase(phase_y, phase_step, period_y);
      PM_GLOBAL const pm_element* from_next = has_next ? image + (phase_y < ny ? phase_y : top_y - phase_y) * nx : from;
      phase_y = next_phase(phase_y, phase_step, period_y);
      if (is_vector(lanes, from, in_end) && is_vector(lanes, from_next, in_end)) {
        move_runs(to + c, to_next + c, lanes, from, from_next);
      } else {
        pm_long p = phase;
        PADDING_LANE_BY_LANE
        for (pm_int k = 0; k < PADDING_LANES_GPU; ++k) {
          if (c + k >= 0 && c + k < out_nx) {
            const pm_long source = p < nx ? p : top_x - p;
            const pm_element value = from[source], value_next = from_next[source];
            to[c + k] = value;
            to_next[c + k] = value_next;
          }
          if (++p == period_x) p = 0;
        }
      }
    }
  }
}

