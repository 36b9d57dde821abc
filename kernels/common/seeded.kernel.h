/* Seeded inputs: element `index` of the pattern `seed` is a hash of both, so each element is computed independently.
 *
 * seeded.hpp compiles the functions, which are plain C, for the host, too. Host and device give the same bits, because
 * the functions use only integers and one exact product.
 */

/* Returns 32 pseudo-random bits of element `index` of the pattern `seed`. The bits are mixed in 32-bit operations,
 * which compilers vectorise. */
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
/* Returns a multiple of 2^-23 in [-1, 1), which is exact in a float. */
PM_DEVICE float pm_seeded_float(pm_uint bits) {
  return (float)((pm_int)(bits >> 8) - (1 << 23)) * (1.0F / (1 << 23));
}
#define SEEDED_ELEMENT(bits) ((pm_element)pm_seeded_float(bits))
#else
#define SEEDED_ELEMENT(bits) ((pm_element)(bits))
#endif

/* Returns the pattern element at which line `line` of noise begins. A hash of order_seed and `line` chooses one of the
 * first `different` lines of the pattern, of w elements each. */
PM_DEVICE pm_long pm_noise_line(pm_uint order_seed, pm_long line, pm_int different, pm_long w) {
  return (pm_long)(pm_seeded_bits(order_seed, line) % (pm_uint)different) * w;
}

#ifdef PM_KERNEL

/* Writes elements [first, first + count) of the pattern `seed`. One work-item per `run` consecutive elements. */
PM_REGISTERS(seeded, 24)
PM_KERNEL(seeded)(PM_GLOBAL pm_element* values, pm_long count, pm_long first, pm_uint seed, pm_int run) {
  const pm_long begin = pm_global_x() * run;
  const pm_long end = begin + run < count ? begin + run : count;
  for (pm_long i = begin; i < end; ++i) values[i] = SEEDED_ELEMENT(pm_seeded_bits(seed, first + i));
}

/* Writes lines of noise, of w elements each, without gaps. One work-item per `run` consecutive elements. */
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
