#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace peakmark::cli {

/// The project for which CI files are written. They measure a suite in several jobs.
struct CiProject {
  std::string suite;  ///< relative to the repository
  int shards = 1;     ///< number of jobs that measure
  std::string
      require;  ///< `gpu` or `cuda`: self-hosted runners with such a device; empty: hosted runners, with PoCL
  std::string wheel;  ///< argument of `pip install`; empty: the variable PEAKMARK_WHEEL has it
};

/// Replacements of the marks of a template: `SUITE` replaces `@SUITE@`.
using Marks = std::map<std::string, std::string, std::less<>>;

/// Whether a workflow runs on hosted or own machines.
enum class Runner { hosted, own };
/// Returns the marks of a GitHub workflow for its runners: RUNNER; and for own runners the warning
/// ABOUT_RUNNER, the condition FORK_GUARD of the first job, and FORK_JOB, which fails for a fork.
Marks runner_marks(Runner runner);

/// Returns a workflow template with these marks replaced, and the marks that every workflow has: RUNTIME and
/// TOOLS, the packages for measuring and building; INSTALL, the script that installs peakmark, indented to
/// this column; and the pinned actions. Throws std::logic_error for another mark.
std::string fill_workflow(std::string_view text, Marks marks, int column);

/// Returns a workflow for GitHub: shards as a matrix, merge, history, verdicts, report, comparison of pull
/// requests.
std::string github_nightly(const CiProject& project);
/// Returns the same pipeline for GitLab.
std::string gitlab_pipeline(const CiProject& project);

}  // namespace peakmark::cli
