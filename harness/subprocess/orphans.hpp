#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "subprocess/child_end.hpp"

namespace peakmark {

/// From now on processes that our descendants leave behind are children of this process, whatever group or
/// session they have put themselves into.
void adopt_orphans();

/// Kills the children of this process, and theirs, until there are none: to be called when nobody runs any
/// more who ought to. `but`: a child that stays. Returns those that have not ended after `limit`: they are
/// given up (child_end.hpp), and later calls leave them out.
std::vector<pid_t> end_orphans(pid_t but = -1, std::chrono::milliseconds limit = kKillLimit);

/// Kills every process, this one left out, that has begun with NAME=value in its environment where the value
/// begins with `value`: descendants of a process that is dead already.
void end_processes_with(const std::string& name, const std::string& value);

}  // namespace peakmark
