#pragma once

#include <sys/types.h>

#include <array>

#include "run/worker_process.hpp"

namespace peakmark {

/// Starts a program with `descriptors` as its 0, 1, 2 and 3 and no others. UsageError when it cannot be
/// started.
pid_t spawn(const WorkerCommand& command, const std::array<int, 4>& descriptors);

}  // namespace peakmark
