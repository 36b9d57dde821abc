#pragma once

#include <optional>

#include "cli/seconds.hpp"
#include "supervise/sweep_run.hpp"

namespace peakmark::cli {

inline constexpr const char* kTimeoutHelp =
    "Seconds that a case may take; default: 60, and 10 for each GiB that it needs";

/// `--timeout S` is exact; without it the limit grows with the bytes of the case.
inline void set_case_limit(SweepOptions& options, std::optional<double> seconds) {
  if (seconds) options.case_limit = {milliseconds_of("--timeout", *seconds), std::chrono::milliseconds(0)};
}

}  // namespace peakmark::cli
