#pragma once

#include <sys/types.h>

namespace peakmark {

/// True while no signal ends the process: a thread of it is in uninterruptible sleep, as inside a driver, or
/// a debugger holds it. A short wait for a disk looks the same: ask again. Call it for a child that waitpid()
/// does not return.
bool is_stuck(pid_t process);

/// True when the process was killed (SIGKILL) and has not ended.
bool is_being_killed(pid_t process);

}  // namespace peakmark
