#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/history.hpp"

namespace peakmark::cli {

/// What the user says about the origin of runs; unset: found in the CI job or the clone.
struct OriginOptions {
  std::optional<std::string> branch;
  std::optional<std::string> base_branch;
  std::optional<std::string> merge_base;
};

/// The branch of a CI job, by the variables of GitHub, GitLab or Jenkins.
struct CiBranch {
  std::string branch;       ///< `main`; of a pull request `pull/12`, `merge-request/12`, `PR-12`
  std::string base_branch;  ///< the target of the pull request; empty if it is none
  std::string merge_base;   ///< empty if the variables do not have it
};

/// Returns the branch of the job whose environment this is; empty texts outside of CI, and for tags.
CiBranch find_ci_branch(const std::vector<std::string>& environment);

/// Returns the branch of the CI job, else the one that is checked out in the current folder; empty if there
/// is neither.
std::string find_branch_here(const std::vector<std::string>& environment);

/// Where a run comes from, and what the user should know about that.
struct FoundOrigin {
  history::RunOrigin origin;
  std::vector<std::string> notes;
};

/// Returns the origin of a run of `commit` (empty: unknown): by the options, else by the CI job, else by the
/// git clone in the current folder, if `commit` is checked out there. What git says of the commit is empty
/// without git, or if the clone does not have it. `base_branch`: of the history, empty if
/// it has none.
FoundOrigin find_origin(const OriginOptions& options, const std::vector<std::string>& environment,
                        const std::string& commit, const std::string& base_branch);

}  // namespace peakmark::cli
