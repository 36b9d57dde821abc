#pragma once

#include <filesystem>
#include <memory>

#include "worker/timing.hpp"

namespace peakmark {

/// The kernel records of the recorder loaded into this process (recorders/marks.h). Null when it takes none,
/// as the OpenCL layer.
std::unique_ptr<KernelTracer> find_kernel_tracer(const std::filesystem::path& library);

}  // namespace peakmark
