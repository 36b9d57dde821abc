// Branches in a history, tested with the whole program in git clones and with the variables of CI jobs.
#include <nlohmann/json.hpp>

#include "base/text_file.hpp"
#include "cli/history_command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

class BranchesCommand : public HistoryTest {
 protected:
  /// Runs a shell script in which `$peakmark` is the program. Returns its output.
  Answer shell(const std::string& script) const {
    WorkerCommand words = command({});
    words.arguments = {"-ec", "cd '" + folder_.path().string() + "'\n" + script};
    words.program = "/bin/sh";
    for (const std::string& entry :
         {std::string("peakmark=") + PEAKMARK_PROGRAM, "PEAKMARK_HISTORY=" + file_,
          std::string("GIT_CONFIG_GLOBAL=/dev/null"), std::string("GIT_CONFIG_SYSTEM=/dev/null"),
          std::string("GIT_AUTHOR_NAME=ada"), std::string("GIT_AUTHOR_EMAIL=ada@example.org"),
          std::string("GIT_COMMITTER_NAME=ada"), std::string("GIT_COMMITTER_EMAIL=ada@example.org")})
      words.environment.push_back(entry);
    return ask(words, kLimit);
  }

  /// A repository with the commits 1, 2 and 4 on main, and the commit 3 on topic, which starts from 2.
  void make_repository() const {
    const Answer made = shell(
        "git init -q -b main repository && cd repository\n"
        "commit() { echo $1 > file; git add file; git commit -qm $1; git tag c$1; }\n"
        "commit 1; commit 2; git checkout -qb topic; commit 3; git checkout -q main; commit 4\n");
    ASSERT_EQ(made.end.exit_code, 0) << made.errors;
  }
  std::string commit(const std::string& tag) const {
    const Answer found = shell("cd repository; git rev-parse " + tag);
    EXPECT_EQ(found.end.exit_code, 0) << found.errors;
    return found.output.substr(0, 40);
  }

  /// Writes a run with this day and commit. Every case needs `more_bytes` more than the original.
  std::string run_of(int day, const std::string& commit, int more_bytes = 0) const {
    peakmark::Run run = read_run(run_file_);
    run.context.id = "run-" + std::to_string(day);
    run.context.date = "2026-01-0" + std::to_string(day) + "T02:00:00Z";
    run.context.commit = commit;
    for (Observation& one : run.observations) *one.requested_peak_bytes += more_bytes;
    const std::string path = folder_.path() / (run.context.id + ".json");
    write_run(run, path);
    return path;
  }

  /// Adds a run with the variables of a CI job. Returns what was added.
  Json add(const std::string& path, const std::vector<std::string>& variables,
           const std::string& options = "") const {
    std::string script;
    for (const std::string& variable : variables) script += "export " + variable + "\n";
    const Answer added = shell(script + "$peakmark history add --json " + path + " " + options);
    EXPECT_EQ(added.end.exit_code, 0) << added.errors;
    return Json::parse(added.output).at("runs").at(0);
  }
};

// A job of last month is repeated, so an older commit is measured today.
TEST_F(BranchesCommand, ARepeatedJobOfAnOlderCommitHidesNoRegression) {
  make_repository();
  const std::string first = run_of(1, commit("c1"));
  const std::string grown = run_of(2, commit("c4"), 512);
  const std::string repeated = run_of(3, commit("c2"));
  const Answer added = shell("cd repository; for run in " + first + " " + grown + " " + repeated +
                             "; do $peakmark history add $run --branch main; done");
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors, HasSubstr("is older than that of run run-2 ("));
  EXPECT_EQ(shell("$peakmark trends").end.exit_code, 1);
  const Json log = Json::parse(shell("$peakmark history log --json").output);
  std::vector<std::string> ids;
  for (const Json& one : log.at("runs")) ids.push_back(one.at("run"));
  EXPECT_THAT(ids, testing::ElementsAre("run-2", "run-3", "run-1"));
}

TEST_F(BranchesCommand, TheCloneHasBranchAndMergeBase) {
  make_repository();
  const std::string base = run_of(1, commit("c1"));
  const std::string later = run_of(2, commit("c4"), 512);
  const std::string topic = run_of(3, commit("c3"), 256);
  const Answer added = shell("cd repository; git checkout -q main~1; $peakmark history add " + base +
                             " --branch main; git checkout -q main; $peakmark history add " + later +
                             "; git checkout -q topic; $peakmark history add " + topic);
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors, AllOf(HasSubstr("run 1 of branch 'topic' of 'dry' (dry)\n"),
                                  HasSubstr("peakmark trends --branch topic\n"),
                                  HasSubstr("the base branch of this history is 'main'")));

  const Answer branch = shell("cd repository; $peakmark trends --branch auto --markdown ../topic.md");
  EXPECT_EQ(branch.end.exit_code, 1) << branch.errors;
  EXPECT_THAT(
      branch.output,
      AllOf(StartsWith("1 finding: 1 regression; 2 cases: "), HasSubstr("+256 B"), Not(HasSubstr("+512 B")),
            HasSubstr(" of topic (" + commit("c3").substr(0, 12) + ") against main at " +
                      commit("c1").substr(0, 12) + ", 1 commit before its merge base " +
                      commit("c2").substr(0, 12) + ", which was not measured\n")));
  EXPECT_THAT(read_text_file(folder_.path() / "topic.md"), HasSubstr("against main at "));
  const Json json = Json::parse(shell("$peakmark trends --branch topic --json").output);
  EXPECT_EQ(json.at("branches").at(0).at("merge_base"), commit("c2"));
  EXPECT_EQ(json.at("branches").at(0).at("commits_before_merge_base"), 1);
  const Json& finding = json.at("findings").at(0);
  EXPECT_EQ(finding.at("commit_before"), commit("c1"));
  EXPECT_EQ(finding.at("commit_subject"), "3");
  EXPECT_EQ(finding.at("commit_author"), "ada") << "without the address";
  EXPECT_EQ(finding.at("commits_between"), 2);
  EXPECT_THAT(branch.output, HasSubstr(" (2 commits, the last: 3, by ada)"));
  EXPECT_THAT(read_text_file(folder_.path() / "topic.md"), StartsWith("<!-- peakmark trends: "));

  // The input of a report has the runs of the base branch up to the compared one, then those of the branch.
  const std::string series = shell("$peakmark history export --branch topic --format series").output;
  const Json runs = Json::parse(series.substr(0, series.find('\n'))).at("runs");
  ASSERT_GE(runs.size(), 2U) << series;
  EXPECT_EQ(runs[0].at("branch"), "main");
  EXPECT_EQ(runs[runs.size() - 2].at("commit"), commit("c1"));
  EXPECT_EQ(runs.back().at("branch"), "topic");
  EXPECT_EQ(shell("$peakmark history export --branch topic --format run").end.exit_code, 2);

  const Answer main = shell("$peakmark trends");
  EXPECT_EQ(main.end.exit_code, 1);
  EXPECT_THAT(main.output, AllOf(HasSubstr("+512 B"), Not(HasSubstr("+256 B"))));
  EXPECT_THAT(shell("$peakmark history log --branch topic").output,
              AllOf(HasSubstr("run-3"), HasSubstr("\n1 run\n")));

  const Answer accepted = shell("$peakmark trends accept '*' --branch topic --reason 'a table is needed'");
  EXPECT_EQ(accepted.end.exit_code, 0) << accepted.errors;
  EXPECT_EQ(shell("$peakmark trends --branch topic").end.exit_code, 0);
  EXPECT_EQ(shell("$peakmark trends").end.exit_code, 1) << "main's own";
  const Answer pruned = shell("$peakmark history prune --branch topic");
  EXPECT_EQ(pruned.output, "run-3\n") << pruned.errors;
  EXPECT_THAT(shell("$peakmark trends --branch topic").errors, HasSubstr("no run of branch 'topic'"));
  EXPECT_EQ(shell("$peakmark history prune --branch main").end.exit_code, 2);
  EXPECT_EQ(shell("$peakmark history prune --branch topic --older-than 1").end.exit_code, 2);
}

TEST_F(BranchesCommand, OfTheMergeOfAPullRequestItsOwnCommitIsNamed) {
  make_repository();
  const Answer merged = shell(
      "cd repository; git checkout -q --detach main; git merge -q -s ours -m 'Merge 3 into 4' topic; git tag "
      "m");
  ASSERT_EQ(merged.end.exit_code, 0) << merged.errors;
  const std::string base = run_of(1, commit("c4"));
  const std::string pull = run_of(2, commit("m"), 256);
  const Answer added = shell("cd repository; $peakmark history add " + base +
                             " --branch main; export GITHUB_ACTIONS=true GITHUB_REF=refs/pull/7/merge "
                             "GITHUB_BASE_REF=main; $peakmark history add " +
                             pull);
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  const Json json = Json::parse(shell("$peakmark trends --branch pull/7 --json").output);
  const Json& finding = json.at("findings").at(0);
  EXPECT_EQ(finding.at("commit"), commit("m"));
  EXPECT_EQ(finding.at("commit_subject"), "3");
  EXPECT_EQ(finding.at("commits_between"), 2) << "it and the merge";
}

TEST_F(BranchesCommand, WithoutGitACommitHasNoSubject) {
  make_repository();
  const Answer added = shell("$peakmark history add " + run_of(1, commit("c1")) + " " +
                             run_of(2, commit("c2"), 256) + " --branch main");
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  const Json finding = Json::parse(shell("$peakmark trends --json").output).at("findings").at(0);
  for (const char* const key : {"commit_subject", "commit_author", "commits_between"})
    EXPECT_TRUE(finding.at(key).is_null()) << key;
}

TEST_F(BranchesCommand, ACommitWithoutABranchIsNotOfTheBaseBranch) {
  make_repository();
  const std::string detached = run_of(1, commit("c2"));
  const std::string named = run_of(2, commit("c1"));
  const Answer added = shell("cd repository; git checkout -q c2; $peakmark history add " + detached +
                             "; git checkout -q c1; $peakmark history add " + named + " --branch main");
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors,
              AllOf(HasSubstr("run 1 of branch 'detached' of 'dry' (dry)\n"),
                    HasSubstr("no branch is checked out here: the run is filed as of branch "
                              "'detached', and trends of 'main' leave it out; name its branch with "
                              "--branch")));
  EXPECT_EQ(Json::parse(shell("$peakmark trends --json --allow-uncompared").output).at("runs"), 1);
}

TEST_F(BranchesCommand, TheNearerMergeBaseOfTheLocalAndTheRemoteBranchCounts) {
  make_repository();
  // In the clone, origin/main stays at commit 4 while main continues; `pulled` branches off the newer main.
  const Answer made = shell(
      "git clone -q repository clone && cd clone && echo 5 > file && git commit -qam 5 && git tag c5 && "
      "git checkout -qb pulled && echo 6 > file && git commit -qam 6");
  ASSERT_EQ(made.end.exit_code, 0) << made.errors;
  const std::string newer = shell("cd clone; git rev-parse c5").output.substr(0, 40);
  const std::string pulled = shell("cd clone; git rev-parse HEAD").output.substr(0, 40);
  const std::string old = run_of(1, commit("c4"), 512);
  const std::string base = run_of(2, newer);
  const std::string own = run_of(3, pulled);
  const Answer added = shell("cd clone; $peakmark history add " + old + " " + base +
                             " --branch main --base-branch main; $peakmark history add " + own);
  ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  const Answer compared = shell("$peakmark trends --branch pulled");
  EXPECT_THAT(compared.output, HasSubstr("against main at its merge base " + newer.substr(0, 12)));
}

TEST_F(BranchesCommand, AShallowCloneDoesNotHaveTheMergeBase) {
  make_repository();
  ASSERT_EQ(shell("git clone -q --depth 1 --no-single-branch file://$PWD/repository shallow").end.exit_code,
            0);
  const std::string path = run_of(1, commit("c3"));
  const Answer added = shell("cd shallow; git checkout -q topic; $peakmark history add " + path);
  EXPECT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors,
              AllOf(HasSubstr("the merge base of 'topic' with 'main' is not known: this clone is "
                              "shallow; fetch the whole history"),
                    HasSubstr("--merge-base")));
  const std::string named = run_of(2, commit("c3"));
  const Answer by_hand =
      shell("cd shallow; $peakmark history add " + named + " --merge-base " + commit("c2"));
  EXPECT_THAT(by_hand.errors, Not(HasSubstr("is not known")));
}

TEST_F(BranchesCommand, ACiJobHasTheBranch) {
  const std::string base(40, 'b');
  const std::string event = folder_.path() / "event.json";
  std::ofstream(event) << R"({"pull_request": {"base": {"sha": ")" << base << R"("}}})";
  Json added = add(run_of(1, std::string(40, 'a')),
                   {"GITHUB_ACTIONS=true", "GITHUB_REF=refs/pull/12/merge", "GITHUB_HEAD_REF=main",
                    "GITHUB_BASE_REF=main", "GITHUB_EVENT_PATH=" + event});
  EXPECT_EQ(added.at("branch"), "pull/12") << "a fork's branch may have the name of the base branch";
  EXPECT_EQ(added.at("is_of_base"), false);
  added = add(run_of(2, base), {"GITHUB_ACTIONS=true", "GITHUB_REF=refs/heads/main", "GITHUB_REF_TYPE=branch",
                                "GITHUB_REF_NAME=main"});
  EXPECT_EQ(added.at("branch"), "main");
  EXPECT_EQ(added.at("is_of_base"), true);
  EXPECT_THAT(shell("$peakmark trends --branch pull/12").output,
              HasSubstr("against main at its merge base bbbbbbbbbbbb"));
  added = add(run_of(3, "c"), {"GITHUB_ACTIONS=true", "GITHUB_REF_TYPE=tag", "GITHUB_REF_NAME=v1"});
  EXPECT_EQ(added.at("branch"), nullptr);

  added = add(run_of(4, "d"),
              {"GITLAB_CI=true", "CI_MERGE_REQUEST_IID=5", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main",
               "CI_MERGE_REQUEST_DIFF_BASE_SHA=" + base});
  EXPECT_EQ(added.at("branch"), "merge-request/5");
  EXPECT_THAT(shell("export GITLAB_CI=true CI_MERGE_REQUEST_IID=5; $peakmark trends --branch auto").output,
              HasSubstr("merge-request/5 (d) against main at its merge base bbbbbbbbbbbb"));
  added =
      add(run_of(5, "e"), {"JENKINS_URL=http://ci", "CHANGE_ID=8", "CHANGE_TARGET=main", "BRANCH_NAME=PR-8"});
  EXPECT_EQ(added.at("branch"), "PR-8");
  added = add(run_of(6, "f"), {"JENKINS_URL=http://ci", "GIT_BRANCH=origin/main"});
  EXPECT_EQ(added.at("is_of_base"), true);
  added =
      add(run_of(7, "f"), {"GITLAB_CI=true", "CI_COMMIT_BRANCH=main"}, "--branch mine --base-branch main");
  EXPECT_EQ(added.at("branch"), "mine") << "options count first";
  EXPECT_EQ(shell("$peakmark history add --branch '' run-7.json").end.exit_code, 2);
}

TEST_F(BranchesCommand, TheBranchOfTheFirstJobIsTheBase) {
  make_repository();
  const std::string path = run_of(1, commit("c3"));
  const Answer added = shell(
      "cd repository; git checkout -q topic; export GITHUB_ACTIONS=true GITHUB_REF_TYPE=branch "
      "GITHUB_REF_NAME=topic; $peakmark history add " +
      path);
  EXPECT_EQ(added.end.exit_code, 0) << added.errors;
  EXPECT_THAT(added.errors, HasSubstr("the base branch of this history is 'topic'"));
  EXPECT_THAT(shell("$peakmark trends").output, HasSubstr("dry (dry): 1 run"));
}

TEST_F(BranchesCommand, CommitsAreLinked) {
  ASSERT_EQ(shell("$peakmark history add " + run_of(1, "c0ffee1")).end.exit_code, 0);
  ASSERT_EQ(shell("$peakmark history add " + run_of(2, "feedface", 256)).end.exit_code, 0);
  const std::string markdown = folder_.path() / "trends.md";
  EXPECT_EQ(shell("$peakmark trends --commit-url 'https://example.org/c/{commit}' --markdown trends.md")
                .end.exit_code,
            1);
  EXPECT_THAT(read_text_file(markdown),
              HasSubstr("[c0ffee1](https://example.org/c/c0ffee1)..[feedface](https://"
                        "example.org/c/feedface)"));
  const Answer set = shell("$peakmark history set --commit-url 'https://example.org/{commit}'");
  EXPECT_EQ(set.output, "base branch: –\ncommit URL: https://example.org/{commit}\n") << set.errors;
  shell("$peakmark trends --markdown trends.md");
  EXPECT_THAT(read_text_file(markdown), HasSubstr("[feedface](https://example.org/feedface)"));
  EXPECT_EQ(Json::parse(shell("$peakmark trends --json").output).at("commit_url"),
            "https://example.org/{commit}");
  for (const std::string wrong :
       {"example.org/{commit}", "https://example.org/", "https://x/{commit})[y](", "javascript:{commit}"}) {
    EXPECT_EQ(shell("$peakmark trends --commit-url '" + wrong + "'").end.exit_code, 2) << wrong;
    EXPECT_EQ(shell("$peakmark history set --commit-url '" + wrong + "'").end.exit_code, 2) << wrong;
  }
}

}  // namespace
}  // namespace peakmark
