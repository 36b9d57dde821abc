#pragma once

#include <string>

#include "sweep/suite.hpp"

namespace peakmark {

/// The cases of a suite for `list --json`: suite, fingerprint and cases, each as in a run file's
/// `context.peakmark.planned`.
std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases);

}  // namespace peakmark
