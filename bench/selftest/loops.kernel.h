/* Arithmetic and next to no memory: its time is proportional to `rounds`. */

PM_KERNEL(selftest_loops)
(PM_GLOBAL pm_element* to, pm_long count, pm_int rounds) {
  const pm_long i = pm_global_x();
  if (i >= count) return;
  pm_element a = (pm_element)(i % 64) / 64, b = a / 2, c = a / 3, d = a / 4;
  for (pm_int round = 0; round < rounds; ++round) {
    a = a * 0.5f + 0.25f;
    b = b * 0.5f + 0.125f;
    c = c * 0.5f + a;
    d = d * 0.5f + b;
  }
  to[i] = a + b + c + d;
}
