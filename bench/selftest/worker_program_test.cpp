#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/files_testing.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/runfile/worker_protocol.hpp"

// The worker program as its supervisor sees it, on `dry` and on OpenCL under the recorder.
namespace peakmark {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

struct Ran {
  std::string output;  ///< standard output and error, and the observation lines
  std::vector<std::string> started;
  std::vector<Observation> observations;
  int exit_code = -1;  ///< −1: ended by a signal
};

class WorkerProgram : public testing::Test {
 protected:
  Ran run(const std::string& arguments, const std::vector<std::string>& cases = {},
          const std::string& environment = "") {
    const auto list = folder_ / "cases";
    std::ofstream names(list);
    for (const std::string& name : cases) names << name << '\n';
    names.close();
    const std::string given = cases.empty() ? "" : " --cases - --observations-fd 3 3>&1";
    const std::string command =
        environment + " " PEAKMARK_SELFTEST_WORKER " " + arguments + given + " < " + list.string() + " 2>&1";
    Ran ran;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen: " + command);
    std::array<char, 4096> piece{};
    for (std::size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
      ran.output.append(piece.data(), n);
    }
    const int status = pclose(pipe);
    if (WIFEXITED(status)) ran.exit_code = WEXITSTATUS(status);
    read_lines(ran);
    return ran;
  }

  /// A worker that must be recorded, with the OpenCL layer loaded.
  Ran run_recorded(const std::vector<std::string>& cases, const std::string& arguments) {
    const std::string library = PEAKMARK_OPENCL_RECORDER;
    return run("--require-recorder " + arguments, cases,
               "OPENCL_LAYERS=" + library + " PEAKMARK_RECORDER_LIBRARY=" + library +
                   " PEAKMARK_PROFILE=" + (folder_ / "profile").string());
  }

 private:
  static void read_lines(Ran& ran) {
    std::istringstream lines(ran.output);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind(R"({"start":)", 0) == 0) {
        ran.started.push_back(parse_worker_line(line).start.value());
      } else if (line.rfind(R"({"case":)", 0) == 0) {
        ran.observations.push_back(observation_from_json_line(line));
      } else if (line.rfind(R"({"answer":)", 0) == 0) {
        ran.observations.back().estimate = parse_worker_line(line).answer;
      }
    }
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
};

using WorkerOnDry = WorkerProgram;
using WorkerOnOpenCl = WorkerProgram;

TEST_F(WorkerOnDry, GivesAStartLineAndAnObservationACase) {
  const Ran ran = run("", {"selftest/known_bytes/dry", "selftest/known_bytes/dry/n:30"});
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.started, ElementsAre("selftest/known_bytes/dry", "selftest/known_bytes/dry/n:30"));
  ASSERT_THAT(ran.observations, SizeIs(2));
  EXPECT_THAT(ran.observations[0].requested_peak_bytes, Optional(42000));
  EXPECT_THAT(ran.observations[1].requested_peak_bytes, Optional(62000));
}

TEST_F(WorkerOnDry, OutcomesAreReported) {
  const Ran ran =
      run("", {"selftest/out_of_memory/dry", "selftest/unsupported/dry", "selftest/raw_allocation/dry",
               "selftest/unsteady/dry", "selftest/known_bytes/dry"});
  ASSERT_THAT(ran.observations, SizeIs(5)) << ran.output;
  EXPECT_EQ(ran.observations[0].outcome, Outcome::out_of_memory);
  EXPECT_EQ(ran.observations[1].outcome, Outcome::unsupported);
  EXPECT_EQ(ran.observations[2].outcome, Outcome::unsupported);
  EXPECT_THAT(ran.observations[3].requested_peak_bytes, Optional(42064));
  EXPECT_THAT(ran.observations[3].second_pass_peak_bytes, Optional(42128));
  EXPECT_EQ(ran.observations[4].outcome, Outcome::ok);
  EXPECT_EQ(ran.exit_code, 0) << "none of these is a failed measurement";
}

TEST_F(WorkerOnDry, ADeviceErrorOrALeakEndsTheWorkerAfterItsLine) {
  for (const char* spoiler : {"selftest/throw/dry", "selftest/leak/dry"}) {
    const Ran ran = run("", {spoiler, "selftest/known_bytes/dry"});
    EXPECT_EQ(ran.exit_code, 3) << ran.output;
    EXPECT_THAT(ran.started, ElementsAre(spoiler));
    ASSERT_THAT(ran.observations, SizeIs(1));
    EXPECT_EQ(ran.observations[0].case_name, spoiler);
  }
}

TEST_F(WorkerOnDry, WhoeverDiesLeavesItsStartLine) {
  const Ran crashed = run("", {"selftest/known_bytes/dry", "selftest/crash/dry"});
  EXPECT_NE(crashed.exit_code, 0) << crashed.output;
  EXPECT_THAT(crashed.started, SizeIs(2));
  EXPECT_THAT(crashed.observations, SizeIs(1));
  const Ran left = run("", {"selftest/exit/dry", "selftest/known_bytes/dry"});
  EXPECT_EQ(left.exit_code, 0);
  EXPECT_THAT(left.started, ElementsAre("selftest/exit/dry"));
  EXPECT_THAT(left.observations, SizeIs(0));
}

TEST_F(WorkerOnDry, TheBudgetOfTheDryDeviceIsKept) {
  const Ran ran = run("--dry-budget 42kB", {"selftest/known_bytes/dry", "selftest/known_bytes/dry/n:21"});
  ASSERT_THAT(ran.observations, SizeIs(2)) << ran.output;
  EXPECT_EQ(ran.observations[0].outcome, Outcome::ok);
  EXPECT_EQ(ran.observations[1].outcome, Outcome::out_of_memory);
}

TEST_F(WorkerOnDry, ErrorsAreReportedBeforeAnythingIsMeasured) {
  const Ran typo = run("", {"selftest/known_bytes/dry", "selftest/known_byte/dry"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(typo.output, HasSubstr("did you mean 'selftest/known_bytes'"));
  EXPECT_THAT(typo.started, SizeIs(0));
  const Ran twice = run("", {"selftest/known_bytes/dry", "selftest/known_bytes/dry"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.output, HasSubstr("given twice"));
  const Ran option = run("--bencmark_filter=x");
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_THAT(option.output, HasSubstr("unknown option '--bencmark_filter=x'"));
  const Ran descriptor = run("--observations-fd 77 --backend dry");
  EXPECT_EQ(descriptor.exit_code, 2);
}

TEST_F(WorkerOnDry, GoogleBenchmarksFlagsWork) {
  const Ran list = run("--backend dry --benchmark_list_tests --benchmark_filter=known");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.output, "selftest/known_bytes/dry/iterations:1/manual_time\n");
  const Ran json = run("--backend dry --benchmark_format=json --benchmark_filter=known");
  EXPECT_THAT(json.output, HasSubstr(R"("requested_peak_bytes": 4.2000000000000000e+04)"));
  const Ran nothing = run("--backend dry --benchmark_filter=no_such_case");
  EXPECT_EQ(nothing.exit_code, 4) << nothing.output;
}

TEST_F(WorkerOnDry, TheReferenceCaseHasNoTimeThere) {
  const Ran ran = run("--reference --backend dry");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, "{\"reference_ns\":null,\"arithmetic_ns\":null,\"copy_bytes\":null}\n");
}

TEST_F(WorkerOnOpenCl, WithoutARecorderThatIsRequiredNothingIsMeasured) {
  const Ran ran = run("--require-recorder", {"selftest/known_bytes/opencl"});
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_THAT(ran.output, HasSubstr("PEAKMARK_RECORDER_LIBRARY"));
  EXPECT_THAT(ran.started, SizeIs(0));
}

TEST_F(WorkerOnOpenCl, WithoutARecorderBytesAreUnknown) {
  const Ran ran = run("--memory-only", {"selftest/known_bytes/opencl"});
  ASSERT_THAT(ran.observations, SizeIs(1)) << ran.output;
  EXPECT_EQ(ran.observations[0].outcome, Outcome::ok);
  EXPECT_EQ(ran.observations[0].requested_peak_bytes, std::nullopt);
  EXPECT_THAT(ran.output, HasSubstr("memory figures are unknown"));
}

TEST_F(WorkerOnOpenCl, MemoryPastOurArraysIsCounted) {
  const Ran ran =
      run_recorded({"selftest/known_bytes/opencl", "selftest/raw_allocation/opencl"}, "--memory-only");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  ASSERT_THAT(ran.observations, SizeIs(2));
  EXPECT_THAT(ran.observations[0].requested_peak_bytes, Optional(42000));
  EXPECT_THAT(ran.observations[1].requested_peak_bytes, Optional(62000));
  for (const Observation& observation : ran.observations) {
    EXPECT_EQ(observation.outcome, Outcome::ok) << observation.message;
    EXPECT_THAT(observation.leaked_bytes, Optional(0));
    ASSERT_TRUE(observation.estimate);
    EXPECT_EQ(observation.estimate->bytes_estimated, observation.requested_peak_bytes);
    EXPECT_EQ(observation.gpu_time, std::nullopt) << "--memory-only";
  }
}

TEST_F(WorkerOnOpenCl, AnAnswerIsVerifiedBeforeItIsTimed) {
  const Ran ran = run_recorded({"selftest/wrong_answer/opencl"}, "");
  EXPECT_EQ(ran.exit_code, 3) << ran.output;
  ASSERT_THAT(ran.observations, SizeIs(1));
  EXPECT_EQ(ran.observations[0].outcome, Outcome::wrong_answer);
  EXPECT_EQ(ran.observations[0].message, "element 7 is 1 instead of 2");
  EXPECT_EQ(ran.observations[0].gpu_time, std::nullopt);
}

TEST_F(WorkerOnOpenCl, AnAnswerIsNotVerifiedWhereOnlyMemoryIsAskedFor) {
  const Ran ran = run_recorded({"selftest/wrong_answer/opencl"}, "--memory-only --no-verify");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  ASSERT_THAT(ran.observations, SizeIs(1));
  EXPECT_EQ(ran.observations[0].outcome, Outcome::ok);
  EXPECT_TRUE(ran.observations[0].requested_peak_bytes);
}

TEST_F(WorkerOnOpenCl, TimesAreGivenBlockByBlockInEachRepetition) {
  const Ran once = run_recorded({"selftest/known_bytes/opencl"}, "--seconds 0.001");
  ASSERT_THAT(once.observations, SizeIs(1)) << once.output;
  ASSERT_TRUE(once.observations[0].gpu_time);
  const GpuTime& time = *once.observations[0].gpu_time;
  EXPECT_GE(time.blocks.size(), 1U);
  EXPECT_LE(time.min_ns, time.median_ns);
  EXPECT_LE(time.median_ns, time.max_ns);
  const Ran thrice = run_recorded({"selftest/known_bytes/opencl"}, "--seconds 0.001 --repetitions 3");
  ASSERT_THAT(thrice.observations, SizeIs(1)) << thrice.output;
  const auto& blocks = thrice.observations[0].gpu_time->blocks;
  EXPECT_EQ(blocks.size() % 3, 0U);
  EXPECT_THAT(blocks, Each(SizeIs(blocks[0].size())));
}

TEST_F(WorkerOnOpenCl, GoogleBenchmarksOwnStoppingRuleWorksToo) {
  const Ran ran = run("--backend opencl --benchmark_min_time=0.02 --benchmark_filter=known_bytes");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("selftest/known_bytes/opencl/manual_time"));
}

TEST_F(WorkerOnOpenCl, TheReferenceCaseIsTimed) {
  const Ran ran = run("--reference --backend opencl --no-memory --seconds 0.05");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.output, testing::StartsWith("{\"reference_ns\":"));
  EXPECT_THAT(ran.output, Not(HasSubstr("null")));
}

}  // namespace
}  // namespace peakmark
