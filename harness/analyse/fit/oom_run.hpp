#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/fit/oom.hpp"
#include "measure/supervise/record_shapes.hpp"

namespace peakmark {

/// A request of `peakmark oom`.
struct OomRequest {
  std::vector<std::string> command;  ///< a program; empty: a variant
  std::string variant;               ///< of a suite of `sweep`, or of the worker
  std::vector<std::string> values;   ///< AXIS=VALUE; other axes have their defaults
  RefusalChoice choice;
  std::optional<std::filesystem::path> compared_output;  ///< an output file of the program
  bool once = false;       ///< refuse only this allocation; else the device of a program stays full
  std::size_t frames = 0;  ///< of call sites, see name_sites()
  int jobs = 1;            ///< number of programs that run at the same time
  SweepOptions sweep;      ///< device, worker and time limit
};

/// Runs a program without a refusal, then once for each chosen allocation, with this one refused. `say`
/// prints progress. After a run that crashed or hung, the program runs without a refusal again; if that
/// fails, no further allocations are refused. Throws UsageError if the reference run fails, or allocates
/// nothing.
OomReport refuse_allocations(OomRequest request, const std::function<void(const std::string&)>& say);

}  // namespace peakmark
