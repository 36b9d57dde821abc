#pragma once

#include <string>

namespace peakmark {

/// From now on a process of its own, in a session of its own, traces this one and never waits for it: killed,
/// it stays where nobody else can wait for its end, as under a debugger. Until the FIFO has no writer any
/// more. False where the system does not allow it.
bool trace_this_process(const std::string& fifo);

/// Asks a file system (FUSE, mounted in namespaces of this process) that reads requests and answers none:
/// uninterruptible sleep, which SIGKILL does not end. The file system ends when the FIFO has no writer any
/// more. Once this process hangs, the file system writes `ready` to `descriptor`. Returns only where that
/// cannot be made, with the reason.
std::string sleep_uninterruptibly(const std::string& fifo, int descriptor, const std::string& ready);

}  // namespace peakmark
