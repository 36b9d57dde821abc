#include "measure/git/git_repository.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

// A checkout may download submodules and large files.
constexpr std::chrono::hours kGitLimit{24};

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string git_message(const Answer& answer) {
  std::string_view text = answer.errors;
  text = text.substr(0, text.find('\n'));
  for (const std::string_view start : {"fatal: ", "error: "}) {
    if (text.starts_with(start)) text.remove_prefix(start.size());
  }
  return text.empty() ? answer.how_it_ended() : one_line(text);
}

std::vector<std::string> environment_without_git() {
  constexpr std::array<std::string_view, 8> kOfGit{"GIT_DIR=",
                                                   "GIT_WORK_TREE=",
                                                   "GIT_INDEX_FILE=",
                                                   "GIT_PREFIX=",
                                                   "GIT_OBJECT_DIRECTORY=",
                                                   "GIT_COMMON_DIR=",
                                                   "GIT_NAMESPACE=",
                                                   "GIT_ALTERNATE_OBJECT_DIRECTORIES="};
  std::vector<std::string> environment = current_environment();
  std::erase_if(environment, [&](const std::string& entry) {
    return std::ranges::any_of(kOfGit, [&](std::string_view start) { return entry.starts_with(start); });
  });
  return environment;
}

GitRepository::GitRepository(const fs::path& folder) {
  const auto found = find_program(current_environment(), "git");
  if (!found) throw EnvironmentError("git: no such program in the folders of PATH; install it");
  git_ = *found;
  const Answer common = git({"rev-parse", "--path-format=absolute", "--git-common-dir"}, folder);
  if (common.end.exit_code != 0) {
    throw UsageError(fmt::format("{}: no Git repository: {}; change to a folder of the repository",
                                 folder.string(), git_message(common)));
  }
  common_folder_ = without_last_newline(common.output);
  const Answer top = git({"rev-parse", "--show-toplevel"}, folder);
  top_ = top.end.exit_code == 0 ? fs::path(without_last_newline(top.output)) : common_folder_;
}

std::optional<GitRepository> GitRepository::find(const fs::path& folder) {
  try {
    return GitRepository(folder);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string GitRepository::commit(const std::string& name) const {
  const Answer answer = git({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
  if (answer.end.exit_code == 0) return without_last_newline(answer.output);
  throw UsageError(fmt::format(
      "{}: unknown commit: {}; {}", top_.string(), name.empty() ? "''" : one_line(name),
      is_shallow() ? "this clone is shallow: `git fetch --unshallow` gets the whole history"
                   : "name a commit, a tag or a branch, after `git fetch` if it is of another clone"));
}

CommitInfo GitRepository::info(const std::string& hash) const {
  const std::string text = output({"show", "--no-patch", "--no-show-signature", "--format=%cI%n%s", hash});
  const std::size_t end = text.find('\n');
  return {hash, end == std::string::npos ? "" : text.substr(end + 1), text.substr(0, end)};
}

bool GitRepository::is_shallow() const {
  return output({"rev-parse", "--is-shallow-repository"}) == "true";
}

bool GitRepository::is_ancestor(const std::string& older, const std::string& newer) const {
  return git({"merge-base", "--is-ancestor", older, newer}).end.exit_code == 0;
}

std::optional<std::string> GitRepository::merge_base(const std::string& one, const std::string& other) const {
  const Answer answer = git({"merge-base", one, other});
  if (answer.end.exit_code != 0) return std::nullopt;
  return without_last_newline(answer.output);
}

bool GitRepository::has_uncommitted_changes() const {
  const Answer answer = git({"--no-optional-locks", "status", "--porcelain", "--untracked-files=no"});
  return answer.end.exit_code == 0 && !answer.output.empty();
}

Answer GitRepository::git(const std::vector<std::string>& arguments, const fs::path& folder,
                          int interrupt) const {
  WorkerCommand command{git_,
                        {"-C", (folder.empty() ? top_ : folder).string(), "-c", "core.hooksPath=/dev/null",
                         "-c", "gc.auto=0", "-c", "advice.detachedHead=false"},
                        environment_without_git(),
                        ""};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  set_variable(command.environment, "GIT_TERMINAL_PROMPT", "0");
  return ask(command, kGitLimit, interrupt);
}

std::string GitRepository::output(const std::vector<std::string>& arguments, const fs::path& folder) const {
  const Answer answer = git(arguments, folder);
  if (answer.end.exit_code == 0) return without_last_newline(answer.output);
  throw IoError(fmt::format("git {}: {}", fmt::join(arguments, " "), git_message(answer)));
}

namespace {

constexpr std::string_view kBuildAgain = ": build it again to measure HEAD";

}  // namespace

bool is_other_commit_warning(std::string_view warning) {
  return warning.ends_with(kBuildAgain);
}

std::string other_commit_warning(const std::string& program, const std::string& commit,
                                 const std::vector<fs::path>& folders) {
  const std::string built = commit.ends_with('+') ? commit.substr(0, commit.size() - 1) : commit;
  if (built.empty()) return {};
  for (const fs::path& folder : folders) {
    const std::optional<GitRepository> repository = GitRepository::find(folder);
    if (!repository) continue;
    try {
      const std::string hash = repository->commit(built);
      const std::string head = repository->commit("HEAD");
      if (hash == head) return {};
      return fmt::format("{} was built from commit {}, and HEAD is {}{}", program, short_commit(hash),
                         short_commit(head), kBuildAgain);
    } catch (const Error&) {  // another project's commit, or a repository without one
    }
  }
  return {};
}

}  // namespace peakmark
