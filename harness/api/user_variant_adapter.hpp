#pragma once

#include <span>

#include "peakmark/worker_abi.h"
#include "worker/variant.hpp"

namespace peakmark {

/// Returns a variant of the C ABI as a variant of the registry. It points to `abi`, which must outlive it.
/// Throws UsageError, with the name of the variant, if it cannot be measured: no backend, an estimator
/// without a slice axis, two estimators of one name, no function that makes a case.
Variant adapt_variant(const peakmark_variant& abi);

/// Adds variants of peakmark's own operations, which are written against the public API. Their estimators are
/// known to return, so they are evaluated while a suite is checked, as those of other programs are not.
void add_own_variants(Registry& registry, std::span<const peakmark_variant* const> variants);

}  // namespace peakmark
