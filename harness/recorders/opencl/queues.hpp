#pragma once

namespace peakmark::opencl_layer {

/// Hooks what makes and releases queues.
void hook_queues();

/// Finishes every queue that the program holds. Null, or why it could not: then what was released may still
/// be live, and nothing was waited for.
const char* synchronise();

}  // namespace peakmark::opencl_layer
