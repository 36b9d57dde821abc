#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fit/oom.hpp"
#include "supervise/record_shapes.hpp"

namespace peakmark {

/// What is rehearsed.
struct OomRequest {
  std::vector<std::string> command;  ///< a program; empty: a variant
  std::string variant;               ///< of a suite of `sweep`, or of the worker
  std::vector<std::string> values;   ///< AXIS=VALUE; other axes have their default
  RefusalChoice choice;
  std::optional<std::filesystem::path> compared_output;  ///< a file that the program writes
  SweepOptions sweep;                                    ///< device, worker and time limit
};

/// Runs a program without a refusal, then once for each chosen allocation with this one refused. `progress`
/// is called before each, with the number of runs so far and of all. Throws UsageError if the reference run
/// does not end well, or allocates nothing, or if the device's recorder cannot refuse.
OomReport refuse_allocations(OomRequest request,
                             const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace peakmark
