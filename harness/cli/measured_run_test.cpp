// Runs on OpenCL under the recorder, with a worker whose behaviour is known.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/files_testing.hpp"
#include "base/program.hpp"
#include "measure/device/device.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/device_lock.hpp"
#include "record/recorders/recorder_libraries.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class MeasuredRun : public testing::Test {
 protected:
  WorkerCommand command(const std::string& variants, const std::vector<std::string>& more = {}) const {
    const std::filesystem::path suite = folder_.path() / "suite.toml";
    std::ofstream(suite) << "[[sweep]]\nvariants = [" << variants << "]\naxes.n = [20]\n";
    WorkerCommand command{PEAKMARK_PROGRAM,
                          {"run", suite.string(), "-o", run_file_.string(), "--worker",
                           PEAKMARK_SELFTEST_WORKER, "--backend", "opencl"},
                          current_environment(),
                          ""};
    command.environment.push_back("PEAKMARK_LIBRARY_DIR=" PEAKMARK_RECORDER_FOLDER);
    command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    return command;
  }
  Answer run(const std::string& variants, const std::vector<std::string>& more = {}) const {
    return ask(command(variants, more), std::chrono::seconds(250));
  }
  /// Runs allocating_program as a program in a suite, to record its allocation sequence.
  Answer run_program(const std::string& what, const std::string& more = "",
                     const std::vector<std::string>& options = {"--sequences"}) const {
    const std::filesystem::path suite = folder_.path() / "programs.toml";
    std::ofstream(suite)
        << "[[program]]\nvariant = 'program/allocating'\ncommand = ['" PEAKMARK_ALLOCATING_PROGRAM "', '"
        << what << "', '" << more
        << "']\nbackends = ['opencl']\nslice_axis = 'n'\naxes.n = { default = 1, min = 1 }\n"
           "[[sweep]]\nvariants = 'program/allocating'\n";
    WorkerCommand command{PEAKMARK_PROGRAM,
                          {"run", suite.string(), "-o", run_file_.string(), "--worker",
                           PEAKMARK_SELFTEST_WORKER, "--backend", "opencl"},
                          current_environment(),
                          ""};
    command.environment.push_back("PEAKMARK_LIBRARY_DIR=" PEAKMARK_RECORDER_FOLDER);
    command.arguments.insert(command.arguments.end(), options.begin(), options.end());
    return ask(command, std::chrono::seconds(250));
  }
  std::map<std::string, std::string> outcomes() const {
    std::map<std::string, std::string> outcomes;
    for (const Observation& observation : read_run(run_file_).observations) {
      outcomes[observation.variant] = to_string(observation.outcome);
    }
    return outcomes;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path run_file_ = folder_.path() / "run.json";
};

TEST_F(MeasuredRun, ADeviceInUseIsWaitedForOrIsExitCode4) {
  ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
  DeviceInfo device;
  for (const DeviceInfo& one : list_devices().devices) {
    if (one.backend == Backend::opencl) device = one;
  }
  if (!device.is_cpu) GTEST_SKIP() << "the first OpenCL device is not a CPU: " << device.name;
  const DeviceLock held(
      device, {"other.toml"}, [](const std::string&) {}, [] {});
  const Answer refused = run(R"("selftest/known_bytes")", {"--no-wait"});
  EXPECT_EQ(refused.end.exit_code, 4);
  EXPECT_THAT(refused.errors, testing::AllOf(HasSubstr("the device is in use: process"),
                                             HasSubstr("measures other.toml on it since")));
  const Answer late = run(R"("selftest/known_bytes")", {"--deadline", "1"});
  EXPECT_EQ(late.end.exit_code, 4);
  EXPECT_EQ(run(R"("selftest/known_bytes")", {"--no-wait", "--memory-only"}).end.exit_code, 0);
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(MeasuredRun, KnownBytesAreMeasured) {
  const Answer answer = run(R"("selftest/known_bytes")", {"--repetitions", "2"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const peakmark::Run measured = read_run(run_file_);
  const Observation& observation = measured.observations.at(0);
  EXPECT_EQ(observation.requested_peak_bytes, 42000);
  EXPECT_EQ(observation.leaked_bytes, 0);
  ASSERT_TRUE(observation.gpu_time);
  EXPECT_GT(observation.gpu_time->median_ns, 0);
  EXPECT_GE(observation.gpu_time->blocks.size(), 2u);
  EXPECT_EQ(observation.cache, measured.context.device_is_cpu ? "hot" : "cold");
  EXPECT_EQ(observation.estimate->bytes_estimated, 42000);
  EXPECT_GT(measured.context.reference.first_ns.value_or(0), 0);
  EXPECT_GT(measured.context.reference.last_ns.value_or(0), 0);
  EXPECT_FALSE(measured.context.device.empty());
  EXPECT_FALSE(measured.context.driver.empty());
}

TEST_F(MeasuredRun, ColdTimesAreReportedWithHotOnesAndDoNotChangeBytes) {
  const Answer answer = run(R"("selftest/known_bytes")", {"--cache", "both"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_EQ(measured.context.asked_cache, "both");
  EXPECT_GT(measured.context.reference.copy_bytes.value_or(0), 0);
  const Observation& observation = measured.observations.at(0);
  EXPECT_EQ(observation.requested_peak_bytes, 42000);
  EXPECT_EQ(observation.leaked_bytes, 0);
  EXPECT_EQ(observation.cache, "cold") << observation.message;
  EXPECT_TRUE(observation.gpu_time);
  EXPECT_TRUE(observation.gpu_time_hot);
}

TEST_F(MeasuredRun, MemoryOnlyTakesNoTimes) {
  EXPECT_EQ(run(R"("selftest/known_bytes")", {"--memory-only"}).end.exit_code, 0);
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_EQ(measured.observations.at(0).requested_peak_bytes, 42000);
  EXPECT_FALSE(measured.observations.at(0).gpu_time);
  EXPECT_FALSE(measured.context.reference.first_ns);
}

TEST_F(MeasuredRun, SequencesAreWrittenWithCallChains) {
  const Answer answer = run(R"("selftest/known_bytes")", {"--sequences"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_TRUE(measured.context.memory_only);
  const Observation& observation = measured.observations.at(0);
  EXPECT_EQ(observation.requested_peak_bytes, 42000);
  ASSERT_TRUE(observation.allocation_sequence);
  EXPECT_EQ(peak_bytes(*observation.allocation_sequence), 42000);
  EXPECT_EQ(observation.allocation_sequence->size(), observation.allocations);
  for (const SequencedAllocation& one : *observation.allocation_sequence) {
    EXPECT_TRUE(one.is_repeated);
    EXPECT_FALSE(one.name.empty());
    EXPECT_THAT(one.where, HasSubstr("OpenClDevice::allocate < ")) << "the driver's caller is first";
    EXPECT_THAT(one.where, testing::Not(HasSubstr("/")));
  }
}

// allocating_program makes one buffer of 1000 bytes, releases it, then makes one of 500.
TEST_F(MeasuredRun, SequencesOfProgramsAreWrittenWithCallChains) {
  const Answer answer = run_program("leak");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation observation = read_run(run_file_).observations.at(0);
  EXPECT_EQ(observation.message, "");
  ASSERT_TRUE(observation.allocation_sequence);
  const AllocationSequence& sequence = *observation.allocation_sequence;
  ASSERT_EQ(sequence.size(), 2);
  EXPECT_EQ(sequence[0].bytes, 1000);
  EXPECT_EQ(sequence[0].released_at, 1);
  EXPECT_EQ(sequence[1].bytes, 500);
  EXPECT_EQ(sequence[1].allocated_at, 2);
  EXPECT_EQ(peak_bytes(sequence), observation.requested_peak_bytes);
  EXPECT_THAT(sequence[0].where, HasSubstr("main"));
}

// The second pass makes one additional buffer of 1000 bytes.
TEST_F(MeasuredRun, ASequenceThatDoesNotRepeatIsReported) {
  const Answer answer = run_program("grows", (folder_.path() / "count").string());
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation observation = read_run(run_file_).observations.at(0);
  EXPECT_THAT(observation.message, HasSubstr("the memory passes differ"));
  EXPECT_THAT(answer.errors, HasSubstr("the memory passes differ"));
}

TEST_F(MeasuredRun, ACaseMayDieTheRunMayNot) {
  const Answer answer =
      run(R"("selftest/crash", "selftest/exit", "selftest/hang", "selftest/wrong_answer", "selftest/leak",
             "selftest/out_of_memory", "selftest/unsupported", "selftest/known_bytes")",
          {"--memory-only", "--timeout", "10"});
  EXPECT_EQ(answer.end.exit_code, 3) << answer.errors;
  EXPECT_THAT(outcomes(),
              ElementsAre(Pair("selftest/crash", "crashed"), Pair("selftest/exit", "crashed"),
                          Pair("selftest/hang", "timeout"), Pair("selftest/known_bytes", "ok"),
                          Pair("selftest/leak", "ok"), Pair("selftest/out_of_memory", "out_of_memory"),
                          Pair("selftest/unsupported", "unsupported"),
                          Pair("selftest/wrong_answer", "wrong_answer")));
  const peakmark::Run measured = read_run(run_file_);
  // After all these failures the machine is as before: the last case's bytes are exact.
  EXPECT_EQ(measured.observations.at(7).requested_peak_bytes, 42000);
  EXPECT_EQ(measured.observations.at(4).leaked_bytes, 64);
  EXPECT_THAT(answer.errors, HasSubstr("signal SIGSEGV"));
}

/// known_bytes needs 42000 bytes at its peak.
TEST_F(MeasuredRun, ACaseThatExceedsTheBudgetIsOutOfMemory) {
  ASSERT_EQ(run(R"("selftest/known_bytes")", {"--memory-only", "--budget", "42000"}).end.exit_code, 0);
  peakmark::Run measured = read_run(run_file_);
  EXPECT_EQ(measured.context.budget_bytes, 42000);
  EXPECT_EQ(measured.observations.at(0).requested_peak_bytes, 42000);
  const Answer answer =
      run(R"("selftest/known_bytes", "selftest/unsupported")", {"--memory-only", "--budget", "41999"});
  EXPECT_THAT(outcomes(), ElementsAre(Pair("selftest/known_bytes", "out_of_memory"),
                                      Pair("selftest/unsupported", "unsupported")))
      << answer.errors;
  EXPECT_THAT(read_run(run_file_).observations.at(0).message, HasSubstr("-4"));
}

TEST_F(MeasuredRun, ACaseWithTooLargeAnAllocationIsOutOfMemory) {
  run_program("leak", "", {"--memory-only", "--max-allocation", "999"});
  EXPECT_THAT(outcomes(), ElementsAre(Pair("program/allocating", "out_of_memory")));
  EXPECT_EQ(read_run(run_file_).context.max_allocation_bytes, 999);
  EXPECT_EQ(run_program("leak", "", {"--memory-only", "--max-allocation", "1000"}).end.exit_code, 0);
  run(R"("selftest/known_bytes")", {"--memory-only", "--max-allocation", "100"});
  EXPECT_THAT(outcomes(), ElementsAre(Pair("selftest/known_bytes", "out_of_memory")));
}

TEST_F(MeasuredRun, AProgramThatExceedsTheBudgetIsOutOfMemory) {
  EXPECT_EQ(run_program("leak", "", {"--memory-only", "--budget", "1000"}).end.exit_code, 0);
  EXPECT_THAT(outcomes(), ElementsAre(Pair("program/allocating", "ok")));
  run_program("leak", "", {"--memory-only", "--budget", "999"});
  EXPECT_THAT(outcomes(), ElementsAre(Pair("program/allocating", "out_of_memory")));
  EXPECT_THAT(read_run(run_file_).observations.at(0).message, HasSubstr("1 allocation was refused"));
}

TEST_F(MeasuredRun, TheDryDeviceHasTheBudgetToo) {
  WorkerCommand dry = command(R"("selftest/known_bytes")", {"--budget", "41999"});
  std::ranges::replace(dry.arguments, std::string("opencl"), std::string("dry"));
  ask(dry, std::chrono::seconds(250));
  EXPECT_THAT(outcomes(), ElementsAre(Pair("selftest/known_bytes", "out_of_memory")));
}

/// One estimator is 30 % too high, one 5 % too low, and one between them is right.
TEST_F(MeasuredRun, PlantedEstimatorsFailTheCheck) {
  const Answer measured =
      run(R"("selftest/estimate_high", "selftest/known_bytes", "selftest/estimate_low")", {"--memory-only"});
  ASSERT_EQ(measured.end.exit_code, 0) << measured.errors;
  WorkerCommand check{PEAKMARK_PROGRAM, {"check", run_file_.string()}, current_environment(), ""};
  const Answer judged = ask(check, std::chrono::seconds(250));
  EXPECT_EQ(judged.end.exit_code, 1) << judged.errors;
  EXPECT_THAT(judged.output, HasSubstr("3 cases: 1 pass, 2 fail"));
  EXPECT_THAT(judged.output, HasSubstr("selftest/estimate_high/opencl: window_bytes"));
  EXPECT_THAT(judged.output, HasSubstr("selftest/estimate_low/opencl: window_slices"));
  check.arguments.insert(check.arguments.end(), {"--window", "0.7:1.1"});
  EXPECT_EQ(ask(check, std::chrono::seconds(250)).end.exit_code, 0);
}

TEST_F(MeasuredRun, WithoutARecorderNothingIsMeasured) {
  WorkerCommand without = command(R"("selftest/known_bytes")");
  without.environment.back() = "PEAKMARK_LIBRARY_DIR=" + folder_.path().string();
  const Answer answer = ask(without, std::chrono::seconds(250));
  EXPECT_EQ(answer.end.exit_code, 5);
  EXPECT_THAT(answer.errors, HasSubstr("the recorder for opencl is not installed"));
}

TEST_F(MeasuredRun, ARecorderThatCannotBeLoadedIsReportedOnce) {
  std::ofstream(folder_.path() / "libpeakmark-opencl.so") << "no library";
  WorkerCommand broken = command(R"("selftest/known_bytes")");
  broken.environment.back() = "PEAKMARK_LIBRARY_DIR=" + folder_.path().string();
  const Answer answer = ask(broken, std::chrono::seconds(250));
  EXPECT_EQ(answer.end.exit_code, 5);
  const std::string words = "was not loaded: it cannot be loaded";
  const std::size_t first = answer.errors.find(words);
  ASSERT_NE(first, std::string::npos) << answer.errors;
  EXPECT_EQ(answer.errors.find(words, first + 1), std::string::npos) << answer.errors;
}

TEST_F(MeasuredRun, CasesOfAnotherBackendAreUnsupported) {
  const std::filesystem::path suite = folder_.path() / "suite.toml";
  WorkerCommand mixed = command(R"("selftest/known_bytes")", {"--memory-only"});
  std::ofstream(suite)
      << "[[sweep]]\nvariants = \"selftest/known_bytes\"\nbackend = [\"opencl\", \"cuda\", \"dry\"]\n"
         "axes.n = [20]\n";
  std::erase(mixed.arguments, "--backend");
  std::erase(mixed.arguments, "opencl");
  mixed.environment.push_back("CUDA_VISIBLE_DEVICES=");
  const Answer answer = ask(mixed, std::chrono::seconds(250));
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const peakmark::Run measured = read_run(run_file_);
  ASSERT_EQ(measured.observations.size(), 3u);
  EXPECT_EQ(measured.observations[0].requested_peak_bytes, 42000);
  EXPECT_EQ(measured.observations[1].outcome, Outcome::unsupported);
  EXPECT_EQ(measured.observations[2].requested_peak_bytes, 42000);
}

/// Two commits of a repository with a program. A suite measures the program as it is at each commit.
TEST_F(MeasuredRun, ProgramsOfCommitsAreMeasuredInTheirWorktrees) {
  const std::filesystem::path project = folder_.path() / "project";
  std::filesystem::create_directories(project);
  std::ofstream(project / "suite.toml")
      << "[[program]]\nvariant = 'program/allocating'\ncommand = ['{suite_folder}/program.sh']\n"
         "backends = ['opencl']\nslice_axis = 'n'\naxes.n = { default = 1, min = 1 }\n"
         "[[sweep]]\nvariants = 'program/allocating'\n";
  const auto in_project = [&](const std::string& script) {
    WorkerCommand command{
        "/bin/sh", {"-e", "-c", "cd '" + project.string() + "' && " + script}, current_environment(), ""};
    for (const std::string& entry :
         {"XDG_CACHE_HOME=" + (folder_.path() / "cache").string(),
          std::string("PEAKMARK_LIBRARY_DIR=" PEAKMARK_RECORDER_FOLDER), std::string("GIT_AUTHOR_NAME=a"),
          std::string("GIT_AUTHOR_EMAIL=a@b"), std::string("GIT_COMMITTER_NAME=a"),
          std::string("GIT_COMMITTER_EMAIL=a@b")})
      command.environment.push_back(entry);
    return ask(command, std::chrono::seconds(250));
  };
  const auto commit = [&](const std::string& what) {
    std::ofstream(project / "program.sh")
        << "#!/bin/sh\nexec " PEAKMARK_ALLOCATING_PROGRAM " " << what << "\n";
    const Answer answer = in_project("chmod +x *.sh && git add -A && git commit --quiet -m '" + what + "'");
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  };
  ASSERT_EQ(in_project("git init --quiet .").end.exit_code, 0);
  std::ofstream(project / "worker.sh") << "#!/bin/sh\nexec " PEAKMARK_SELFTEST_WORKER " \"$@\"\n";
  commit("exit 0");
  commit("leak");
  // A suite that is in neither commit is copied to both.
  std::ofstream(project / "suite.toml", std::ios::app) << "# changed\n";
  const Answer answer = in_project("exec '" PEAKMARK_PROGRAM
                                   "' bisect suite.toml HEAD~ HEAD --case program/allocating/opencl "
                                   "--backend opencl --worker worker.sh -- true");
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("peak grew by 900 B: 100 -> 1000 B"));
}

}  // namespace
}  // namespace peakmark
