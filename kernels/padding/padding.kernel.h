/* Pads each slice of a stack (n, ny, nx) to (n, out_ny, out_nx). Both are row-major without gaps.
 *
 * Elements are copied as bits: the host compiles these kernels for the unsigned integer of the element's size. So the
 * bits of a NaN do not change, and no device needs f64.
 *
 * A kernel has two versions with the same arguments:
 *   _rows, for CPUs: a work-item writes y_step consecutive rows as one stream. With `past_cache`, its stores bypass
 *     the caches.
 *   _elements, for GPUs: work-item (x, y, z) writes vector x of rows y, y + y_step, ... of slices z, z + z_step, ....
 *     It finds the source columns once for all of these rows.
 * Vectors have 16 bytes and are aligned in the output, so that each is one store. The launch has y_step items in y and
 * z_step in z, because CUDA's maximum is 65,535 groups. The host chooses y_step so that the rows of an item have the
 * same alignment.
 */

#include "row_stream.kernel.h"
#include "row_vectors.kernel.h"
#include "computed.kernel.h"
#include "gather.kernel.h"
#include "template.kernel.h"
