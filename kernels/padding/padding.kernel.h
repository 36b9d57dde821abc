/* Padding of a stack (n, ny, nx) to (n, out_ny, out_nx), in peakmark's kernel language.
 *
 * Elements are moved and never computed with, so the host compiles this for the unsigned integer of an
 * element's size: no bit of a NaN changes and no device needs f64.
 *
 * Every kernel comes in two grains with the same arguments. `_rows`, for CPUs: a work-item owns y_step rows and
 * stores them as one stream, past the caches where `past_cache` says so.
 * `_elements`, for GPUs: a work-item owns 16 bytes of a row, as they are aligned in the output, works out once
 * where they come from, and takes rows y, y + y_step, ... of slices z, z + z_step, ..., since CUDA ends at
 * 65,535 groups in y and z. The host chooses y_step so that those rows are aligned alike.
 */

#include "row_stream.kernel.h"
#include "row_vectors.kernel.h"
#include "computed.kernel.h"
#include "gather.kernel.h"
#include "template.kernel.h"
