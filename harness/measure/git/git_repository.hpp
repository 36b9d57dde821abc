#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// A commit, as it is shown to users.
struct CommitInfo {
  std::string hash;     ///< 40 digits
  std::string subject;  ///< the first line of its message
  std::string date;     ///< of the committer: `2026-01-31T02:00:00+01:00`
};

/// A Git repository, used through the program `git` without its hooks. The functions here change neither the
/// user's working tree nor the index, branches and configuration.
class GitRepository {
 public:
  /// Finds the repository of a folder. Throws EnvironmentError if there is no program `git`, and UsageError
  /// if the folder is in no repository, or git refuses it.
  explicit GitRepository(const std::filesystem::path& folder);
  /// Returns the repository of a folder; nullopt if the constructor would throw.
  static std::optional<GitRepository> find(const std::filesystem::path& folder);

  /// Returns the root of the working tree; the repository itself if it is bare.
  [[nodiscard]] const std::filesystem::path& top() const { return top_; }
  /// Returns the folder with the history, which all worktrees share.
  [[nodiscard]] const std::filesystem::path& common_folder() const { return common_folder_; }

  /// Returns the hash of a commit, tag or branch. Throws UsageError if it is unknown; in a shallow clone the
  /// message says how to fetch the whole history.
  [[nodiscard]] std::string commit(const std::string& name) const;
  [[nodiscard]] CommitInfo info(const std::string& hash) const;
  [[nodiscard]] bool is_shallow() const;
  [[nodiscard]] bool is_ancestor(const std::string& older, const std::string& newer) const;
  /// Returns the best common ancestor; nullopt if there is none.
  [[nodiscard]] std::optional<std::string> merge_base(const std::string& one, const std::string& other) const;
  /// Returns whether a tracked file has changed since the last commit.
  [[nodiscard]] bool has_uncommitted_changes() const;

  /// Runs git in `folder`, by default top(). Throws Interrupted when `interrupt` becomes readable.
  Answer git(const std::vector<std::string>& arguments, const std::filesystem::path& folder = {},
             int interrupt = -1) const;
  /// Returns what git prints, without its last newline. Throws IoError with git's message if it fails.
  std::string output(const std::vector<std::string>& arguments,
                     const std::filesystem::path& folder = {}) const;

 private:
  std::filesystem::path git_;
  std::filesystem::path top_;
  std::filesystem::path common_folder_;
};

/// Returns true for a text of other_commit_warning().
bool is_other_commit_warning(std::string_view warning);
/// Returns a warning if a program was built from a commit other than HEAD of its repository: the first of
/// these folders whose repository has the commit. Returns an empty text if no repository has it, so that a
/// program of another project is not compared. `commit`: in the form of build_info, with a `+` for modified
/// sources.
std::string other_commit_warning(const std::string& program, const std::string& commit,
                                 const std::vector<std::filesystem::path>& folders);

/// Returns the first line of git's message after a failure, without `fatal: `.
std::string git_message(const Answer& answer);

/// Returns the environment without the variables by which git, when it runs a hook, names a repository.
std::vector<std::string> environment_without_git();

}  // namespace peakmark
