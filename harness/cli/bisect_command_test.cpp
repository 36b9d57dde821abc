// Tests of `peakmark bisect` in generated repositories. The worker reports bytes and times that the test
// chooses.
#include <csignal>

#include "cli/commits_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using testing::StartsWith;

class BisectCommand : public CommitsTest {
 protected:
  std::vector<std::string> bisect_words(const std::string& good, const std::string& bad,
                                        const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = peakmark_words({"bisect", suite_, good, bad, "--case", case_});
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", build_});
    return words;
  }
  Answer bisect(const std::string& good, const std::string& bad,
                const std::vector<std::string>& more = {}) const {
    return in_project(bisect_words(good, bad, more));
  }
  nlohmann::json bisect_json(const std::string& good, const std::string& bad, int exit_code = 0,
                             std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    const Answer answer = bisect(good, bad, more);
    EXPECT_EQ(answer.end.exit_code, exit_code) << answer.errors;
    return nlohmann::json::parse(answer.output);
  }
  void expect_mistake(const Answer& answer, const std::string& text, int exit_code = 2) const {
    EXPECT_EQ(answer.end.exit_code, exit_code) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr(text));
    EXPECT_EQ(lines(worktrees()), 1);
  }
  static std::vector<std::string> of_trials(const nlohmann::json& json, const char* key) {
    std::vector<std::string> values;
    for (const auto& trial : json["trials"]) values.push_back(trial[key].get<std::string>());
    return values;
  }
};

TEST_F(BisectCommand, FindsTheCommitThatGrewAmong30AndLeavesTheRepositoryAlone) {
  commits(30, 17, "FAKE_WORKER_EXTRA_BYTES=256");
  std::ofstream(project_ / "number") << "not committed\n";
  const std::string refs = sh("git for-each-ref; git rev-parse HEAD; git status --porcelain; git stash list");
  const nlohmann::json found = bisect_json("v1", "main");
  EXPECT_EQ(found["end"], "found");
  EXPECT_EQ(found["first_bad"]["subject"], "commit 17");
  EXPECT_EQ(found["first_bad"]["commit"], sh("git rev-parse v17").substr(0, 40));
  EXPECT_EQ(found["metric"], "requested_peak_bytes");
  // The bad commit itself is tried, and the 29 commits between are halved each time.
  EXPECT_THAT(found["trials"], SizeIs(Le(1U + 5U)));
  for (const auto& trial : found["trials"]) {
    const int number = std::stoi(trial["subject"].get<std::string>().substr(7));
    EXPECT_EQ(trial["verdict"], number < 17 ? "good" : "bad") << trial;
    EXPECT_EQ(trial["base"], 3000);
    EXPECT_EQ(trial["new"], number < 17 ? 3000 : 3256);
  }
  EXPECT_EQ(found["comparison"]["base"]["commit"], sh("git rev-parse v1").substr(0, 40));
  EXPECT_EQ(found["comparison"]["new"]["commit"], found["first_bad"]["commit"]);
  for (const auto& row : found["comparison"]["cases"]) {
    if (row["metric"] != "requested_peak_bytes") continue;
    EXPECT_EQ(row["allocations"][0]["name"], "cache");
  }
  EXPECT_EQ(sh("git for-each-ref; git rev-parse HEAD; git status --porcelain; git stash list"), refs);
  EXPECT_EQ(lines(worktrees()), 1);
  EXPECT_THAT(in_project({"git", "bisect", "log"}).errors, HasSubstr("not bisecting"));
  EXPECT_EQ(read_text_file(project_ / "number"), "not committed\n");
  EXPECT_FALSE(std::filesystem::exists(project_ / "build"));

  // The command that it prints compares exactly these two commits.
  const Answer compared =
      in_project({"/bin/sh", "-c", "'" PEAKMARK_PROGRAM "'" + found["command"].get<std::string>().substr(8)});
  EXPECT_EQ(compared.end.exit_code, 1) << compared.errors;
  EXPECT_THAT(compared.output, AllOf(StartsWith("1 of 1 case regressed"), HasSubstr("peak grew by 256 B")));
  EXPECT_THAT(compared.errors, AllOf(HasSubstr("commit 16: building"), HasSubstr("commit 17: building")));
}

TEST_F(BisectCommand, PrintsTheCommitWhatChangedAndWhatWasTried) {
  commits(4, 3, "FAKE_WORKER_EXTRA_BYTES=256");
  const Answer answer = bisect("v1", "v4");
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const std::string hash = sh("git rev-parse v3").substr(0, 12);
  EXPECT_THAT(answer.output,
              AllOf(StartsWith("first bad commit: " + hash), HasSubstr(") commit 3\n"),
                    HasSubstr(case_ + ": requested_peak_bytes: 2.93 KiB -> 3.18 KiB (+8.53 %)"),
                    HasSubstr("peak grew by 256 B"), HasSubstr("added: cache (buffer), 256 B"),
                    HasSubstr("compare it with its parent:\n  peakmark compare suites/stencil.toml "
                              "--commits " +
                              sh("git rev-parse v2").substr(0, 12) + " " + hash)));
}

TEST_F(BisectCommand, AxesOfTheCommandLineReplaceThoseOfTheSuite) {
  commits(4, 3, "FAKE_WORKER_EXTRA_BYTES=256");
  std::vector<std::string> words =
      peakmark_words({"bisect", suite_, "v1", "v4", "n=2,5", "--case", "fake/case/dry/does:timed/n:5"});
  words.insert(words.end(), {"--", build_});
  const Answer answer = in_project(words);
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("commit 3\n"), HasSubstr(" --axis n=2,5 --build-command ")));
  expect_mistake(bisect("v1", "v4", {"--axis", "n=4"}),
                 "--case " + case_ + ": the suite has no such case in the bad commit v4");

  // The command that it prints measures the same case.
  const std::string command = answer.output.substr(answer.output.find("  peakmark compare") + 11);
  const Answer compared = in_project({"/bin/sh", "-c", "'" PEAKMARK_PROGRAM "' " + command});
  EXPECT_EQ(compared.end.exit_code, 1) << compared.errors;
  EXPECT_THAT(compared.output, HasSubstr("fake/case/dry/does:timed/n:5"));
}

TEST_F(BisectCommand, CommitsThatDoNotBuildAreSkipped) {
  commits(30, 17, "FAKE_WORKER_EXTRA_BYTES=256", {8, 15, 18, 19, 22, 23});
  const nlohmann::json found = bisect_json("v1", "v30");
  EXPECT_EQ(found["first_bad"]["subject"], "commit 17");
  int skipped = 0;
  for (const auto& trial : found["trials"]) {
    if (trial["verdict"] != "skipped") continue;
    ++skipped;
    EXPECT_THAT(trial["reason"].get<std::string>(),
                AllOf(HasSubstr("does not build: exit code 1: cannot; its output is in "), EndsWith(".log")));
    EXPECT_TRUE(trial["new"].is_null());
  }
  EXPECT_GT(skipped, 0);
  EXPECT_EQ(lines(worktrees()), 1);
}

TEST_F(BisectCommand, OfCommitsThatCannotBeJudgedTheRangeIsPrinted) {
  commits(10, 6, "FAKE_WORKER_EXTRA_BYTES=256", {4, 5});
  const nlohmann::json range = bisect_json("v1", "v10", 3);
  EXPECT_EQ(range["end"], "only_skipped");
  EXPECT_TRUE(range["first_bad"].is_null());
  EXPECT_EQ(range["candidates"],
            nlohmann::json({sh("git rev-parse v6").substr(0, 40), sh("git rev-parse v5").substr(0, 40),
                            sh("git rev-parse v4").substr(0, 40)}));
  EXPECT_THAT(bisect("v1", "v10").output, StartsWith("the first bad commit is one of 3, after "));
}

TEST_F(BisectCommand, CommitsWithoutTheCaseAreSkipped) {
  commits(8, 5, "FAKE_WORKER_EXTRA_BYTES=256", {});
  // The commits 3 and 4 are rewritten: in one the worker ends before it describes itself, in the other the
  // case crashes.
  sh("git checkout --quiet -b other v2 && printf '#!/bin/sh\\nexit 9\\n' > worker.sh && git commit --quiet "
     "-am 'commit 3'");
  write_worker("FAKE_WORKER=abort");
  commit(4);
  sh("git checkout --quiet v2 -- worker.sh");
  commit(5);
  write_worker("FAKE_WORKER_EXTRA_BYTES=256");
  commit(6);
  const nlohmann::json found = bisect_json("v1", "other");
  EXPECT_EQ(found["first_bad"]["subject"], "commit 6");
  EXPECT_THAT(of_trials(found, "verdict"), testing::Contains("skipped"));
}

TEST_F(BisectCommand, FindsTheCommitThatBecameSlower) {
  commits(8, 6, "FAKE_WORKER_SLOWDOWN=1.3");
  const nlohmann::json found = bisect_json("v1", "v8", 0, {"--rounds", "9"});
  EXPECT_EQ(found["metric"], "gpu_time_ns");
  EXPECT_EQ(found["first_bad"]["subject"], "commit 6");
  for (const auto& trial : found["trials"]) {
    const bool is_slow = trial["verdict"] == "bad";
    EXPECT_NEAR(trial["relative"].get<double>(), is_slow ? 0.3 : 0, 0.02);
  }
  EXPECT_THAT(bisect("v1", "v5", {"--rounds", "9"}).output, HasSubstr("is not worse"));
}

TEST_F(BisectCommand, FindsTheCommitThatBrokeTheCase) {
  commits(6, 4, "FAKE_WORKER_UNSUPPORTED_MULTIPLES=3");
  const nlohmann::json found = bisect_json("v1", "v6");
  EXPECT_EQ(found["metric"], "outcome");
  EXPECT_EQ(found["first_bad"]["subject"], "commit 4");
  EXPECT_THAT(of_trials(found, "new"), testing::Each(AnyOf("ok", "unsupported")));
}

TEST_F(BisectCommand, GrowthThatIsAllowedIsNotBad) {
  commits(6, 2, "FAKE_WORKER_EXTRA_BYTES=16");
  write_worker("FAKE_WORKER_EXTRA_BYTES=512");
  commit(7);
  commit(8);
  const nlohmann::json found = bisect_json("v1", "main", 0, {"--allow-growth", "64B"});
  EXPECT_EQ(found["first_bad"]["subject"], "commit 7");
}

TEST_F(BisectCommand, ABadCommitThatIsNotWorseEndsWith1) {
  commits(4, 1, "FAKE_WORKER_EXTRA_BYTES=256");
  const Answer answer = bisect("v1", "v4", {"--metric", "requested_peak_bytes"});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(StartsWith(case_ + " is not worse in "),
                                   HasSubstr("name an older good commit, another --case")));
  EXPECT_EQ(lines(worktrees()), 1);
}

TEST_F(BisectCommand, MistakesAreNamed) {
  commits(4, 3, "FAKE_WORKER_EXTRA_BYTES=256", {2});
  sh("git checkout --quiet -b side v1 && git commit --quiet --allow-empty -m side && git checkout --quiet "
     "main");
  expect_mistake(bisect("v1", "v9"), "unknown commit: v9; name a commit, a tag or a branch");
  expect_mistake(bisect("v1", "v1"), "v1 and v1 are the same commit");
  expect_mistake(bisect("v4", "v1"), "is not an ancestor of the bad commit v1, but newer");
  expect_mistake(bisect("side", "v4"),
                 "side is not an ancestor of the bad commit v4; name their merge base " +
                     sh("git rev-parse v1").substr(0, 12));
  expect_mistake(bisect("v2", "v4"), "does not build: exit code 1: cannot", 3);
  expect_mistake(bisect("v1", "v2"), "does not build: exit code 1: cannot", 3);
  expect_mistake(in_project(peakmark_words(
                     {"bisect", suite_, "v1", "v4", "--case", "fake/case/dry/does:timed/n:4", "--", build_})),
                 "the suite has no such case in the bad commit v4; did you mean 'fake/case");
  expect_mistake(in_project(peakmark_words({"bisect", suite_, "v1", "v4", "--case", case_, "--", "true"})),
                 "no worker found");
  expect_mistake(in_project(peakmark_words({"bisect", suite_, "v1", "v4", "--case", case_})),
                 "no build command");
  expect_mistake(in_project(peakmark_words({"bisect", "v1", "v4", "--case", case_, "--", build_})),
                 "no suite");
}

TEST_F(BisectCommand, AShallowCloneSaysSo) {
  commits(4, 3, "FAKE_WORKER_EXTRA_BYTES=256");
  sh("git clone --quiet --depth 2 'file://" + project_.string() + "' ../shallow");
  const Answer answer = in_project({"/bin/sh", "-c",
                                    "cd ../shallow && exec '" PEAKMARK_PROGRAM "' bisect " + suite_ +
                                        " v1 main --case " + case_ + " -- true"});
  expect_mistake(answer, "this clone is shallow: `git fetch --unshallow` gets the whole history");
}

TEST_F(BisectCommand, NeedsARepositoryAndGit) {
  commits(2, 2, "");
  sh("rm -rf .git");
  const Answer none = bisect("v1", "v2");
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("no Git repository: not a git repository"));
  environment_.push_back("PATH=" + cache_.string());
  const Answer no_git = bisect("v1", "v2");
  EXPECT_EQ(no_git.end.exit_code, 2);
  EXPECT_THAT(no_git.errors, HasSubstr("git: no such program in the folders of PATH; install it"));
}

class InterruptedBisect : public BisectCommand, public testing::WithParamInterface<int> {};

TEST_P(InterruptedBisect, LeavesNoWorktreeAndNoProcess) {
  const std::string fifo = make_fifo();
  commits(8, 6, "FAKE_WORKER_EXTRA_BYTES=256");
  // The build of a commit in the middle writes its process id, then waits at a pipe that nobody writes to.
  sh("mkfifo ../never");
  const std::string build = build_ + "; case $(cat number) in 4|5) echo $$ > '" + fifo + "'; exec cat '" +
                            (folder_.path() / "never").string() + "';; esac";
  WorkerProcess process(
      project_command(peakmark_words({"bisect", suite_, "v1", "v8", "--case", case_, "--", build})));
  const pid_t builder = read_pid(fifo);
  ASSERT_GT(builder, 0);
  EXPECT_EQ(lines(worktrees()), 3) << "of the good commit and of the tried one";
  ::kill(process.pid(), GetParam());
  std::string output;
  for (;;) {
    const WorkerEvent event = process.next(WorkerProcess::Clock::now() + kLimit);
    ASSERT_NE(event.kind, WorkerEvent::Kind::late) << "it does not end";
    if (event.kind == WorkerEvent::Kind::output) output += event.text + "\n";
    if (event.kind == WorkerEvent::Kind::ended) break;
  }
  EXPECT_EQ(process.end().exit_code, 130);
  EXPECT_THAT(output, AllOf(StartsWith("interrupted: the first bad commit is one of "),
                            HasSubstr("continue with:\n  peakmark bisect suites/stencil.toml ")));
  EXPECT_EQ(lines(worktrees()), 1);
  EXPECT_THAT(sh("git for-each-ref refs/bisect"), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(cache_ / "peakmark" / "commits")) << sh("find ../cache");
  EXPECT_EQ(::kill(builder, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptedBisect, testing::Values(SIGINT, SIGTERM));

}  // namespace
}  // namespace peakmark
