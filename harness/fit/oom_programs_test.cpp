#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/program.hpp"
#include "subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// `peakmark oom` on programs that are built to take a refused buffer in a certain way (planted_program.cpp),
/// and on shipped variants.
class OomPrograms : public testing::Test {
 protected:
  Answer oom(std::vector<std::string> words) const {
    WorkerCommand command{PEAKMARK_PROGRAM, std::move(words), current_environment(), ""};
    command.arguments.insert(command.arguments.begin(), "oom");
    command.environment.emplace_back("PEAKMARK_LIBRARY_DIR=" PEAKMARK_RECORDER_FOLDER);
    return ask(command, std::chrono::minutes(5));
  }
  json refuse(const std::string& behaviour, int exit_code, bool is_result_compared = true) const {
    const std::string result = (folder_.path() / "result.txt").string();
    std::vector<std::string> words{"--json"};
    if (is_result_compared) words.insert(words.end(), {"--compare-output", result});
    // Long enough for the run without a refusal on a busy machine, and one refusal only.
    if (behaviour == "hang") words.insert(words.end(), {"--timeout", "12", "--max", "1"});
    words.insert(words.end(), {"--", PEAKMARK_PLANTED_PROGRAM, behaviour, result});
    const Answer answer = oom(std::move(words));
    EXPECT_EQ(answer.end.exit_code, exit_code) << behaviour << ": " << answer.errors;
    return json::parse(answer.output);
  }
  void expect_outcome(const std::string& behaviour, const std::string& outcome,
                      const json& program_code) const {
    const bool is_failure = outcome == "crashed" || outcome == "hung" || outcome == "wrong_result";
    const json report = refuse(behaviour, is_failure ? 1 : 0);
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
  const json refusals = refuse("hang", 1)["refusals"];
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0]["outcome"], "hung");
  EXPECT_EQ(refusals[0]["exit_code"], nullptr);
}

TEST_F(OomPrograms, ALeakHasItsBytes) {
  const json refusals = refuse("leak", 0)["refusals"];
  ASSERT_EQ(refusals.size(), 3U);
  EXPECT_EQ(refusals[0]["outcome"], "retried") << "nothing was live yet";
  EXPECT_EQ(refusals[1]["outcome"], "leaked");
  EXPECT_EQ(refusals[1]["message"], "65536 bytes more live at the end");
  EXPECT_EQ(refusals[2]["outcome"], "leaked");
}

TEST_F(OomPrograms, WithoutAComparedFileAWrongResultIsNotSeen) {
  EXPECT_EQ(refuse("wrong", 0, false)["refusals"][0]["outcome"], "retried");
}

TEST_F(OomPrograms, ShippedVariantsHandleEveryRefusal) {
  for (const char* const backend : {"opencl", "dry"}) {
    for (const char* const variant :
         {"padding/coords2d", "mul_add/subregion", "vertical_shift/temporaries", "filter/inplace"}) {
      std::vector<std::string> words{variant, "--json", "--backend", backend};
      const std::string name = variant;
      if (name == "filter/inplace") words.insert(words.end(), {"n_a=8", "w=32", "n_z=3", "batch=2"});
      if (name == "padding/coords2d")
        words.insert(words.end(), {"n=2", "ny=16", "nx=16", "pad_y0=4", "pad_y1=4"});
      if (name == "mul_add/subregion") words.insert(words.end(), {"n=2", "ny=16", "nx=16"});
      if (name == "vertical_shift/temporaries") words.insert(words.end(), {"n_a=3", "n_z=16", "nx=16"});
      const Answer answer = oom(words);
      ASSERT_EQ(answer.end.exit_code, 0) << variant << answer.errors << answer.output;
      const json report = json::parse(answer.output);
      EXPECT_GE(report["refusals"].size(), 2U);
      EXPECT_EQ(report["refusals"].size(), report["allocations"]);
      for (const json& one : report["refusals"]) EXPECT_EQ(one["outcome"], "handled") << variant << one;
    }
  }
}

TEST_F(OomPrograms, RefusesWrongInput) {
  const auto expect_usage = [&](std::vector<std::string> words, const std::string& text) {
    const Answer answer = oom(std::move(words));
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, HasSubstr(text));
  };
  expect_usage({}, "nothing to run");
  expect_usage({"--", "false"}, "without a refusal, the case ends with crashed");
  expect_usage({"padding/coords9d", "--backend", "dry"}, "did you mean 'padding/coords2d'");
  expect_usage({"padding/coords1d", "--", "true"}, "a program behind -- is run alone");
  expect_usage({"padding/coords1d", "--backend", "dry", "--only", "nowhere"},
               "no allocation is made at 'nowhere'");
}

}  // namespace
}  // namespace peakmark
