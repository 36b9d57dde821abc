#pragma once

#include <vector>

#include "peakmark/worker_abi.h"

namespace peakmark {
inline namespace api_1 {
class Worker;
}

/// Returns the variants that `add` adds to a Worker. They are valid until the program ends.
std::vector<const peakmark_variant*> variants_of(void (*add)(Worker&));

}  // namespace peakmark
