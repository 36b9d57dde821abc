#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "supervise/build_comparison.hpp"
#include "supervise/git_repository.hpp"
#include "supervise/sweep_run.hpp"

namespace peakmark {

/// A worktree of a repository, in a folder that one process has at a time. It is removed with this object,
/// unless keep() was called.
class CommitWorktree {
 public:
  /// Waits while another process has the folder. `interrupt`: the descriptor that ends waiting, checkouts and
  /// builds. Throws Interrupted, and IoError if the folder cannot be used.
  CommitWorktree(const GitRepository& repository, std::filesystem::path folder, int interrupt);
  ~CommitWorktree();
  CommitWorktree(const CommitWorktree&) = delete;
  CommitWorktree& operator=(const CommitWorktree&) = delete;

  /// Returns the root of the worktree. It exists after the first check_out().
  [[nodiscard]] const std::filesystem::path& top() const { return top_; }
  [[nodiscard]] const std::string& commit() const { return commit_; }

  /// Checks out a commit with its submodules. Discards changes of files that git knows; other files, such as
  /// what was built, stay. Throws MeasurementError with git's message if that fails.
  void check_out(const std::string& commit);

  /// Runs a command of the shell in top(). Throws MeasurementError, which names the file with its output, if
  /// it fails; its last lines are printed.
  void build(const std::string& command);

  /// Returns whether an earlier process has built this commit here by this command and kept it; it stays
  /// kept.
  bool has_build(const std::string& commit, const std::string& command);
  /// Leaves the worktree for later processes, with what was built.
  void keep(const std::string& command);

 private:
  void lock();
  void remove();

  const GitRepository& repository_;
  std::filesystem::path folder_;
  std::filesystem::path top_;
  int interrupt_;
  std::string commit_;
  Descriptor lock_{-1};
  bool is_kept_ = false;
};

/// Returns the folder for worktrees of a repository, `peakmark/commits/NAME-HASH` in $XDG_CACHE_HOME or
/// ~/.cache. Throws EnvironmentError if neither is set.
std::filesystem::path commit_cache(const GitRepository& repository);

/// Returns a worktree in which the commit is built: one that was kept, or a new one, which is removed unless
/// the caller keeps it. Throws as check_out() and build() do.
std::unique_ptr<CommitWorktree> build_commit(const GitRepository& repository, const std::string& commit,
                                             const std::string& command, int interrupt);

/// Removes the worktrees in the cache but for the `kept` that were used last, and those in use.
void remove_builds(const GitRepository& repository, std::size_t kept);
/// How many stay after a comparison.
inline constexpr std::size_t kKeptBuilds = 8;

/// What is measured of a commit.
struct CommitSide {
  std::filesystem::path worker;
  bool has_own_worker = true;  ///< false: `worker` is not of the commit, so only programs are measured
  /// The suites at their places in the worktree, where their programs find those of the commit; empty if one
  /// is not in the repository.
  std::vector<std::filesystem::path> suites;
  /// The suites of the commit itself, for the versions of its variants; empty if it lacks one.
  std::vector<std::filesystem::path> own_suites = {};
};

/// Returns the worker of the suites, or that `sweep.worker` names, as the worktree has it: at the same place
/// in the repository. Copies the suites into the worktree. Throws UsageError that lists where it looked for a
/// worker that is named.
CommitSide side_of_commit(const CommitWorktree& worktree, const GitRepository& repository,
                          const SweepOptions& sweep);

/// Makes `base` and `next` the sides of a comparison of builds.
void set_sides(BuildComparisonOptions& comparison, const CommitSide& base, const CommitSide& next);

}  // namespace peakmark
