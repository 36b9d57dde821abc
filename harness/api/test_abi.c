/* worker_abi.h is C, and what programs of earlier MINOR versions use keeps its place. */
#include "peakmark/worker_abi.h"

_Static_assert(sizeof(peakmark_failure) == 2048, "passed to programs of 1.0");
_Static_assert(offsetof(peakmark_device, index) == 232, "the last field of 1.0");
_Static_assert(offsetof(peakmark_computation, metrics) == 40, "the last field of 1.0");
_Static_assert(sizeof(peakmark_axis) == 56, "passed in an array, so it keeps its size");
_Static_assert(sizeof(peakmark_value) == 24, "passed in an array, so it keeps its size");
_Static_assert(sizeof(peakmark_estimator) == 40, "passed in an array, so it keeps its size");

int peakmark_abi_compiles_as_c(void);

int peakmark_abi_compiles_as_c(void) {
  return PEAKMARK_API_MAJOR;
}
