/* Overwrites a buffer of `count` elements, which evicts the contents of the caches. One work-item per `each`
 * consecutive elements: 1 on a GPU, many on a CPU. */

PM_REGISTERS(sweep, 16)
PM_KERNEL(sweep)
(PM_GLOBAL pm_element* to, pm_long count, pm_long each, pm_element value) {
  const pm_long first = pm_global_x() * each;
  const pm_long end = first + each < count ? first + each : count;
  for (pm_long i = first; i < end; ++i) to[i] = value;
}
