#pragma once

#include <sys/types.h>

#include <array>

#include "run/worker_process.hpp"

namespace peakmark {

struct SpawnOptions {
  bool own_group = true;  ///< in a process group of its own
};

/// Starts a program with `descriptors` as its 0, 1, 2 and 3 and no others; a negative one is left out. It is
/// killed when this process ends. IoError when it cannot be started.
pid_t spawn(const WorkerCommand& command, const std::array<int, 4>& descriptors,
            const SpawnOptions& options = {});

}  // namespace peakmark
