/* Kernels of the device tests. */
PM_KERNEL(add_index)(PM_GLOBAL pm_element* data, pm_long count, pm_element factor) {
  const pm_long i = pm_global_x();
  if (i < count) data[i] = data[i] * factor + (pm_element)i;
}

/* A cell of a (z, y, x) array becomes 100 z + 10 y + x. */
PM_KERNEL(coordinates)(PM_GLOBAL pm_element* data, pm_long nz, pm_long ny, pm_long nx) {
  const pm_long x = pm_global_x();
  const pm_long y = pm_global_y();
  const pm_long z = pm_global_z();
  if (x < nx && y < ny && z < nz) data[(z * ny + y) * nx + x] = (pm_element)(100 * z + 10 * y + x);
}

/* Every work-item of a group sees what its neighbour wrote. */
PM_KERNEL(reverse_groups)(PM_GLOBAL pm_element* data, pm_long count) {
  PM_LOCAL pm_element group[8];
  const pm_long i = pm_global_x();
  const pm_int l = pm_local_x();
  group[l] = i < count ? data[i] : (pm_element)0;
  PM_BARRIER();
  if (i < count) data[i] = group[pm_local_size_x() - 1 - l];
}

/* Stores arguments of each width, so that a test can compare them. */
PM_KERNEL(arguments)(PM_GLOBAL pm_element* data, pm_int a, pm_uint b, pm_long c, pm_ulong d, float e) {
  if (pm_global_x() == 0) {
    data[0] = (pm_element)a;
    data[1] = (pm_element)b;
    data[2] = (pm_element)c;
    data[3] = (pm_element)d;
    data[4] = (pm_element)e;
  }
}

/* `index` may be outside of the array. */
PM_KERNEL(set_at)(PM_GLOBAL pm_element* data, pm_long index, pm_element value) {
  if (pm_global_x() == 0) data[index] = value;
}

PM_KERNEL(is_null)(PM_GLOBAL pm_element* data, PM_GLOBAL const pm_element* nothing) {
  if (pm_global_x() == 0) data[0] = nothing == 0 ? (pm_element)1 : (pm_element)0;
}
