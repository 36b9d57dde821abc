// Tests of `peakmark slurm` with fake programs instead of Slurm's. ci/tests/test_slurm.py uses a real Slurm.
#include <filesystem>

#include "base/text.hpp"
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SlurmCommand : public CommandTest {
 protected:
  void SetUp() override {
    fs::create_directory(programs_);
    fs::create_directory(here_);
    environment_ = {"PATH=" + programs_.string() + ":/usr/bin:/bin"};
    suite({"ok", "ok", "ok"});
  }

  void add_program(const std::string& name, const std::string& script) const {
    const fs::path file = programs_ / name;
    std::ofstream(file) << "#!/bin/sh\necho \"" << name << " $*\" >>'" << calls_.string() << "'\n" << script;
    fs::permissions(file, fs::perms::owner_all);
  }
  /// sbatch prints ids from 11 on, and refuses scripts whose path contains `refused`.
  void add_slurm(const std::string& refused = "nothing", const std::string& queue = "") const {
    add_program("sbatch", "case \"$*\" in *" + refused +
                              "*) echo 'sbatch: error: Invalid qos specification' >&2; exit 1;; esac\n"
                              "echo \"$((10 + $(grep -c sbatch '" +
                              calls_.string() + "')));cluster\"\n");
    add_program("squeue", "echo '" + queue + "'\n");
    add_program("scancel", "");
  }
  std::string calls() const { return fs::exists(calls_) ? read_text_file(calls_) : ""; }

  Answer slurm(std::vector<std::string> more, const std::vector<std::string>& of_run = {}) const {
    more.insert(more.begin(), "slurm");
    more.insert(more.end(), {"-o", run_file_.string()});
    if (!of_run.empty()) more.emplace_back("--");
    more.insert(more.end(), of_run.begin(), of_run.end());
    return peakmark(more);
  }
  Answer submit(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{(folder_.path() / "suite.toml").string(), "--tasks", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return slurm(words, {"--worker", PEAKMARK_FAKE_WORKER, "--memory-only"});
  }
  /// Runs a script as Slurm would.
  Answer run_script(const fs::path& script, const std::string& task = "") const {
    WorkerCommand bash =
        command({"-c", R"(cd "$1" && exec bash "$2")", "bash", here_.string(), (slurm_ / script).string()});
    bash.program = "/bin/bash";
    if (!task.empty()) bash.environment.push_back("SLURM_ARRAY_TASK_ID=" + task);
    return ask(bash, kLimit);
  }

  const fs::path here_ = folder_.path() / "here";  ///< where scripts run
  const fs::path programs_ = folder_.path() / "programs";
  const fs::path calls_ = folder_.path() / "calls";
  const fs::path slurm_ = run_file_.string() + ".slurm";
};

TEST_F(SlurmCommand, DryRunPrintsScriptsAndNeedsNoSlurm) {
  const Answer printed = submit({"--dry-run", "--partition", "gpu", "--gres", "gpu:1", "--time", "02:00:00",
                                 "--account", "me", "--constraint", "a100|h100", "--sbatch-option=--qos=low",
                                 "--merge-option=--partition=cpu", "--history", "history.db"});
  EXPECT_EQ(printed.end.exit_code, 0) << printed.errors;
  const std::string& text = printed.output;
  EXPECT_THAT(text,
              AllOf(HasSubstr("#SBATCH --array=1-2\n"), HasSubstr("#SBATCH --partition=gpu\n"),
                    HasSubstr("#SBATCH --gres=gpu:1\n"), HasSubstr("#SBATCH --time=02:00:00\n"),
                    HasSubstr("#SBATCH --account=me\n"), HasSubstr("#SBATCH --constraint='a100|h100'\n"),
                    HasSubstr("#SBATCH --requeue\n"), HasSubstr("#SBATCH --open-mode=append\n")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("--shard \"$SLURM_ARRAY_TASK_ID/2\""), HasSubstr(" --resume --worker "),
                    HasSubstr(" --memory-only "), HasSubstr(" history add \"$run\" --history history.db ")));
  // The jobs without a device are on another partition: the later line counts.
  const std::string merge = text.substr(text.find("merge.sh <=="));
  EXPECT_LT(merge.find("#SBATCH --partition=gpu"), merge.find("#SBATCH --partition=cpu"));
  EXPECT_THAT(merge,
              AllOf(HasSubstr("#SBATCH --qos=low\n"), Not(HasSubstr("--gres")), Not(HasSubstr("--time="))));
  EXPECT_FALSE(fs::exists(slurm_));
}

TEST_F(SlurmCommand, ItsScriptsMeasureTheAxesOfTheCommandLine) {
  std::ofstream(folder_.path() / "suite.toml") << "[[sweep]]\nvariants = \"fake/case\"\nbackend = \"dry\"\n";
  add_slurm();
  ASSERT_EQ(submit({"n=2,3", "--axis", "does=ok,wrong"}).end.exit_code, 0);
  EXPECT_EQ(run_script("shards.sh", "1").end.exit_code, 0);
  EXPECT_EQ(run_script("shards.sh", "2").end.exit_code, 3);
  EXPECT_EQ(run_script("merge.sh").end.exit_code, 0);
  EXPECT_THAT(outcomes(), testing::ElementsAre("ok", "wrong_answer", "ok", "wrong_answer"));
  EXPECT_THAT(submit({"q=3", "--dry-run"}).output, HasSubstr(" q=3 --shard "));
  const Answer none = slurm({"--axis", "n=3"});
  EXPECT_EQ(none.end.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("--axis: changes nothing here: it takes effect only with SUITE"));
  EXPECT_THAT(submit({"n=4..2", "--dry-run"}).errors, HasSubstr("'4..2' is not a range"));
}

TEST_F(SlurmCommand, SubmitsAnArrayThenItsMergeThenTheLastJob) {
  add_slurm();
  const Answer submitted = submit();
  EXPECT_EQ(submitted.end.exit_code, 0) << submitted.errors;
  EXPECT_EQ(submitted.output, "job 11: " + slurm_.string() + "/shards.sh\njob 12: " + slurm_.string() +
                                  "/merge.sh\njob 13: " + slurm_.string() + "/finish.sh\n");
  EXPECT_EQ(calls(), "sbatch --parsable " + slurm_.string() +
                         "/shards.sh\nsbatch --parsable --dependency=afterany:11 " + slurm_.string() +
                         "/merge.sh\nsbatch --parsable --dependency=afterany:12 " + slurm_.string() +
                         "/finish.sh\n");
}

TEST_F(SlurmCommand, ItsScriptsMeasureMergeAndCheck) {
  suite({"ok", "ok", "exit_3", "ok"});
  add_slurm();
  ASSERT_EQ(submit().end.exit_code, 0);
  EXPECT_EQ(run_script("shards.sh", "1").end.exit_code, 3);
  const Answer gap = run_script("merge.sh");
  EXPECT_EQ(gap.end.exit_code, 3);
  EXPECT_THAT(gap.errors, AllOf(HasSubstr("shard 2 of 2 is missing"),
                                HasSubstr("slurm --rerun -o " + run_file_.string())));
  const Answer partial = run_script("finish.sh");
  EXPECT_EQ(partial.end.exit_code, 3) << "cases are lost";
  EXPECT_EQ(slurm({"--status"}).end.exit_code, 3);

  EXPECT_EQ(slurm({"--rerun"}).end.exit_code, 0);
  EXPECT_THAT(calls(), HasSubstr("sbatch --parsable --array=2 " + slurm_.string() + "/shards.sh\n"));
  EXPECT_EQ(slurm({"--status"}).end.exit_code, 4) << "the code of the earlier last job does not count";
  EXPECT_EQ(run_script("shards.sh", "2").end.exit_code, 0);
  EXPECT_EQ(run_script("merge.sh").end.exit_code, 0);
  EXPECT_EQ(run_script("finish.sh").end.exit_code, 3) << "a case crashed";
  EXPECT_THAT(outcomes(), testing::ElementsAre("ok", "ok", "crashed", "ok"));
  const Answer status = slurm({"--status"});
  EXPECT_EQ(status.end.exit_code, 3);
  EXPECT_THAT(status.output, AllOf(HasSubstr("complete  2 of 2 cases"), HasSubstr("merged")));

  // The next run is balanced by this one, whose files do not count any more.
  EXPECT_EQ(submit().end.exit_code, 0);
  EXPECT_FALSE(fs::exists(run_file_));
  EXPECT_FALSE(fs::exists(slurm_ / "shard-1.json"));
  for (const char* task : {"1", "2"}) run_script("shards.sh", task);
  EXPECT_EQ(run_script("merge.sh").end.exit_code, 0);
  EXPECT_TRUE(read_run(slurm_ / "shard-1.json").context.shard->places);
  EXPECT_THAT(outcomes(), testing::ElementsAre("ok", "ok", "crashed", "ok"));
}

#ifdef PEAKMARK_HAS_HISTORY
TEST_F(SlurmCommand, ShardsAreBalancedByTheHistoryIfThereIsNoEarlierRun) {
  add_slurm();
  const std::string history = (folder_.path() / "history.db").string();
  ASSERT_EQ(submit({"--history", history}).end.exit_code, 0) << "there is no history yet";
  EXPECT_FALSE(fs::exists(slurm_ / "balance.json"));
  ASSERT_EQ(run({"--memory-only"}).end.exit_code, 0);
  ASSERT_EQ(peakmark({"history", "add", run_file_.string(), "--history", history}).end.exit_code, 0);
  const std::string id = read_run(run_file_).context.id;
  fs::remove(run_file_);

  const Answer submitted = submit({"--history", history});
  ASSERT_EQ(submitted.end.exit_code, 0) << submitted.errors;
  EXPECT_EQ(read_run(slurm_ / "balance.json").context.id, id);
  for (const char* task : {"1", "2"}) ASSERT_EQ(run_script("shards.sh", task).end.exit_code, 0);
  EXPECT_TRUE(read_run(slurm_ / "shard-1.json").context.shard->places);
}

TEST_F(SlurmCommand, ADatabaseThatFailsOnlyLosesTheBalance) {
  add_slurm();
  const fs::path damaged = folder_.path() / "history.db";
  std::ofstream(damaged) << "SQLite format 3 and no more";
  const Answer submitted = submit({"--history", damaged.string()});
  EXPECT_EQ(submitted.end.exit_code, 0) << submitted.errors;
  EXPECT_FALSE(fs::exists(slurm_ / "balance.json"));
}
#endif

TEST_F(SlurmCommand, WhatSbatchRefusesIsCancelledAndItsMessageShown) {
  add_slurm("merge.sh");
  const Answer refused = submit();
  EXPECT_EQ(refused.end.exit_code, 2);
  EXPECT_THAT(refused.errors,
              AllOf(HasSubstr("merge.sh: sbatch rejects it"), HasSubstr("Invalid qos specification"),
                    HasSubstr("--dry-run prints the script")));
  EXPECT_THAT(calls(), HasSubstr("scancel 11\n"));
  EXPECT_EQ(slurm({"--status"}).end.exit_code, 2) << "nothing was submitted";
  EXPECT_FALSE(fs::exists(slurm_));

  add_slurm();
  ASSERT_EQ(submit().end.exit_code, 0);
  const std::string earlier = read_text_file(slurm_ / "jobs.json");
  ASSERT_EQ(run().end.exit_code, 0);
  add_slurm("merge.sh");
  EXPECT_EQ(submit().end.exit_code, 2);
  EXPECT_EQ(read_text_file(slurm_ / "jobs.json"), earlier) << "the earlier submission stays";
  EXPECT_EQ(read_run(run_file_).observations.size(), 3U);
}

TEST_F(SlurmCommand, ASubmissionInTheQueueIsNotReplaced) {
  add_slurm("nothing", "11_2|RUNNING|None\n99|PENDING|Priority");
  ASSERT_EQ(submit().end.exit_code, 0);
  const Answer second = submit();
  EXPECT_EQ(second.end.exit_code, 2);
  EXPECT_THAT(second.errors, HasSubstr("1 of its jobs are still in the queue, the first 11_2 (RUNNING)"));
  EXPECT_EQ(slurm({"--rerun"}).end.exit_code, 2);
  const Answer status = slurm({"--status"});
  EXPECT_EQ(status.end.exit_code, 4);
  EXPECT_THAT(status.output, HasSubstr("shard 2  11_2  RUNNING"));
  EXPECT_EQ(slurm({"--cancel"}).end.exit_code, 0);
  EXPECT_THAT(calls(), HasSubstr("scancel 11 12 13\n"));
}

TEST_F(SlurmCommand, EachConstraintHasARunOfItsOwn) {
  add_slurm();
  EXPECT_EQ(submit({"--constraint", "a100", "--constraint", "h100"}).end.exit_code, 0);
  EXPECT_THAT(calls(), HasSubstr("--dependency=afterany:12:14 "));
  EXPECT_THAT(read_text_file(slurm_ / "h100" / "merge.sh"), HasSubstr("run.h100.json && exit"));
  EXPECT_THAT(read_text_file(slurm_ / "finish.sh"), HasSubstr("run.a100.json " + folder_.path().string()));
  EXPECT_THAT(submit({"--constraint", "a|b", "--constraint", "a&b"}).errors,
              HasSubstr("another feature has the same run file, run.a-b.json"));
}

TEST_F(SlurmCommand, RefusesMistakesBeforeTheQueue) {
  const std::string path = (folder_.path() / "suite.toml").string();
  const auto errors_of = [&](const std::vector<std::string>& words, const std::vector<std::string>& of_run) {
    const Answer answer = slurm(words, of_run);
    EXPECT_EQ(answer.end.exit_code, 2);
    return answer.errors;
  };
  add_slurm();
  EXPECT_THAT(errors_of({path}, {"--memory-onyl"}), HasSubstr("--memory-onyl"));
  EXPECT_THAT(errors_of({path}, {"--shard=1/2"}), HasSubstr("--shard after --: the scripts set it"));
  EXPECT_THAT(errors_of({path}, {"--rounds", "9"}), HasSubstr("rounds need all cases on one device"));
  EXPECT_THAT(errors_of({path + "x"}, {}), HasSubstr("suite.tomlx"));
  EXPECT_THAT(errors_of({}, {}), HasSubstr("no suite"));
  EXPECT_THAT(errors_of({path, "--status"}, {}), HasSubstr("take no suite"));
  EXPECT_THAT(errors_of({"--status"}, {}), HasSubstr("not submitted with `peakmark slurm`"));
  EXPECT_THAT(errors_of({path, "--history", "postgresql://me:secret@host/db"}, {}),
              AllOf(HasSubstr("~/.pgpass"), Not(HasSubstr("secret"))));
  EXPECT_THAT(errors_of({path, "--balance", path}, {}), HasSubstr("suite.toml"));
  EXPECT_THAT(errors_of({path, "--history", "a\"b"}, {}), HasSubstr("quotation marks are not allowed"));
  EXPECT_EQ(calls(), "");
  EXPECT_FALSE(fs::exists(slurm_));
}

// Executes a command, or ends the word, the quotes or the line, wherever it is not data.
constexpr const char* kHostile = R"x($(touch a)`touch b`;touch c;'touch d'"$(touch e)" #%a{x,y}*?~&|<>!)x";
const std::string kHostileLines = std::string(kHostile) + "\\\ntouch f\n#\t\r\x1b\xff";

TEST_F(SlurmCommand, PathsAndOptionsAreDataInEachScript) {
  add_slurm();
  const fs::path folder = folder_.path() / kHostileLines;
  fs::create_directory(folder);
  const fs::path program = folder / "peakmark";
  fs::copy_file(PEAKMARK_PROGRAM, program);
  const fs::path worker = folder / ("worker" + kHostileLines);
  fs::create_symlink(PEAKMARK_FAKE_WORKER, worker);
  const fs::path suite = folder / ("suite" + kHostileLines);
  fs::copy_file(folder_.path() / "suite.toml", suite);
  std::string name = "history" + kHostileLines;
  std::erase(name, '"');  // a history has none
  const fs::path history = folder_.path() / name;
  const fs::path run_file = folder_.path() / kHostile / (std::string("run") + kHostile + ".json");
  fs::create_directory(run_file.parent_path());
  for (const std::string constraints : {"", kHostile}) {
    std::vector<std::string> words{"slurm",
                                   suite.string(),
                                   "--tasks",
                                   "2",
                                   "-o",
                                   run_file,
                                   "--partition",
                                   kHostile,
                                   "--gres",
                                   kHostile,
                                   "--time",
                                   kHostile,
                                   "--account",
                                   kHostile,
                                   "--sbatch-option",
                                   "--comment=" + (std::string("'") + "$(touch g)'"),
                                   "--merge-option=--comment=$(touch h)"};
    if (!constraints.empty())
      words.insert(words.end(), {"--constraint", constraints, "--constraint", "other"});
    words.insert(words.end(), {"--", "--worker", worker.string(), "--memory-only", "--filter",
                               "fake|" + std::string("[$(touch i)`touch j`'\"\n\\\\]")});
    WorkerCommand submission = command(words);
    submission.program = program;
    set_variable(submission.environment, "PEAKMARK_HISTORY", history.string());
    const Answer submitted = ask(submission, kLimit);
    ASSERT_EQ(submitted.end.exit_code, 0) << submitted.errors;

    const fs::path scripts = run_file.string() + ".slurm";
    std::vector<fs::path> arrays;
    std::vector<fs::path> runs;
    for (const auto& entry : fs::directory_iterator(scripts)) {
      if (entry.is_directory()) arrays.push_back(entry.path());
    }
    if (constraints.empty()) arrays.push_back(scripts);
    ASSERT_EQ(arrays.size(), constraints.empty() ? 1U : 2U);
    for (const fs::path& array : arrays) {
      const Answer gap = run_script(array / "merge.sh");
      EXPECT_THAT(gap.errors, HasSubstr("shards alone: " + shell_word(program.string()) +
                                        " slurm --rerun -o " + shell_word(run_file.string()) + "\n"));
      for (const char* task : {"1", "2"}) {
        const Answer shard = run_script(array / "shards.sh", task);
        EXPECT_EQ(shard.end.exit_code, 0) << shard.errors;
      }
      const Answer merged = run_script(array / "merge.sh");
      EXPECT_EQ(merged.end.exit_code, 0) << merged.errors;
    }
    const Answer finished = run_script(scripts / "finish.sh");
    EXPECT_EQ(finished.end.exit_code, 0) << finished.errors;
    EXPECT_EQ(read_text_file(scripts / "exit_code"), "0\n");
    if (constraints.empty()) {
      EXPECT_EQ(read_run(run_file).observations.size(), 3U);
    }
#ifdef PEAKMARK_HAS_HISTORY
    EXPECT_TRUE(fs::exists(history));
#endif
  }
  EXPECT_TRUE(fs::is_empty(here_)) << "a script has executed a value: "
                                   << fs::directory_iterator(here_)->path();
}

TEST_F(SlurmCommand, RefusesWhatADirectiveOfSbatchCannotHave) {
  add_slurm();
  ASSERT_EQ(submit().end.exit_code, 0);
  const std::string earlier = read_text_file(slurm_ / "jobs.json");
  for (const std::string letter : {"\n", "\t", "\r", "\x1b", "\\", "\xff"}) {
    const std::string value = "a" + letter + "b";
    for (const std::string name : {"--partition", "--gres", "--time", "--account", "--constraint",
                                   "--sbatch-option", "--merge-option"}) {
      const bool is_option = name.ends_with("-option");
      if (is_option && letter == "\\") continue;  // given as sbatch reads it
      const Answer refused = submit({name + "=" + (is_option ? "--qos=" + value : value)});
      EXPECT_EQ(refused.end.exit_code, 2) << name;
      EXPECT_THAT(refused.errors, HasSubstr("slurm: " + name));
    }
    const Answer refused =
        peakmark({"slurm", (folder_.path() / "suite.toml").string(), "-o",
                  (folder_.path() / (value + ".json")).string(), "--", "--worker", PEAKMARK_FAKE_WORKER});
    EXPECT_EQ(refused.end.exit_code, 2);
    EXPECT_THAT(refused.errors,
                AllOf(HasSubstr("slurm: -o "), HasSubstr("which a #SBATCH line cannot have")));
  }
  EXPECT_THAT(submit({"--sbatch-option=touch x"}).errors,
              HasSubstr("is not an option of sbatch on one line"));
  EXPECT_EQ(read_text_file(slurm_ / "jobs.json"), earlier) << "the earlier submission stays";
}

TEST_F(SlurmCommand, WithoutSlurmSaysWhereToRunIt) {
  environment_ = {"PATH=" + programs_.string()};
  const Answer answer = submit();
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("sbatch: no such program in PATH"), HasSubstr("--dry-run")));
}

}  // namespace
}  // namespace peakmark
