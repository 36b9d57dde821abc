#pragma once

#include <filesystem>

#include "measure/runfile/observation.hpp"

namespace peakmark {

/// Reads the file that a program wrote to `$PEAKMARK_METRICS`: a line `NAME VALUE`, `NAME VALUE higher` or
/// `NAME VALUE lower` for each metric. They replace those of the observation. A program without metrics has
/// no file. Throws UsageError with the line for a line of another form, and as add_metric().
void read_metrics(const std::filesystem::path& file, Observation& observation);

}  // namespace peakmark
