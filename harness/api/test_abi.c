/* The seam is C. */
#include "peakmark/worker_abi.h"

int peakmark_abi_compiles_as_c(void);

int peakmark_abi_compiles_as_c(void) {
  return PEAKMARK_API_MAJOR;
}
