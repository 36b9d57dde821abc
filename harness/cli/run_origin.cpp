#include "cli/run_origin.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/git/git_repository.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::cli {
namespace {

/// Number of first parents of a commit that are stored: a nightly run is rarely further away.
constexpr int kMaxBaseCommits = 200;

/// Maximum bytes of a stored subject or name.
constexpr std::size_t kMaxCommitText = 200;

/// The branch of a run if no branch is checked out.
constexpr const char* kDetached = "detached";

/// The git clone in the current folder. Everything is empty if there is none, or git is not installed.
class Clone {
 public:
  /// Returns the output of git without the last newline; empty if it fails.
  [[nodiscard]] std::string git(const std::vector<std::string>& words) const {
    if (!repository_) return {};
    const Answer answer = repository_->git(words);
    if (answer.end.exit_code != 0) return {};
    return answer.output.substr(0, answer.output.find_last_not_of('\n') + 1);
  }

  [[nodiscard]] std::string head() const { return git({"rev-parse", "--verify", "--quiet", "HEAD"}); }
  /// Returns the checked-out branch; empty if there is none.
  [[nodiscard]] std::string branch() const { return git({"symbolic-ref", "--quiet", "--short", "HEAD"}); }
  [[nodiscard]] bool is_shallow() const { return repository_ && repository_->is_shallow(); }
  [[nodiscard]] std::string merge_base(const std::string& one, const std::string& other) const {
    return repository_ ? repository_->merge_base(one, other).value_or("") : "";
  }
  /// Returns whether the clone has this commit.
  [[nodiscard]] bool has(const std::string& commit) const {
    return !git({"rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{commit}"}).empty();
  }

  /// Returns the name of the remote's default branch, else `main` or `master` if there is one; else empty.
  [[nodiscard]] std::string base_branch() const {
    constexpr std::string_view remote = "origin/";
    const std::string name = git({"symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"});
    if (name.starts_with(remote)) return name.substr(remote.size());
    for (const char* const common : {"main", "master"}) {
      if (!base_refs(common).empty()) return common;
    }
    return {};
  }

  /// Returns the existing references of a branch, remote and local. Either may be older.
  [[nodiscard]] std::vector<std::string> base_refs(const std::string& branch) const {
    std::vector<std::string> refs;
    for (const char* const folder : {"refs/remotes/origin/", "refs/heads/"}) {
      std::string ref = folder + branch;
      if (has(ref)) refs.push_back(std::move(ref));
    }
    return refs;
  }

  /// Returns the merge base of a commit and a branch that is nearest to the commit, over the references of
  /// the branch; empty if there is none.
  [[nodiscard]] std::string nearest_merge_base(const std::vector<std::string>& refs,
                                               const std::string& commit) const {
    std::string nearest;
    for (const std::string& ref : refs) {
      const std::string base = merge_base(ref, commit);
      if (nearest.empty() || (!base.empty() && merge_base(nearest, base) == nearest)) nearest = base;
    }
    return nearest;
  }

  /// Returns the facts of a commit in git; all are empty if the clone does not have it. `merge_base`: of its
  /// branch. If a CI system has merged a branch and its base for the job, the facts are those of the branch's
  /// commit.
  [[nodiscard]] trend::CommitText text_of(const std::string& commit, const std::string& merge_base) const {
    trend::CommitText text;
    if (!has(commit)) return text;
    const bool is_merged_for_ci =
        !merge_base.empty() && git({"rev-parse", "--verify", "--quiet", commit + "^1"}) == merge_base;
    const std::string second =
        is_merged_for_ci ? git({"rev-parse", "--verify", "--quiet", commit + "^2"}) : std::string();
    std::istringstream lines(git(
        {"log", "-1", "--no-show-signature", "--format=%aN%n%s", second.empty() ? commit : second, "--"}));
    std::getline(lines, text.author);
    std::getline(lines, text.subject);
    // Only a name is stored, no address.
    if (text.author.find('@') != std::string::npos) text.author.clear();
    text.subject = shortened(text.subject, kMaxCommitText);
    text.author = shortened(text.author, kMaxCommitText);
    if (!is_shallow()) text.number = parse_number<std::int64_t>(git({"rev-list", "--count", commit, "--"}));
    return text;
  }

  /// Returns a commit and its first parents, newest first; only the commit if the clone does not have it.
  [[nodiscard]] std::vector<std::string> first_parents(const std::string& commit) const {
    std::istringstream lines(
        git({"rev-list", "--first-parent", fmt::format("--max-count={}", kMaxBaseCommits), "--end-of-options",
             commit}));
    std::vector<std::string> commits;
    for (std::string line; std::getline(lines, line);) commits.push_back(line);
    if (commits.empty()) commits.push_back(commit);
    return commits;
  }

 private:
  std::optional<GitRepository> repository_ = GitRepository::find(std::filesystem::current_path());
};

std::string variable_text(const std::vector<std::string>& environment, std::string_view name) {
  return find_variable(environment, name).value_or("");
}

/// Returns `pull/12` for `refs/pull/12/merge`; empty for another reference.
std::string pull_request(const std::string& ref) {
  constexpr std::string_view start = "refs/";
  constexpr std::string_view end = "/merge";
  if (!ref.starts_with("refs/pull/") || !ref.ends_with(end)) return {};
  return ref.substr(start.size(), ref.size() - start.size() - end.size());
}

/// Returns the tip of the base branch into which GitHub merged a pull request for the job; empty if unknown.
std::string base_of_github_event(const std::string& file) {
  if (file.empty()) return {};
  try {
    const auto event = json_fields::Json::parse(read_text_file(file));
    return event.at("pull_request").at("base").at("sha").get<std::string>();
  } catch (const json_fields::Json::exception&) {
    return {};
  } catch (const Error&) {
    return {};
  }
}

CiBranch github_branch(const std::vector<std::string>& environment) {
  if (const std::string pull = pull_request(variable_text(environment, "GITHUB_REF")); !pull.empty()) {
    return {pull, variable_text(environment, "GITHUB_BASE_REF"),
            base_of_github_event(variable_text(environment, "GITHUB_EVENT_PATH"))};
  }
  // A pull request in other events: its number, because the branch of a fork may have the name of the base
  // branch.
  const std::string head = variable_text(environment, "GITHUB_HEAD_REF");
  if (!head.empty()) return {"pull/" + head, variable_text(environment, "GITHUB_BASE_REF"), {}};
  if (variable_text(environment, "GITHUB_REF_TYPE") != "branch") return {};
  return {variable_text(environment, "GITHUB_REF_NAME"), {}, {}};
}

CiBranch gitlab_branch(const std::vector<std::string>& environment) {
  if (const std::string number = variable_text(environment, "CI_MERGE_REQUEST_IID"); !number.empty()) {
    return {"merge-request/" + number, variable_text(environment, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
            variable_text(environment, "CI_MERGE_REQUEST_DIFF_BASE_SHA")};
  }
  return {variable_text(environment, "CI_COMMIT_BRANCH"), {}, {}};
}

CiBranch jenkins_branch(const std::vector<std::string>& environment) {
  if (const std::string number = variable_text(environment, "CHANGE_ID"); !number.empty())
    return {"PR-" + number, variable_text(environment, "CHANGE_TARGET"), {}};
  if (std::string branch = variable_text(environment, "BRANCH_NAME"); !branch.empty())
    return {branch, {}, {}};
  constexpr std::string_view remote = "origin/";
  std::string branch = variable_text(environment, "GIT_BRANCH");
  if (branch.starts_with(remote)) branch.erase(0, remote.size());
  return {branch == "detached" ? "" : branch, {}, {}};
}

void add_merge_base(const Clone& clone, const std::string& commit, FoundOrigin& found) {
  const history::RunOrigin& origin = found.origin;
  const auto note = [&](const std::string& why) {
    found.notes.push_back(fmt::format(
        "the merge base of '{}' with '{}' is not known: {}. Its run is compared with the newest run of '{}' "
        "before it; name the commit with --merge-base",
        origin.branch, origin.base_branch, why, origin.base_branch));
  };
  if (commit.empty() || !clone.has(commit)) {
    return note(commit.empty() ? "the run has no commit"
                               : "its commit is not in the git clone of this folder");
  }
  const std::vector<std::string> base = clone.base_refs(origin.base_branch);
  const std::string merge_base = clone.nearest_merge_base(base, commit);
  if (!merge_base.empty()) {
    found.origin.base_commits = clone.first_parents(merge_base);
  } else if (clone.is_shallow()) {
    note(
        "this clone is shallow; fetch the whole history (`git fetch --unshallow`, or fetch-depth: 0 of "
        "actions/checkout)");
  } else {
    note(base.empty() ? fmt::format("this clone has no branch '{}'; fetch it", origin.base_branch)
                      : "the branches have no common commit");
  }
}

}  // namespace

CiBranch find_ci_branch(const std::vector<std::string>& environment) {
  if (variable_text(environment, "GITHUB_ACTIONS") == "true") return github_branch(environment);
  if (variable_text(environment, "GITLAB_CI") == "true") return gitlab_branch(environment);
  if (!variable_text(environment, "JENKINS_URL").empty()) return jenkins_branch(environment);
  return {};
}

std::string find_branch_here(const std::vector<std::string>& environment) {
  const CiBranch job = find_ci_branch(environment);
  return job.branch.empty() ? Clone().branch() : job.branch;
}

namespace {

/// Returns the origin without RunOrigin::commit.
FoundOrigin find_branch_origin(const Clone& clone, const OriginOptions& options,
                               const std::vector<std::string>& environment, const std::string& commit,
                               const std::string& base_branch) {
  const CiBranch job = find_ci_branch(environment);
  FoundOrigin found;
  history::RunOrigin& origin = found.origin;
  origin.branch = options.branch.value_or(job.branch);
  const bool is_here = !commit.empty() && clone.head() == commit;
  if (origin.branch.empty() && is_here) origin.branch = clone.branch();
  const bool is_detached = origin.branch.empty() && is_here;
  if (is_detached) origin.branch = kDetached;
  if (origin.branch.empty()) return found;
  origin.base_branch = base_branch;
  if (origin.base_branch.empty()) origin.base_branch = job.base_branch;
  if (options.base_branch) origin.base_branch = *options.base_branch;
  // A job without a pull request runs on the branch to follow, such as a nightly on `develop`.
  if (origin.base_branch.empty() && job.branch.empty()) origin.base_branch = clone.base_branch();
  if (is_detached) {
    if (origin.base_branch.empty()) return {};  // no branch is known here
    found.notes.push_back(fmt::format(
        "no branch is checked out here: the run is filed as of branch '{}', and trends of '{}' leave it "
        "out; name its branch with --branch",
        kDetached, origin.base_branch));
  }
  if (origin.base_branch.empty() || origin.branch == origin.base_branch) {
    if (!commit.empty() && clone.has(commit)) origin.base_commits = clone.first_parents(commit);
    return found;
  }
  std::string merge_base = options.merge_base.value_or("");
  if (merge_base.empty() && !is_here) merge_base = job.merge_base;
  if (!merge_base.empty()) {
    origin.base_commits = clone.first_parents(merge_base);
    return found;
  }
  add_merge_base(clone, commit, found);
  if (origin.base_commits.empty() && !job.merge_base.empty()) {
    found.notes.clear();
    origin.base_commits = clone.first_parents(job.merge_base);
  }
  return found;
}

}  // namespace

FoundOrigin find_origin(const OriginOptions& options, const std::vector<std::string>& environment,
                        const std::string& commit_of_run, const std::string& base_branch) {
  const std::string commit = commit_of_run.substr(0, commit_of_run.find('+'));
  const Clone clone;
  FoundOrigin found = find_branch_origin(clone, options, environment, commit, base_branch);
  history::RunOrigin& origin = found.origin;
  if (commit.empty()) return found;
  const bool is_of_base = origin.base_branch.empty() || origin.branch == origin.base_branch;
  const bool has_base = !is_of_base && !origin.base_commits.empty();
  origin.commit = clone.text_of(commit, has_base ? origin.base_commits.front() : "");
  return found;
}

}  // namespace peakmark::cli
