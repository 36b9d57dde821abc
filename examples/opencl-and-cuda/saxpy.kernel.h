PM_KERNEL(saxpy)(PM_GLOBAL pm_element* y, PM_GLOBAL const pm_element* x, pm_long count, pm_element a) {
  const pm_long i = pm_global_x();
  if (i < count) y[i] += a * x[i];
}
