/* worker_abi.h is C: this file compiles. */
#include "peakmark/worker_abi.h"

int peakmark_abi_compiles_as_c(void);

int peakmark_abi_compiles_as_c(void) {
  return PEAKMARK_API_MAJOR;
}
