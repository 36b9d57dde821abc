/* The seam is C. */
#include "peakmark/worker_seam.h"

int peakmark_seam_compiles_as_c(void);

int peakmark_seam_compiles_as_c(void) {
  return PEAKMARK_API_MAJOR;
}
