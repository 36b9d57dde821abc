/* Seeded inputs. The functions are plain C, which seeded.hpp compiles for the host too: host and device have one
 * implementation. Integers, and one product without rounding, so all give the same bits. */

/* 32 random bits of element `index` of the pattern `seed`. 32-bit mixing, so that compilers vectorise it. */
PM_DEVICE pm_uint pm_seeded_bits(pm_uint seed, pm_long index) {
  pm_uint bits = (pm_uint)index ^ ((pm_uint)((pm_ulong)index >> 32) * 0x9e3779b9U) ^ (seed * 0x85ebca6bU);
  bits ^= bits >> 16;
  bits *= 0x7feb352dU;
  bits ^= bits >> 15;
  bits *= 0x846ca68bU;
  bits ^= bits >> 16;
  return bits;
}

#if !defined(PM_KERNEL) || defined(PM_DTYPE_f32) || defined(PM_DTYPE_f64)
/* A multiple of 2^-23 in [-1, 1), which float holds exactly. */
PM_DEVICE float pm_seeded_float(pm_uint bits) {
  return (float)((pm_int)(bits >> 8) - (1 << 23)) * (1.0F / (1 << 23));
}
#define SEEDED_ELEMENT(bits) ((pm_element)pm_seeded_float(bits))
#else
#define SEEDED_ELEMENT(bits) ((pm_element)(bits))
#endif

/* Noise in lines of w, each drawn by its number from `different` lines: where in the pattern a line begins. */
PM_DEVICE pm_long pm_noise_line(pm_uint order_seed, pm_long line, pm_int different, pm_long w) {
  return (pm_long)(pm_seeded_bits(order_seed, line) % (pm_uint)different) * w;
}

#ifdef PM_KERNEL

/* `values` become elements [first, first + count) of the pattern `seed`; a work-item makes `run` neighbours. */
PM_REGISTERS(seeded, 24)
PM_KERNEL(seeded)(PM_GLOBAL pm_element* values, pm_long count, pm_long first, pm_uint seed, pm_int run) {
  const pm_long begin = pm_global_x() * run;
  const pm_long end = begin + run < count ? begin + run : count;
  for (pm_long i = begin; i < end; ++i) values[i] = SEEDED_ELEMENT(pm_seeded_bits(seed, first + i));
}

/* `values`, of whole lines of `w`, become lines of noise; a work-item makes `run` neighbours. */
PM_REGISTERS(noise_lines, 28)
PM_KERNEL(noise_lines)(PM_GLOBAL pm_element* values, pm_long count, pm_long w, pm_int different,
                       pm_uint order_seed, pm_uint seed, pm_int run) {
  pm_long i = pm_global_x() * run;
  const pm_long end = i + run < count ? i + run : count;
  while (i < end) {
    const pm_long line = i / w;
    const pm_long line_end = (line + 1) * w < end ? (line + 1) * w : end;
    const pm_long first = pm_noise_line(order_seed, line, different, w) - line * w;
    for (; i < line_end; ++i) values[i] = SEEDED_ELEMENT(pm_seeded_bits(seed, first + i));
  }
}

#endif
