#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace peakmark::cli {

/// What the files of a CI system, which measure a suite in several jobs, are written for.
struct CiProject {
  std::string suite;    ///< relative to the repository
  int shards = 1;       ///< number of jobs that measure
  std::string require;  ///< `gpu` or `cuda`: on runners that have one; empty: on hosted ones, with PoCL
  std::string wheel;    ///< what follows `pip install`; empty: only the variable PEAKMARK_WHEEL says it
};

/// What replaces the marks of a template: `SUITE` replaces `@SUITE@`.
using Marks = std::map<std::string, std::string, std::less<>>;

/// Whose machines run a workflow.
enum class Runner { hosted, own };
/// Returns what a workflow of GitHub needs for its runners: RUNNER; and for its own ones the warning
/// ABOUT_RUNNER, FORK_GUARD, the condition of the first job, and FORK_JOB, which fails for a fork.
Marks runner_marks(Runner runner);

/// Returns a template of a workflow with these marks replaced, and those of every workflow: RUNTIME and
/// TOOLS, the packages to measure and to build; INSTALL, the script that installs peakmark, which begins in
/// this column; and the pinned actions. Throws std::logic_error for another mark.
std::string fill_workflow(std::string_view text, Marks marks, int column);

/// Returns a workflow for GitHub: shards as a matrix, merge, history, verdicts, report, comparison of pull
/// requests.
std::string github_nightly(const CiProject& project);
/// Returns the same for GitLab.
std::string gitlab_pipeline(const CiProject& project);

}  // namespace peakmark::cli
