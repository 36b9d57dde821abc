#pragma once

#include "peakmark/worker_abi.h"
#include "worker/variant.hpp"

namespace peakmark {

/// A variant of a program, behind the interface that every variant has. It points to `seam`, which must
/// outlive it. Throws UsageError for one that cannot be measured, by its name: no backend, an estimator
/// without a slice axis, two of one name, no function that makes a case.
Variant variant_of(const peakmark_variant& seam);

}  // namespace peakmark
