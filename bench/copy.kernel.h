/* Copies; one work-item per row of `row` elements. The baseline for kernels that move bytes on CPUs. */

PM_CPU_ONLY(copy_rows)
PM_KERNEL(copy_rows)
(PM_GLOBAL const pm_element* PM_RESTRICT from, PM_GLOBAL pm_element* PM_RESTRICT to, pm_long count,
 pm_long row) {
  const pm_long first = pm_global_x() * row;
  const pm_long end = first + row < count ? first + row : count;
  for (pm_long i = first; i < end; ++i) to[i] = from[i];
}

/* The same with non-temporal stores, if the compiler has them: elements of 4 bytes, rows of a multiple of 16. */
PM_CPU_ONLY(copy_rows_streamed)
PM_KERNEL(copy_rows_streamed)
(PM_GLOBAL const pm_element* PM_RESTRICT from, PM_GLOBAL pm_element* PM_RESTRICT to, pm_long count,
 pm_long row) {
  const pm_long first = pm_global_x() * row;
  const pm_long end = first + row < count ? first + row : count;
  pm_long i = first;
#if defined(__clang__) && !defined(__CUDACC__) && defined(PM_DTYPE_u32)
  for (; i + 16 <= end; i += 16)
    __builtin_nontemporal_store(vload16(0, from + i), (PM_GLOBAL uint16*)(to + i));
#endif
  for (; i < end; ++i) to[i] = from[i];
}
