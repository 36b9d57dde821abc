#pragma once

#include <string>

#include "base/error.hpp"
#include "measure/builds/bisection.hpp"

namespace peakmark::cli {

/// Returns
/// - clean: the first bad commit was found;
/// - verdict: the bad commit is not worse;
/// - measurement: the remaining commits cannot be judged;
/// - interrupted.
ExitCode bisect_exit_code(const BisectReport& report);

std::string bisect_text(const BisectReport& report);
std::string bisect_json(const BisectReport& report);

}  // namespace peakmark::cli
