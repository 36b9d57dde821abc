#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/history/history.hpp"

namespace peakmark::cli {

/// The user's options on the origin of runs; unset: found in the CI job or the clone.
struct OriginOptions {
  std::optional<std::string> branch;
  std::optional<std::string> base_branch;
  std::optional<std::string> merge_base;
};

/// The branch of a CI job, from the variables of GitHub, GitLab or Jenkins.
struct CiBranch {
  std::string branch;       ///< `main`; for a pull request `pull/12`, `merge-request/12`, `PR-12`
  std::string base_branch;  ///< the target of the pull request; empty if it is not one
  std::string merge_base;   ///< empty if the variables do not have it
};

/// Returns the branch of the job that has this environment; empty texts outside CI, and for tags.
CiBranch find_ci_branch(const std::vector<std::string>& environment);

/// Returns the branch of the CI job, else the branch that is checked out in the current folder; empty if
/// there is neither.
std::string find_branch_here(const std::vector<std::string>& environment);

/// The origin of a run, and notes on it for the user.
struct FoundOrigin {
  history::RunOrigin origin;
  std::vector<std::string> notes;
};

/// Returns the origin of a run of `commit` (empty: unknown): from the options, else from the CI job, else
/// from the git clone in the current folder, if `commit` is checked out there. Facts that git has of the
/// commit are empty without git, or if the clone does not have it. `base_branch`: of the history, empty if it
/// has none.
FoundOrigin find_origin(const OriginOptions& options, const std::vector<std::string>& environment,
                        const std::string& commit, const std::string& base_branch);

}  // namespace peakmark::cli
