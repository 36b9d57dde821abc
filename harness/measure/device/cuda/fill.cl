/* Fills with a repeated pattern of two 64-bit words: even words first. For elements of 8 and 16 bytes, which no
 * memset of CUDA fills. */
PM_REGISTERS(pm_fill, 16)
PM_KERNEL(pm_fill)(PM_GLOBAL pm_element* words, pm_long count, pm_element even, pm_element odd) {
  const pm_long i = pm_global_x();
  if (i < count) words[i] = i % 2 == 0 ? even : odd;
}
