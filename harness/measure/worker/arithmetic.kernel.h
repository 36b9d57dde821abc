/* Arithmetic with hardly any memory traffic: its time is proportional to `rounds` and depends on the clocks of the device,
   not on its memory. */

PM_REGISTERS(fixed_arithmetic, 16)
PM_KERNEL(fixed_arithmetic)
(PM_GLOBAL pm_element* to, pm_long count, pm_int rounds) {
  const pm_long i = pm_global_x();
  if (i >= count) return;
  pm_element a = (pm_element)(i % 64) / 64, b = a / 2, c = a / 3, d = a / 4;
  /* Four chains, each with a fixed point, so that values do not overflow. */
  for (pm_int round = 0; round < rounds; ++round) {
    a = a * 0.5f + 0.25f;
    b = b * 0.5f + 0.125f;
    c = c * 0.5f + a;
    d = d * 0.5f + b;
  }
  to[i] = a + b + c + d;
}
