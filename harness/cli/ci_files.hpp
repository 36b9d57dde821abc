#pragma once

#include <string>

namespace peakmark::cli {

/// What the files of a CI system, which measure a suite in several jobs, are written for.
struct CiProject {
  std::string suite;    ///< relative to the repository
  int shards = 1;       ///< number of jobs that measure
  std::string require;  ///< `gpu` or `cuda`: on runners that have one; empty: on hosted ones, with PoCL
  std::string wheel;    ///< what follows `pip install`; empty: only the variable PEAKMARK_WHEEL says it
};

/// Returns the text of a workflow in which @RUNTIME@ and @TOOLS@ are the packages that jobs install to
/// measure and to build, and @INSTALL@ is the script that installs peakmark, which begins in this column.
std::string with_installation(std::string text, int column);

/// Returns a workflow for GitHub: shards as a matrix, merge, history, verdicts, report, comparison of pull
/// requests.
std::string github_nightly(const CiProject& project);
/// Returns the same for GitLab.
std::string gitlab_pipeline(const CiProject& project);

}  // namespace peakmark::cli
