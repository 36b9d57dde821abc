#pragma once

#include <optional>
#include <string>

#include "runfile/run_file.hpp"

namespace peakmark {

/// What two parts of one run differ in that must be alike: in a run that is resumed, and in its shards.
struct RunDifference {
  const char* what;  ///< for `another …`: `device`
  std::string one;
  std::string other;
};

/// Suite, device, driver, worker, build, commit and passes: the first in which two contexts differ; null
/// where they are parts of one run. Which cases each has is for the caller to look at.
std::optional<RunDifference> first_difference(const RunContext& one, const RunContext& other);

}  // namespace peakmark
