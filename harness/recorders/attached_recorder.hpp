#pragma once

#include <filesystem>
#include <memory>

#include "profile/event_source.hpp"

namespace peakmark {

/// The recorder that a loader has loaded into this process. `library` is the path that the loader was given
/// (OPENCL_LAYERS or CUDA_INJECTION64_PATH). Call it after the first call into OpenCL or CUDA.
/// Throws RecorderError, saying why and how to mend it, when the recorder has not come up.
std::unique_ptr<EventSource> attach_recorder(const std::filesystem::path& library);

}  // namespace peakmark
