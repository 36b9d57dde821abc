/* Arithmetic with one store and no load per work-item. Its time is proportional to `rounds`, and depends on the clocks
 * of the device, not on its memory. One work-item per element of `to`. */

PM_REGISTERS(fixed_arithmetic, 16)
PM_KERNEL(fixed_arithmetic)
(PM_GLOBAL pm_element* to, pm_long count, pm_int rounds) {
  const pm_long i = pm_global_x();
  if (i >= count) return;
  pm_element a = (pm_element)(i % 64) / 64, b = a / 2, c = a / 3, d = a / 4;
  /* Four chains of products and sums. Each converges to a fixed point, so values do not overflow. */
  for (pm_int round = 0; round < rounds; ++round) {
    a = a * 0.5f + 0.25f;
    b = b * 0.5f + 0.125f;
    c = c * 0.5f + a;
    d = d * 0.5f + b;
  }
  to[i] = a + b + c + d;
}
