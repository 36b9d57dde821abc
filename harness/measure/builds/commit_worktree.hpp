#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "measure/builds/build_comparison.hpp"
#include "measure/git/git_repository.hpp"
#include "measure/supervise/sweep_run.hpp"

namespace peakmark {

/// A worktree of a repository, in a folder that only one process can use at a time. The destructor removes
/// it, unless keep() was called.
class CommitWorktree {
 public:
  /// Waits while another process uses the folder. `interrupt`: a descriptor that ends waiting, checkouts and
  /// builds. Throws Interrupted, and IoError if the folder cannot be used.
  CommitWorktree(const GitRepository& repository, std::filesystem::path folder, int interrupt);
  ~CommitWorktree();
  CommitWorktree(const CommitWorktree&) = delete;
  CommitWorktree& operator=(const CommitWorktree&) = delete;

  /// Returns the root of the worktree. It exists after the first check_out().
  [[nodiscard]] const std::filesystem::path& top() const { return top_; }
  [[nodiscard]] const std::string& commit() const { return commit_; }

  /// Checks out a commit with its submodules. Discards changes of files that git tracks; other files, such as
  /// build outputs, stay. Throws MeasurementError with git's message if that fails.
  void check_out(const std::string& commit);

  /// Runs a shell command in top(). If it fails, prints its last lines and throws MeasurementError, which
  /// names the file with its output.
  void build(const std::string& command);

  /// Returns whether an earlier process has built this commit here with this command and kept it; it stays
  /// kept.
  bool has_build(const std::string& commit, const std::string& command);
  /// Keeps the worktree and its build outputs for later processes.
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

/// Returns a worktree in which the commit is built: a kept one, or a new one, which is removed unless the
/// caller keeps it. Throws as check_out() and build() do.
std::unique_ptr<CommitWorktree> build_commit(const GitRepository& repository, const std::string& commit,
                                             const std::string& command, int interrupt);

/// Removes the worktrees in the cache, except those in use and the `kept` most recently used ones.
void remove_builds(const GitRepository& repository, std::size_t kept);
/// How many worktrees stay after a comparison.
inline constexpr std::size_t kKeptBuilds = 8;

/// The parts of a commit that are measured.
struct CommitSide {
  std::filesystem::path worker;
  bool has_own_worker = true;  ///< false: `worker` is from elsewhere, so only programs are measured
  /// The suites at their places in the worktree, where their programs find the files of the commit; empty if
  /// a suite is not in the repository.
  std::vector<std::filesystem::path> suites;
  /// The suites as the commit has them, for the versions of its variants; empty if it lacks one.
  std::vector<std::filesystem::path> own_suites = {};
};

/// Returns the worker of the suites, or the one that `sweep.worker` names, from the same place in the
/// worktree as in the repository. Copies the suites into the worktree. If a named worker is missing, throws
/// UsageError that lists where it looked.
CommitSide side_of_commit(const CommitWorktree& worktree, const GitRepository& repository,
                          const SweepOptions& sweep);

/// Makes `base` and `next` the sides of a comparison of builds.
void set_sides(BuildComparisonOptions& comparison, const CommitSide& base, const CommitSide& next);

}  // namespace peakmark
