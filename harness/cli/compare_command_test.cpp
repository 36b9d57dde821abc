// Tests of `run --rounds` and `compare` with a worker that needs no device.
#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/command_testing.hpp"
#include "measure/runfile/run_journal.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::SizeIs;
using testing::StartsWith;

class CompareCommand : public CommandTest {
 protected:
  /// Two variants with three shapes each; fake/slow takes 20 % more time.
  void two_variants() const {
    std::ofstream(folder_.path() / "suite.toml")
        << "name = \"fake\"\n[[sweep]]\nvariants = [\"fake/case\", \"fake/slow\"]\nbackend = \"dry\"\n"
           "axes = { does = [\"timed\"], n = [1, 2, 3] }\n";
  }
  Answer run_rounds(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"--rounds", "9", "--variants", "fake/case", "fake/slow"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  Answer compare(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "compare");
    return peakmark(arguments);
  }
  /// Makes a separate worker, as another build would have it: the fake worker with other environment
  /// variables.
  std::filesystem::path build(const std::string& name, const std::string& environment) const {
    const auto worker = folder_.path() / name / "bin" / "peakmark-bench";
    std::filesystem::create_directories(worker.parent_path());
    std::ofstream(worker) << "#!/bin/sh\n" << environment << " exec " PEAKMARK_FAKE_WORKER " \"$@\"\n";
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    return folder_.path() / name;
  }
  std::vector<std::string> comparison_of_builds(const std::string& base, const std::string& next,
                                                const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{
        "compare",  (folder_.path() / "suite.toml").string(),
        "--build",  (folder_.path() / base).string(),
        "--worker", (folder_.path() / next / "bin" / "peakmark-bench").string(),
        "-o",       (folder_.path() / "two").string(),
        "--rounds", "9"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Answer compare_builds(const std::string& base, const std::string& next,
                        const std::vector<std::string>& more = {}) const {
    return peakmark(comparison_of_builds(base, next, more));
  }
  /// Compares two equal builds, and interrupts at the case that waits. The seed decides when that case is
  /// run.
  Answer stopped_comparison(int seed) {
    suite({"timed", "report_pid"});
    build("base", "");
    build("new", "");
    const std::filesystem::path fifo = make_fifo();
    WorkerProcess process(command(comparison_of_builds("base", "new", {"--seed", std::to_string(seed)})));
    EXPECT_GT(read_pid(fifo), 0);
    ::kill(process.pid(), SIGINT);
    return rest_of(process);
  }
};

TEST_F(CompareCommand, RoundsAreABlockEachAndBothPassesAreInTheFile) {
  two_variants();
  const Answer answer = run_rounds({"--seed", "5"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const peakmark::Run measured = read_run(run_file_);
  ASSERT_TRUE(measured.context.rounds);
  EXPECT_TRUE(measured.context.complete);
  EXPECT_EQ(measured.context.rounds->rounds, 9);
  EXPECT_EQ(measured.context.rounds->seed, 5U);
  EXPECT_EQ(measured.context.rounds->job, measured.context.id);
  EXPECT_THAT(measured.context.rounds->confirmation_pass, Optional(SizeIs(6)));
  ASSERT_THAT(measured.observations, SizeIs(6));
  for (const Observation& one : measured.observations) {
    EXPECT_THAT(one.gpu_time->blocks, AllOf(SizeIs(18), Each(SizeIs(3))));
    EXPECT_THAT(*one.gpu_time->rounds,
                ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18));
    EXPECT_TRUE(one.requested_peak_bytes) << "of the first round";
  }
}

TEST_F(CompareCommand, ASlowerVariantIsFound) {
  two_variants();
  ASSERT_EQ(run_rounds().end.exit_code, 0);
  const auto markdown = folder_.path() / "summary.md";
  const Answer answer =
      compare({run_file_.string(), "--variants", "fake/case", "fake/slow", "--markdown", markdown.string()});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(StartsWith("3 of 3 cases regressed"), HasSubstr("slower")));
  EXPECT_THAT(read_text_file(markdown), StartsWith("**Action needed.** 3 of 3 cases regressed"));
  const Answer other_way = compare({run_file_.string(), "--variants", "fake/slow", "fake/case"});
  EXPECT_EQ(other_way.end.exit_code, 0);
  EXPECT_THAT(other_way.output, HasSubstr("3 improved"));
}

TEST_F(CompareCommand, CasesWithoutTimesOrThatFailTakeOneRound) {
  suite({"ok", "timed_once", "unsupported"});
  ASSERT_EQ(run({"--rounds", "3"}).end.exit_code, 0);
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_TRUE(measured.context.complete);
  EXPECT_THAT(outcomes(), ElementsAre("ok", "out_of_memory", "unsupported"));
  EXPECT_THAT(measured.observations[1].gpu_time->blocks, SizeIs(1));
  EXPECT_THAT(measured.observations[1].message, HasSubstr("in a later round"));
}

TEST_F(CompareCommand, RoundsGoOnWhereTheyStopped) {
  two_variants();
  ASSERT_EQ(run_rounds({"--seed", "9"}).end.exit_code, 0);
  peakmark::Run measured = read_run(run_file_);
  // The file is as after a stop in the seventh round, before the confirmation pass.
  measured.context.complete = false;
  measured.context.rounds->confirmation_pass.reset();
  for (Observation& one : measured.observations) {
    one.gpu_time->blocks.resize(6);
    one.gpu_time->rounds->resize(6);
  }
  measured.observations.front().gpu_time->blocks.push_back({1e6});
  measured.observations.front().gpu_time->rounds->push_back(7);
  write_run(measured, run_file_);
  const Answer judged = compare({run_file_.string(), "--variants", "fake/case", "fake/slow"});
  EXPECT_EQ(judged.end.exit_code, 0);
  EXPECT_THAT(judged.output, AllOf(HasSubstr("incomplete run"), HasSubstr("6 blocks a side")));

  const Answer answer = run_rounds({"--resume"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("round 7 of 9: 5 cases"), Not(HasSubstr("round 6"))));
  const peakmark::Run whole = read_run(run_file_);
  EXPECT_TRUE(whole.context.complete);
  EXPECT_EQ(whole.context.rounds->seed, 9U) << "of the run resumed";
  for (const Observation& one : whole.observations) EXPECT_THAT(one.gpu_time->blocks, SizeIs(18));
  EXPECT_EQ(run({"--resume"}).end.exit_code, 2) << "another number of rounds";
}

TEST_F(CompareCommand, AStopKeepsTheRoundsThatWereTaken) {
  std::ofstream(folder_.path() / "suite.toml")
      << "name = \"fake\"\n[[sweep]]\nvariants = \"fake/case\"\nbackend = \"dry\"\n"
         "zip = [{ does = [\"timed\", \"report_pid\"], n = [1, 2] }]\n";
  const std::filesystem::path fifo = make_fifo();
  WorkerProcess process(run_command({"--rounds", "9", "--seed", "2"}));
  const pid_t worker = read_pid(fifo);
  ASSERT_GT(worker, 0);
  ::kill(process.pid(), SIGINT);
  EXPECT_EQ(rest_of(process).end.exit_code, 130);
}

TEST_F(CompareCommand, OptionsThatDoNotGoTogetherAreMistakes) {
  two_variants();
  EXPECT_EQ(run({"--rounds", "0"}).end.exit_code, 2);
  const Answer unknown = run({"--rounds", "9", "--variants", "fake/case", "fake/slowe"});
  EXPECT_EQ(unknown.end.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("did you mean 'fake/slow'"));
  EXPECT_EQ(compare({"one.json"}).end.exit_code, 2);
  std::ofstream(folder_.path() / "there.json") << "{}";
  EXPECT_THAT(compare({"none.json", (folder_.path() / "there.json").string()}).errors,
              HasSubstr("none.json: cannot open: No such file"));
}

TEST_F(CompareCommand, TwoFilesEndAtSuspicious) {
  two_variants();
  ASSERT_EQ(run_rounds().end.exit_code, 0);
  const auto base = folder_.path() / "base.json";
  std::filesystem::copy_file(run_file_, base);
  environment_.emplace_back("FAKE_WORKER_SLOWDOWN=1.5");
  ASSERT_EQ(run_rounds().end.exit_code, 0);
  const Answer answer = compare({base.string(), run_file_.string()});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.output;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("6 suspicious"), Not(HasSubstr("slower"))));
}

TEST_F(CompareCommand, ABuildThatNeeds256BytesMoreIsFoundAndNamed) {
  two_variants();
  build("base", "");
  build("new", "FAKE_WORKER_EXTRA_BYTES=256");
  const Answer answer = compare_builds("base", "new", {"--json"});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  const auto json = nlohmann::json::parse(answer.output);
  EXPECT_TRUE(json["interleaved"].get<bool>());
  int grown = 0;
  for (const auto& row : json["cases"]) {
    if (row["metric"] != "requested_peak_bytes") {
      EXPECT_EQ(row["verdict"], "same") << row;
      continue;
    }
    ++grown;
    EXPECT_EQ(row["new"].get<int>() - row["base"].get<int>(), 256);
    EXPECT_EQ(row["verdict"], "grew");
    EXPECT_EQ(row["allocations"],
              nlohmann::json::parse(
                  R"([{"name": "cache", "kind": "buffer", "base_bytes": null, "new_bytes": 256, "count": 1,
                       "text": "added: cache (buffer), 256 B"}])"));
  }
  EXPECT_EQ(grown, 6);
}

TEST_F(CompareCommand, ASlowerBuildIsFoundAndItsRunsAreKept) {
  two_variants();
  build("base", "");
  build("new", "FAKE_WORKER_SLOWDOWN=1.1");
  const Answer answer = compare_builds("base", "new");
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, StartsWith("6 of 6 cases regressed"));
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("screening pass: 6 of 6 cases are measured again"),
                                   HasSubstr("round 18 of 18: 6 cases of the base, 6 of the new")));
  const auto base = (folder_.path() / "two.base.json").string();
  const auto next = (folder_.path() / "two.new.json").string();
  EXPECT_EQ(compare({base, next}).end.exit_code, 1) << "the files record that they are interleaved";
  EXPECT_THAT(compare({next, base}).output, HasSubstr("6 improved"));
  EXPECT_THAT(compare_builds("base", "new", {"--resume"}).errors, HasSubstr("nothing to resume"));
  EXPECT_EQ(compare_builds("base", "new", {"--require", "cuda"}).end.exit_code, 4);
  for (const std::string& file : {base, next}) {
    EXPECT_FALSE(std::filesystem::exists(file)) << "an earlier run is not the result of one that fails";
    EXPECT_TRUE(std::filesystem::exists(file + ".previous"));
  }
}

TEST_F(CompareCommand, EqualBuildsAreTheSame) {
  two_variants();
  build("base", "");
  build("new", "");
  const Answer answer = compare_builds("base", "new");
  EXPECT_EQ(answer.end.exit_code, 0) << answer.output;
  EXPECT_THAT(answer.output, StartsWith("nothing regressed in 6 cases: 6 the same"));
}

TEST_F(CompareCommand, AStoppedComparisonOfBuildsKeepsWhatItHas) {
  EXPECT_EQ(stopped_comparison(1).end.exit_code, 130);
}

TEST_F(CompareCommand, OneSideAloneIsNotCompared) {
  // With this seed, the case that waits is second: until then the base has measured the first case, and the
  // new build none.
  const Answer stopped = stopped_comparison(2);
  EXPECT_EQ(stopped.end.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors,
              HasSubstr("only one side was measured, so there is no comparison; --resume continues"));
  environment_.clear();
  const Answer whole = compare_builds("base", "new", {"--resume"});
  EXPECT_EQ(whole.end.exit_code, 0) << whole.errors;
  EXPECT_THAT(whole.output, StartsWith("nothing regressed in 2 cases"));
}

/// SIGKILL comes between the two passes. There is no run file yet; the measurements are in the partial file.
TEST_F(CompareCommand, ARunThatWasKilledBetweenItsPassesResumes) {
  two_variants();
  ASSERT_EQ(run_rounds({"--seed", "9"}).end.exit_code, 0);
  peakmark::Run screening_pass = read_run(run_file_);
  std::filesystem::remove(run_file_);
  const std::vector<Observation> whole = screening_pass.observations;
  screening_pass.context.complete = false;
  screening_pass.context.rounds->confirmation_pass.reset();
  {
    RunJournal journal(run_file_);
    journal.start(screening_pass.context);
    for (Observation one : whole) {
      one.gpu_time->blocks.resize(9);
      one.gpu_time->rounds->resize(9);
      journal.add(one);
    }
  }
  ASSERT_TRUE(std::filesystem::exists(partial_));
  ASSERT_FALSE(std::filesystem::exists(run_file_));
  const Answer nothing = compare({run_file_.string(), "--variants", "fake/case", "fake/slow"});
  EXPECT_EQ(nothing.end.exit_code, 2) << "there is no run file to compare";
  EXPECT_THAT(compare({run_file_.string(), run_file_.string()}).errors, HasSubstr("--resume"));

  const Answer answer = run_rounds({"--resume"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("screening pass: 6 of 6 cases are measured again"),
                                   HasSubstr("round 10 of 18"), Not(HasSubstr("round 9 of 9"))));
  const peakmark::Run resumed = read_run(run_file_);
  EXPECT_TRUE(resumed.context.complete);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const GpuTime& time = *resumed.observations[i].gpu_time;
    EXPECT_THAT(time.blocks, SizeIs(18));
    EXPECT_TRUE(std::equal(time.blocks.begin(), time.blocks.begin() + 9, whole[i].gpu_time->blocks.begin()));
  }
  EXPECT_EQ(compare({run_file_.string(), "--variants", "fake/case", "fake/slow"}).end.exit_code, 1);
}

TEST_F(CompareCommand, AnotherBuildMustBeThere) {
  two_variants();
  build("new", "");
  build("base", "");
  ASSERT_EQ(compare_builds("base", "new").end.exit_code, 0);
  const Answer answer = compare_builds("nowhere", "new");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("nowhere: no such file or folder"));
  for (const char* const file : {"two.base.json", "two.new.json"}) {
    const std::string path = folder_.path() / file;
    EXPECT_FALSE(std::filesystem::exists(path)) << "an earlier run is not the result of one that fails";
    EXPECT_TRUE(std::filesystem::exists(path + ".previous"));
  }
}

/// Two checkouts of a project. Its suite, in `suites/`, names the worker.
class CompareProject : public CompareCommand {
 protected:
  void SetUp() override {
    for (const char* const side : {"before", "after"}) {
      std::filesystem::create_directories(folder_.path() / side / "build");
      const auto worker = folder_.path() / side / "build" / "tstencil";
      const bool is_new = side == std::string("after");
      std::ofstream(worker) << "#!/bin/sh\n"
                            << (is_new ? "FAKE_WORKER_EXTRA_BYTES=256 " : "")
                            << "exec " PEAKMARK_FAKE_WORKER " \"$@\"\n";
      std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    }
    std::filesystem::create_directories(suite_.parent_path());
    std::ofstream(suite_) << "worker = \"../build/tstencil\"\n[[sweep]]\nvariants = \"fake/case\"\n"
                             "backend = \"dry\"\naxes.does = \"ok\"\n";
  }
  const std::filesystem::path suite_ = folder_.path() / "after" / "suites" / "stencil.toml";
};

TEST_F(CompareProject, TheSuitesWorkerIsFoundInBothBuilds) {
  for (const char* const build : {"before", "before/build", "before/build/tstencil"}) {
    const Answer answer = compare({suite_.string(), "--build", (folder_.path() / build).string(), "-o",
                                   (folder_.path() / "two").string(), "--rounds", "9"});
    EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
    EXPECT_THAT(answer.output, HasSubstr("peak grew by 256 B")) << build;
    EXPECT_THAT(answer.errors, HasSubstr("base: " + (folder_.path() / "before/build/tstencil").string()));
  }
}

TEST_F(CompareProject, RunAndListNeedNoWorkerTyped) {
  const Answer list = peakmark({"list", suite_.string()});
  EXPECT_EQ(list.end.exit_code, 0) << list.errors;
  EXPECT_THAT(list.output, StartsWith("fake/case/dry"));
  const Answer run = peakmark({"run", suite_.string(), "-o", run_file_.string()});
  EXPECT_EQ(run.end.exit_code, 0) << run.errors;
  std::filesystem::remove(folder_.path() / "after/build/tstencil");
  const Answer missing = peakmark({"list", suite_.string()});
  EXPECT_EQ(missing.end.exit_code, 2);
  EXPECT_THAT(missing.errors, AllOf(HasSubstr("stencil.toml:1: worker: " +
                                              (folder_.path() / "after/build/tstencil").string()),
                                    HasSubstr("build it, or name another with --worker")));
  EXPECT_EQ(peakmark({"list", suite_.string(), "--worker", PEAKMARK_FAKE_WORKER}).end.exit_code, 0);
}

TEST_F(CompareProject, SuitesOfTwoWorkersAreNotOneRun) {
  const auto other = suite_.parent_path() / "other.toml";
  std::ofstream(other) << "worker = \"../build/other\"\n[[sweep]]\nvariants = \"fake/slow\"\n";
  const Answer answer = peakmark({"list", suite_.string(), other.string()});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("other.toml:1: worker: "), HasSubstr("--worker")));
}

TEST_F(CompareCommand, VariantsMayHaveShortNames) {
  two_variants();
  ASSERT_EQ(run_rounds().end.exit_code, 0);
  EXPECT_EQ(compare({run_file_.string(), "--variants", "case", "slow"}).end.exit_code, 1);
  const Answer unknown = compare({run_file_.string(), "--variants", "case", "slo"});
  EXPECT_EQ(unknown.end.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("fake/slow"));
}

}  // namespace
}  // namespace peakmark
