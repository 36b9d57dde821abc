#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/program.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// `peakmark oom` on programs that are built to take a refused buffer in a certain way
/// (tests/planted_program.cpp), and on shipped variants.
class OomPrograms : public testing::Test {
 protected:
  Answer oom(std::vector<std::string> words) const {
    WorkerCommand command{PEAKMARK_PROGRAM, std::move(words), current_environment(), ""};
    command.arguments.insert(command.arguments.begin(), "oom");
    command.environment.emplace_back("PEAKMARK_LIBRARY_DIR=" PEAKMARK_RECORDER_FOLDER);
    return ask(command, std::chrono::minutes(5));
  }
  json refuse(const std::string& behaviour, int exit_code, bool is_result_compared = true,
              const std::vector<std::string>& options = {}) const {
    const std::string result = (folder_.path() / "result.txt").string();
    std::vector<std::string> words{"--json"};
    words.insert(words.end(), options.begin(), options.end());
    if (is_result_compared) words.insert(words.end(), {"--compare-output", result});
    // Long enough for the run without a refusal on a busy machine, and one refusal only.
    if (behaviour == "hang" || (behaviour == "persist" && exit_code == 1))
      words.insert(words.end(), {"--timeout", "12", "--max", "1"});
    words.insert(words.end(), {"--", PEAKMARK_PLANTED_PROGRAM, behaviour, result});
    const Answer answer = oom(std::move(words));
    EXPECT_EQ(answer.end.exit_code, exit_code) << behaviour << ": " << answer.errors;
    // The report has how each run with a refusal ended; its suite is gone when the user reads it.
    if (behaviour != "lock") {
      EXPECT_THAT(answer.errors, Not(testing::AnyOf(HasSubstr("skipped:"), HasSubstr("reproduce:"))));
    }
    return json::parse(answer.output);
  }
  void expect_outcome(const std::string& behaviour, const std::string& outcome, const json& program_code,
                      const std::vector<std::string>& options = {}) const {
    const bool is_failure = outcome == "crashed" || outcome == "wrong_result";
    const json report = refuse(behaviour, is_failure ? 1 : 0, true, options);
    EXPECT_EQ(report["allocations"], 3);
    ASSERT_EQ(report["refusals"].size(), 3U) << behaviour;
    for (const json& one : report["refusals"]) {
      EXPECT_EQ(one["outcome"], outcome) << behaviour << ": " << one;
      EXPECT_EQ(one["exit_code"], program_code) << behaviour << ": " << one;
    }
    EXPECT_EQ(report["refusals"][1]["bytes"], 128 << 10);
    // The optimiser may inline the function that calls OpenCL.
    EXPECT_THAT(report["refusals"][1]["where"].get<std::string>(),
                testing::AnyOf(HasSubstr("main"), HasSubstr("Program::create")));
  }

  ScratchFolder folder_;
};

TEST_F(OomPrograms, ClassifiesAnEndInOrder) {
  expect_outcome("handled", "handled", 1);
  expect_outcome("handled_code", "handled", 2);
}

TEST_F(OomPrograms, ClassifiesACrash) {
  expect_outcome("silent_exit", "crashed", 3);
  expect_outcome("misleading", "crashed", 1);
  expect_outcome("abort", "crashed", nullptr);
  expect_outcome("crash", "crashed", nullptr);
}

TEST_F(OomPrograms, ClassifiesAProgramThatGoesOn) {
  expect_outcome("retry", "retried", 0);
  expect_outcome("smaller", "retried", 0);
  expect_outcome("without", "retried", 0);
  expect_outcome("wrong", "wrong_result", 0);
  expect_outcome("no_result", "wrong_result", 0);
}

TEST_F(OomPrograms, EndsAProgramThatHangs) {
  for (const char* const behaviour : {"hang", "persist"}) {
    const json refusals = refuse(behaviour, 1)["refusals"];
    ASSERT_EQ(refusals.size(), 1U);
    EXPECT_EQ(refusals[0]["outcome"], "hung");
    EXPECT_EQ(refusals[0]["exit_code"], nullptr);
  }
}

/// pyopencl, for example, collects garbage and allocates again before a program's handler sees the error.
TEST_F(OomPrograms, TheDeviceStaysFullUntilTheProgramReleasesMemory) {
  expect_outcome("retry_or_wrong", "wrong_result", 0);
  expect_outcome("retry_or_wrong", "retried", 0, {"--once"});
  const json refusals = refuse("collect", 0)["refusals"];
  EXPECT_EQ(refusals[0]["outcome"], "handled") << "nothing was live yet";
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(refusals[i]["outcome"], "retried");
    EXPECT_EQ(refusals[i]["message"], "allocated it again");
  }
}

TEST_F(OomPrograms, ALeakHasItsBytes) {
  const json refusals = refuse("leak", 0)["refusals"];
  ASSERT_EQ(refusals.size(), 3U);
  EXPECT_EQ(refusals[0]["outcome"], "retried") << "nothing was live yet";
  EXPECT_EQ(refusals[1]["outcome"], "leaked");
  EXPECT_EQ(refusals[1]["message"], "65536 bytes more live at the end");
  EXPECT_EQ(refusals[2]["outcome"], "leaked");
}

TEST_F(OomPrograms, ProgramsThatEndInOrderMayKeepMemory) {
  const json refusals = refuse("handled_leak", 0)["refusals"];
  for (const json& one : refusals) EXPECT_EQ(one["outcome"], "handled");
  EXPECT_EQ(refusals[0]["leaked_bytes"], 0);
  EXPECT_EQ(refusals[1]["leaked_bytes"], 64 << 10);
  EXPECT_EQ(refusals[2]["leaked_bytes"], (64 + 128) << 10);
  const json handled = refuse("handled", 0);
  for (const json& one : handled["refusals"]) EXPECT_EQ(one["leaked_bytes"], 0);
}

TEST_F(OomPrograms, ReportsHowAProgramWentOn) {
  EXPECT_EQ(refuse("retry", 0, true, {"--once"})["refusals"][1]["message"], "allocated it again");
  EXPECT_EQ(refuse("persist", 0, true, {"--once"})["refusals"][1]["message"], "allocated it again");
  EXPECT_EQ(refuse("smaller", 0)["refusals"][1]["message"], "went on with 64 KiB instead");
  EXPECT_EQ(refuse("without", 0)["refusals"][1]["message"], "went on without it");
}

TEST_F(OomPrograms, NothingIsRefusedAfterTheProgramIsUnusable) {
  const json report = refuse("lock", 1);
  ASSERT_EQ(report["refusals"].size(), 1U);
  EXPECT_EQ(report["refusals"][0]["outcome"], "unusable");
  EXPECT_THAT(report["refusals"][0]["message"], HasSubstr("another process holds the lock"));
  EXPECT_THAT(report["notes"][0], HasSubstr("2 allocations were not refused"));
}

TEST_F(OomPrograms, AnAllocationThatIsNotMadeAgainIsNotRefused) {
  const json refusals = refuse("random", 0, false)["refusals"];
  EXPECT_EQ(refusals[0]["outcome"], "retried");
  EXPECT_EQ(refusals[1]["outcome"], "not_refused");
  EXPECT_EQ(refusals[2]["outcome"], "not_refused");
}

TEST_F(OomPrograms, JobsReportWhatOneProcessReports) {
  const auto refusals = [&](const std::string& behaviour, const std::vector<std::string>& options) {
    std::vector<std::string> words{"--json"};
    words.insert(words.end(), options.begin(), options.end());
    const std::string result = (folder_.path() / "result-{job}.txt").string();
    words.insert(words.end(),
                 {"--compare-output", result, "--", PEAKMARK_PLANTED_PROGRAM, behaviour, result});
    const Answer answer = oom(std::move(words));
    EXPECT_LE(answer.end.exit_code, 1) << answer.errors;
    return json::parse(answer.output)["refusals"];
  };
  for (const char* const behaviour : {"leak", "crash", "wrong"})
    EXPECT_EQ(refusals(behaviour, {"--jobs", "3"}), refusals(behaviour, {}));
  const json two = refusals("handled", {"--jobs", "2", "--allocations", "3,1"});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0]["allocation"], 1);
  EXPECT_EQ(two[1]["allocation"], 3);
}

TEST_F(OomPrograms, AllocationsAreRefusedAtTheirFirstUseToo) {
  const auto refusals = [&](const std::string& behaviour) {
    const std::string result = (folder_.path() / "result.txt").string();
    const Answer answer = oom({"--json", "--refuse-at-use", "--compare-output", result, "--",
                               PEAKMARK_PLANTED_PROGRAM, behaviour, result});
    return json::parse(answer.output)["refusals"];
  };
  for (const char* const behaviour : {"handled", "retry", "crash", "wrong"}) {
    const json at_use = refusals(behaviour);
    EXPECT_EQ(at_use.size(), 3U);
    for (const json& one : at_use)
      EXPECT_EQ(one["outcome"],
                refuse(behaviour, behaviour == std::string("handled") || behaviour == std::string("retry")
                                      ? 0
                                      : 1)["refusals"][0]["outcome"])
          << behaviour;
  }
}

TEST_F(OomPrograms, WithoutAComparedFileAWrongResultIsNotSeen) {
  EXPECT_EQ(refuse("wrong", 0, false)["refusals"][0]["outcome"], "retried");
}

/// Small shapes of the shipped operations.
std::vector<std::string> small_shape(const std::string& variant) {
  const auto is = [&](const char* prefix) { return variant.starts_with(prefix); };
  if (is("padding/")) return {"n=2", "ny=5", "nx=7", "pad_y0=2", "pad_y1=1", "pad_x0=3", "pad_x1=0"};
  if (is("mul_add/subregion")) return {"n=2", "ny=5", "nx=7", "h=4", "w=5", "dst_y0=1", "alias=1"};
  if (is("mul_add/")) return {"n=2", "ny=5", "nx=7"};
  if (is("vertical_shift/")) return {"n_a=3", "n_z=5", "nx=7"};
  if (is("backprojection/texture")) return {"n_a=16", "w=8", "n_z=2", "correction=drift"};
  if (is("backprojection/")) return {"n_a=3", "w=9", "n_z=2", "correction=drift"};
  if (is("filter/whole") || is("fbp/whole")) return {"n_z=2", "n_a=4", "w=5"};
  if (is("filter/") || is("fbp/")) return {"n_z=2", "n_a=4", "w=5", "batch=2"};
  return {};
}

class ShippedVariants : public OomPrograms, public testing::WithParamInterface<const char*> {};

TEST_P(ShippedVariants, HandleEveryRefusal) {
  const json description =
      json::parse(ask({PEAKMARK_BENCH, {"--describe"}, {}, ""}, std::chrono::minutes(1)).output);
  std::size_t tried = 0;
  for (const json& variant : description["variants"]) {
    const auto backends = variant["backends"].get<std::vector<std::string>>();
    if (std::ranges::find(backends, GetParam()) == backends.end()) continue;
    const auto name = variant["name"].get<std::string>();
    std::vector<std::string> words = small_shape(name);
    EXPECT_FALSE(words.empty()) << "a shape for " << name;
    words.insert(words.end(), {name, "--json", "--backend", GetParam()});
    if (GetParam() == std::string("opencl")) words.insert(words.end(), {"--jobs", "2"});
    const Answer answer = oom(words);
    ASSERT_EQ(answer.end.exit_code, 0) << name << answer.errors << answer.output;
    const json report = json::parse(answer.output);
    EXPECT_GE(report["refusals"].size(), 2U) << name;
    EXPECT_EQ(report["refusals"].size(), report["allocations"]) << name;
    for (const json& one : report["refusals"]) EXPECT_EQ(one["outcome"], "handled") << name << one;
    ++tried;
  }
  EXPECT_GE(tried, 10U);
}

INSTANTIATE_TEST_SUITE_P(, ShippedVariants, testing::Values("dry", "opencl"));

TEST_F(OomPrograms, RefusesWrongInput) {
  const auto expect_usage = [&](std::vector<std::string> words, const std::string& text) {
    const Answer answer = oom(std::move(words));
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, HasSubstr(text));
  };
  expect_usage({}, "nothing to run");
  expect_usage({"--", "false"}, "without a refusal, the case ends with crashed");
  expect_usage({"padding/coords9d", "--backend", "dry"}, "did you mean 'padding/coords2d'");
  expect_usage({"padding/coords1d", "--", "true"}, "a program after -- cannot be combined");
  expect_usage({"padding/coords1d", "--backend", "dry", "--allocations", "99"},
               "--allocations: 99: the program makes");
  expect_usage({"padding/coords1d", "--backend", "dry", "--once"}, "--once: a variant is always refused one");
  expect_usage({"padding/coords1d", "--backend", "dry", "--refuse-at-use"}, "--refuse-at-use: ");
  expect_usage({"--jobs", "2", "--compare-output", "result.txt", "--", "true"},
               "2 jobs would write one file, result.txt; write {job} into its name");
  expect_usage({"padding/coords1d", "--backend", "dry", "--only", "nowhere"},
               "no allocation is made at 'nowhere'");
}

}  // namespace
}  // namespace peakmark
