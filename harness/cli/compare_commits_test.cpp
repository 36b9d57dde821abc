// Tests of `peakmark compare SUITE --commits OLD NEW` in generated repositories.
#include "cli/commits_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CompareCommits : public CommitsTest {
 protected:
  Answer compare(const std::string& old_commit, const std::string& new_commit,
                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words =
        peakmark_words({"compare", suite_, "--commits", old_commit, new_commit, "--build-command", build_,
                        "--rounds", "9", "-o", (folder_.path() / "two").string()});
    words.insert(words.end(), more.begin(), more.end());
    return in_project(words);
  }
};

TEST_F(CompareCommits, BuildsBothAndKeepsThemForTheNextComparison) {
  commits(3, 2, "FAKE_WORKER_EXTRA_BYTES=256");
  std::ofstream(project_ / "worker.sh") << "not committed\n";
  const Answer first = compare("v1", "v2", {"--json"});
  EXPECT_EQ(first.end.exit_code, 1) << first.errors;
  EXPECT_THAT(first.errors,
              AllOf(HasSubstr("commit 1: building in " + cache_.string()), HasSubstr("commit 2: building in"),
                    HasSubstr("uncommitted changes are not measured")));
  const auto json = nlohmann::json::parse(first.output);
  EXPECT_EQ(json["base"]["commit"], sh("git rev-parse v1").substr(0, 40));
  EXPECT_EQ(json["new"]["commit"], sh("git rev-parse v2").substr(0, 40));
  EXPECT_TRUE(json["interleaved"].get<bool>());
  EXPECT_EQ(read_text_file(project_ / "worker.sh"), "not committed\n");
  EXPECT_FALSE(std::filesystem::exists(project_ / "build"));
  EXPECT_EQ(lines(worktrees()), 3);

  const Answer second = compare("v2", "main");
  EXPECT_EQ(second.end.exit_code, 0) << second.errors;
  EXPECT_THAT(second.errors, AllOf(HasSubstr("commit 2: built before, in"), HasSubstr("commit 3: building")));
  EXPECT_EQ(lines(worktrees()), 4);

  const Answer last = compare("v2", "v3", {"--remove-builds"});
  EXPECT_EQ(last.end.exit_code, 0) << last.errors;
  EXPECT_THAT(last.errors, Not(HasSubstr("building")));
  EXPECT_EQ(lines(worktrees()), 1) << "also those of earlier comparisons";
  EXPECT_THAT(sh("find ../cache/peakmark -type f"), IsEmpty());
}

TEST_F(CompareCommits, ACommitThatDoesNotBuildEndsWith3AndIsRemoved) {
  commits(2, 2, "", {2});
  const Answer answer = compare("v1", "v2");
  EXPECT_EQ(answer.end.exit_code, 3);
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("    cannot\n"),
                                   HasSubstr(sh("git rev-parse v2").substr(0, 12) +
                                             ": does not build: exit code 1: cannot; its output is in ")));
  EXPECT_EQ(lines(worktrees()), 2) << "that of the first one, which was built";
}

// The suite of each commit decides the version of its variants, whichever suite is measured.
TEST_F(CompareCommits, AnotherVersionIsANewSeriesAndNotCompared) {
  commits(1, 2, "");
  const std::string text = read_text_file(project_ / suite_);
  std::ofstream(project_ / suite_) << text << "[[sweep.rule]]\nwhen = { n = 3 }\nversion = 2\n";
  write_worker("FAKE_WORKER_EXTRA_BYTES=256");
  commit(2);
  sh("git tag v2");
  std::ofstream(project_ / suite_) << "version = 2\n" << text;
  commit(3);
  sh("git tag v3");
  const Answer one = compare("v1", "v2", {"--filter", "n:3"});
  EXPECT_EQ(one.end.exit_code, 4) << one.errors << one.output;
  EXPECT_THAT(one.output, HasSubstr("fake/case: version 1 → 2: a new series, not compared"));
  const Answer both = compare("v1", "v2");
  EXPECT_EQ(both.end.exit_code, 1) << "n:1 is of the same version, and needs 256 bytes more";
  EXPECT_THAT(both.output, HasSubstr("a new series"));
  const Answer after = compare("v2", "v3", {"--filter", "n:3"});
  EXPECT_EQ(after.end.exit_code, 0) << after.errors << after.output;
  EXPECT_THAT(after.output, Not(HasSubstr("a new series")));
}

TEST_F(CompareCommits, ABuildThatWasRemovedByHandIsMadeAgain) {
  commits(2, 2, "");
  ASSERT_EQ(compare("v1", "v2").end.exit_code, 0);
  sh("rm -rf ../cache");
  const Answer again = compare("v1", "v2");
  EXPECT_EQ(again.end.exit_code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("commit 1: building"));
  EXPECT_EQ(lines(worktrees()), 3);
}

#ifdef PEAKMARK_HAS_HISTORY
// The suite's name differs from its file's name. Its runs are measured in its folder, in shards.
TEST_F(CompareCommits, TheCommandThatTrendsPrintsNamesTheFileOfTheSuite) {
  const std::string suite_text = read_text_file(project_ / suite_);
  std::ofstream(project_ / suite_) << "name = \"weekly\"\n" << suite_text;
  commits(2, 2, "FAKE_WORKER_EXTRA_BYTES=256");
  const std::string history = folder_.path() / "history.db";
  const auto peakmark_here = [&](const std::vector<std::string>& words, const std::string& script = "") {
    std::vector<std::string> shell{"/bin/sh", "-e", "-c", script + R"(exec "$@")", "sh"};
    const std::vector<std::string> program = peakmark_words(words);
    shell.insert(shell.end(), program.begin(), program.end());
    return in_project(shell);
  };
  ASSERT_EQ(peakmark_here({"history", "create", "--history", history}).end.exit_code, 0);
  for (const std::string version : {"1", "2"}) {
    sh("git checkout --quiet v" + version + " && " + build_);
    for (const std::string shard : {"1", "2"}) {
      const Answer measured = peakmark_here({"run", "stencil.toml", "--memory-only", "--shard", shard + "/2",
                                             "-o", "../build/" + shard + ".json"},
                                            "cd suites; ");
      ASSERT_EQ(measured.end.exit_code, 0) << measured.errors;
    }
    ASSERT_EQ(peakmark_here({"merge", "build/1.json", "build/2.json", "-o", "build/run.json"}).end.exit_code,
              0);
    const std::filesystem::path run_file = project_ / "build" / "run.json";
    peakmark::Run run = read_run(run_file);
    EXPECT_EQ(run.context.suite, "weekly");
    EXPECT_EQ(run.context.suite_files, std::vector<std::string>{"suites/stencil.toml"});
    run.context.commit = sh("git rev-parse HEAD").substr(0, 40);  // the fake worker has none
    run.context.date = "2026-01-0" + version + "T02:00:00Z";
    write_run(run, run_file);
    const Answer added =
        peakmark_here({"history", "add", "build/run.json", "--history", history, "--branch", "main"});
    ASSERT_EQ(added.end.exit_code, 0) << added.errors;
  }
  sh("git checkout --quiet main");
  EXPECT_THAT(peakmark_here({"history", "export", "--format", "run", "--history", history}).output,
              HasSubstr(R"("suite_files":["suites/stencil.toml"])"));

  const auto trends = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"trends", "--history", history});
    return peakmark_here(more);
  };
  const std::string printed =
      nlohmann::json::parse(trends({"--json"}).output).at("findings").at(0).at("compare").get<std::string>();
  const std::string sent = folder_.path() / "sent";
  EXPECT_THAT(trends({"--notify", "cat >'" + sent + "'"}).output,
              HasSubstr("\nto compare: " + printed + "\n"));
  EXPECT_EQ(nlohmann::json::parse(read_text_file(sent)).at("compare"), printed);

  std::string command = "'" PEAKMARK_PROGRAM "'" + printed.substr(std::string("peakmark").size());
  command.replace(command.find(" BUILD "), 7, " '" + build_ + "' ");
  const Answer compared = in_project({"/bin/sh", "-c", command});
  EXPECT_EQ(compared.end.exit_code, 1) << command << "\n" << compared.errors;
  EXPECT_THAT(compared.output, HasSubstr("peak grew by 256 B"));
}
#endif

TEST_F(CompareCommits, SubmodulesAreCheckedOut) {
  for (const char* const entry :
       {"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always"})
    environment_.emplace_back(entry);
  commits(1, 2, "");
  sh("git init --quiet ../library && cd ../library && echo FAKE_WORKER_EXTRA_BYTES=64 > environment && git "
     "add -A && git commit --quiet -m library");
  sh("git submodule --quiet add '" + (folder_.path() / "library").string() + "' library");
  std::ofstream(project_ / "worker.sh")
      << "#!/bin/sh\nexport $(cat \"$(dirname \"$0\")/../library/environment\")\nexec " PEAKMARK_FAKE_WORKER
         " \"$@\"\n";
  commit(2);
  const Answer answer = compare("v1", "main");
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("peak grew by 64 B"));
  EXPECT_EQ(compare("v1", "main", {"--remove-builds"}).end.exit_code, 1);
  EXPECT_EQ(lines(worktrees()), 1);
}

TEST_F(CompareCommits, MistakesAreNamed) {
  commits(2, 2, "");
  EXPECT_THAT(compare("v1", "v7").errors, HasSubstr("unknown commit: v7"));
  EXPECT_THAT(compare("v1", "v1").errors, HasSubstr("both are the commit"));
  EXPECT_THAT(compare("v1", "v2", {"--build", "elsewhere"}).errors, HasSubstr("--build"));
  const Answer no_command = in_project(peakmark_words({"compare", suite_, "--commits", "v1", "v2"}));
  EXPECT_EQ(no_command.end.exit_code, 2);
  EXPECT_THAT(no_command.errors, HasSubstr("--build-command"));
  const Answer no_worker =
      in_project(peakmark_words({"compare", suite_, "--commits", "v1", "v2", "--build-command", "true"}));
  EXPECT_EQ(no_worker.end.exit_code, 2);
  EXPECT_THAT(no_worker.errors, AllOf(HasSubstr("commit " + sh("git rev-parse v1").substr(0, 12) + " in "),
                                      HasSubstr("neither build/worker nor worker is in this folder")));
}

}  // namespace
}  // namespace peakmark
