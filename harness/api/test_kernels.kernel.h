/* out = factor * in + shift, one work-item per element. */
PM_REGISTERS(scale, 24)
PM_KERNEL(scale)(PM_GLOBAL pm_element* out, PM_GLOBAL const pm_element* in, pm_long count, pm_element factor,
                 pm_int shift) {
  const pm_long i = pm_global_x();
  if (i < count) out[i] = factor * in[i] + (pm_element)shift;
}
