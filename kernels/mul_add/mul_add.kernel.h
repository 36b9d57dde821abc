/* dst = a * dst + b * other on a region of each image of a stack.
 *
 * A region is given by its first element, the elements from a row to the next, and from an image to the next.
 * Two grains: `_rows` makes a work-item of each row, for CPU devices, which vectorise the loop over x;
 * `_elements` makes one of each column and loops over rows and images in steps of the launch's y and z, which
 * CUDA limits. dst and other may be one array where each element meets only itself, so they are not restrict.
 */
PM_DEVICE void mul_add_row(PM_GLOBAL pm_element* dst, PM_GLOBAL const pm_element* other, pm_long w, pm_element a,
                           pm_element b) {
  for (pm_long x = 0; x < w; ++x) dst[x] = a * dst[x] + b * other[x];
}

PM_CPU_ONLY(mul_add_rows)
PM_KERNEL(mul_add_rows)(PM_GLOBAL pm_element* dst, pm_long dst_first, pm_long dst_row, pm_long dst_image,
                        PM_GLOBAL const pm_element* other, pm_long other_first, pm_long other_row,
                        pm_long other_image, pm_long images, pm_long h, pm_long w, pm_element a, pm_element b) {
  const pm_long i = pm_global_x();
  if (i >= images * h) return;
  const pm_long image = i / h;
  const pm_long y = i - image * h;
  mul_add_row(dst + dst_first + image * dst_image + y * dst_row,
              other + other_first + image * other_image + y * other_row, w, a, b);
}

PM_REGISTERS(mul_add_elements, 48)
PM_KERNEL(mul_add_elements)(PM_GLOBAL pm_element* dst, pm_long dst_first, pm_long dst_row, pm_long dst_image,
                            PM_GLOBAL const pm_element* other, pm_long other_first, pm_long other_row,
                            pm_long other_image, pm_long images, pm_long h, pm_long w, pm_element a, pm_element b,
                            pm_long row_step, pm_long image_step) {
  const pm_long x = pm_global_x();
  const pm_long y0 = pm_global_y();
  const pm_long image0 = pm_global_z();
  if (x >= w || y0 >= row_step || image0 >= image_step) return;
  for (pm_long image = image0; image < images; image += image_step)
    for (pm_long y = y0; y < h; y += row_step)
      mul_add_row(dst + dst_first + image * dst_image + y * dst_row + x,
                  other + other_first + image * other_image + y * other_row + x, 1, a, b);
}

/* The region of one image of `from`, packed into `to`. */
PM_CPU_ONLY(copy_region_rows)
PM_KERNEL(copy_region_rows)(PM_GLOBAL pm_element* to, PM_GLOBAL const pm_element* from, pm_long from_first,
                            pm_long from_row, pm_long h, pm_long w) {
  const pm_long y = pm_global_x();
  if (y >= h) return;
  PM_GLOBAL const pm_element* row = from + from_first + y * from_row;
  for (pm_long x = 0; x < w; ++x) to[y * w + x] = row[x];
}

PM_REGISTERS(copy_region_elements, 32)
PM_KERNEL(copy_region_elements)(PM_GLOBAL pm_element* to, PM_GLOBAL const pm_element* from, pm_long from_first,
                                pm_long from_row, pm_long h, pm_long w, pm_long row_step) {
  const pm_long x = pm_global_x();
  const pm_long y0 = pm_global_y();
  if (x >= w || y0 >= row_step) return;
  for (pm_long y = y0; y < h; y += row_step) to[y * w + x] = from[from_first + y * from_row + x];
}
