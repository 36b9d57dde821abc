/* mul_add: dst = a * dst + b * other on a region of h rows by w columns of each image of a stack. copy_region: copies a
 * region of one image.
 *
 * A region is given by the offset of its first element and by its strides from row to row and from image to image, in
 * elements. dst and other are not `restrict`: they may be one array if the two regions are equal or do not overlap.
 *
 * `_rows`, for CPUs: one work-item per row; the compiler vectorises the loop over x.
 * `_elements`, for GPUs: work-item (x, y, z) writes vector x of rows y, y + row_step, ... of images z, z + image_step,
 * .... Vectors have 16 bytes and are aligned in the array that is written. The launch has row_step items in y and
 * image_step in z, because CUDA's maximum is 65,535 groups. The host chooses row_step so that the rows of an item have
 * the same alignment.
 */
#if defined(PM_DTYPE_f64)
typedef double2 mul_add_vector;
#define MUL_ADD_LANES 2
#else
typedef float4 mul_add_vector;
#define MUL_ADD_LANES 4
#endif

/* Returns the column at which vector number `vector` of a row starts. It is negative for vector 0 if the row is not
 * aligned to 16 bytes. */
PM_DEVICE pm_long vector_column(PM_GLOBAL const pm_element* row, pm_long vector) {
  return vector * MUL_ADD_LANES - (pm_long)(((pm_ulong)row & 15) / sizeof(pm_element));
}

/* Loads the vector at `from`, which may be unaligned. */
PM_DEVICE mul_add_vector vector_at(PM_GLOBAL const pm_element* from) {
  if (((pm_ulong)from & 15) == 0) return *(PM_GLOBAL const mul_add_vector*)from;
  mul_add_vector v;
  v.x = from[0];
  v.y = from[1];
#if MUL_ADD_LANES == 4
  v.z = from[2];
  v.w = from[3];
#endif
  return v;
}

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

PM_REGISTERS(mul_add_elements, 40)
PM_KERNEL(mul_add_elements)(PM_GLOBAL pm_element* dst, pm_long dst_first, pm_long dst_row, pm_long dst_image,
                            PM_GLOBAL const pm_element* other, pm_long other_first, pm_long other_row,
                            pm_long other_image, pm_long images, pm_long h, pm_long w, pm_element a, pm_element b,
                            pm_long row_step, pm_long image_step) {
  const pm_long y0 = pm_global_y();
  const pm_long image0 = pm_global_z();
  if (y0 >= row_step || image0 >= image_step) return;
  for (pm_long image = image0; image < images; image += image_step) {
    PM_GLOBAL pm_element* to = dst + dst_first + image * dst_image + y0 * dst_row;
    PM_GLOBAL const pm_element* from = other + other_first + image * other_image + y0 * other_row;
    const pm_long x = vector_column(to, pm_global_x());
    if (x >= w) continue;
    const pm_int is_whole = x >= 0 && x + MUL_ADD_LANES <= w;
    for (pm_long y = y0; y < h; y += row_step) {
      if (is_whole) {
        PM_GLOBAL mul_add_vector* at = (PM_GLOBAL mul_add_vector*)(to + x);
        mul_add_vector d = *at;
        const mul_add_vector o = vector_at(from + x);
        d.x = a * d.x + b * o.x;
        d.y = a * d.y + b * o.y;
#if MUL_ADD_LANES == 4
        d.z = a * d.z + b * o.z;
        d.w = a * d.w + b * o.w;
#endif
        *at = d;
      } else {
        for (pm_int k = 0; k < MUL_ADD_LANES; ++k)
          if (x + k >= 0 && x + k < w) mul_add_row(to + x + k, from + x + k, 1, a, b);
      }
      to += row_step * dst_row;
      from += row_step * other_row;
    }
  }
}

/* Copies a region of one image of `from` to `to`, without gaps. */
PM_CPU_ONLY(copy_region_rows)
PM_KERNEL(copy_region_rows)(PM_GLOBAL pm_element* to, PM_GLOBAL const pm_element* from, pm_long from_first,
                            pm_long from_row, pm_long h, pm_long w) {
  const pm_long y = pm_global_x();
  if (y >= h) return;
  PM_GLOBAL const pm_element* row = from + from_first + y * from_row;
  for (pm_long x = 0; x < w; ++x) to[y * w + x] = row[x];
}

PM_REGISTERS(copy_region_elements, 40)
PM_KERNEL(copy_region_elements)(PM_GLOBAL pm_element* to, PM_GLOBAL const pm_element* from, pm_long from_first,
                                pm_long from_row, pm_long h, pm_long w, pm_long row_step) {
  const pm_long y0 = pm_global_y();
  if (y0 >= row_step) return;
  PM_GLOBAL pm_element* row = to + y0 * w;
  PM_GLOBAL const pm_element* source = from + from_first + y0 * from_row;
  const pm_long x = vector_column(row, pm_global_x());
  if (x >= w) return;
  const pm_int is_whole = x >= 0 && x + MUL_ADD_LANES <= w;
  for (pm_long y = y0; y < h; y += row_step) {
    if (is_whole) {
      *(PM_GLOBAL mul_add_vector*)(row + x) = vector_at(source + x);
    } else {
      for (pm_int k = 0; k < MUL_ADD_LANES; ++k)
        if (x + k >= 0 && x + k < w) row[x + k] = source[x + k];
    }
    row += row_step * w;
    source += row_step * from_row;
  }
}
