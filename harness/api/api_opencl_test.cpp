// Tests of the public API on a device, with peakmark's arrays and with buffers and queues of other code.
#include "api/api_test.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST_F(ApiTest, RawOpenClIsMeasuredUnchanged) {
  const Answer answer = run(
      "backend = \"opencl\"\n[[sweep]]\nvariants = [\"opencl/raw\", \"opencl/own_queue\"]\naxes.n = 2000\n");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const auto measured = observations();
  for (const char* variant : {"opencl/raw", "opencl/own_queue"}) {
    SCOPED_TRACE(variant);
    const Observation& one = measured.at(variant);
    EXPECT_THAT(one.requested_peak_bytes, Optional(16000));
    EXPECT_THAT(one.input_bytes, Optional(8000));
    EXPECT_THAT(one.output_bytes, Optional(8000));
    EXPECT_THAT(one.leaked_bytes, Optional(0));
    ASSERT_TRUE(one.gpu_time);
    EXPECT_GT(one.gpu_time->median_ns, 0);
    ASSERT_EQ(one.at_peak.size(), 2u);
    EXPECT_TRUE(one.at_peak[0].name == "input" || one.at_peak[1].name == "input");
    ASSERT_TRUE(one.estimate);
    EXPECT_THAT(one.estimate->bytes_estimated, Optional(16000));
  }
}

TEST_F(ApiTest, ArraysOfBothKindsAreArgumentsOfAnOpenClKernel) {
  const Answer answer =
      run("backend = \"opencl\"\n[[sweep]]\nvariants = \"opencl/launched\"\n", {"--memory-only"});
  const Observation one = observations().at("opencl/launched");
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors << one.message;
  EXPECT_THAT(one.requested_peak_bytes, Optional(8000));
}

TEST_F(ApiTest, ArraysOfOursAreMeasuredOnADevice) {
  const Answer answer =
      run("backend = \"opencl\"\n[[sweep]]\nvariants = [\"known/bytes\", \"known/round_trip\", "
          "\"known/wrong\"]\n",
          {"--memory-only"});
  EXPECT_EQ(answer.end.exit_code, 3) << answer.errors;
  const auto measured = observations();
  EXPECT_EQ(measured.at("known/bytes").outcome, Outcome::ok);
  EXPECT_THAT(measured.at("known/bytes").requested_peak_bytes, Optional(44000));
  EXPECT_EQ(measured.at("known/round_trip").outcome, Outcome::ok) << measured.at("known/round_trip").message;
  EXPECT_THAT(measured.at("known/round_trip").requested_peak_bytes, Optional(40));
  EXPECT_EQ(measured.at("known/wrong").outcome, Outcome::wrong_answer);
  EXPECT_EQ(measured.at("known/wrong").message, "element 7 is 1 instead of 2");
}

TEST_F(ApiTest, MetricsOfClassesAndLambdasAreReported) {
  const Answer answer =
      run("backend = \"opencl\"\n[[sweep]]\nvariants = [\"known/bytes\", \"known/lambdas\"]\n",
          {"--memory-only"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const auto measured = observations();
  using Numbers = std::map<std::string, double>;
  using Directions = std::map<std::string, std::string>;
  EXPECT_EQ(measured.at("known/bytes").metrics, (Numbers{{"largest_error", 0.25}, {"slices", 20}}));
  EXPECT_EQ(measured.at("known/bytes").metric_directions, (Directions{{"largest_error", "lower"}}));
  EXPECT_EQ(measured.at("known/lambdas").metrics, (Numbers{{"temporaries", 1}}));
  EXPECT_EQ(measured.at("known/lambdas").metric_directions, (Directions{{"temporaries", "higher"}}));
}

constexpr const char* kOutside =
    "backend = \"opencl\"\n[[sweep]]\nvariants = \"opencl/outside\"\naxes.side = ";

TEST_F(ApiTest, GuardsFindAWriteOutsideOfAnArray) {
  const Answer answer =
      run(std::string(kOutside) + "[\"nowhere\", \"before\", \"after\", \"temporary\"]\n", {"--guard"});
  EXPECT_EQ(answer.end.exit_code, 3) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("guards: 16 arrays of 4 cases\n"));
  std::map<std::string, Observation> by_side;
  for (const Observation& one : read_run(run_file_).observations) by_side[one.axes.word("side")] = one;
  EXPECT_EQ(by_side.at("nowhere").outcome, Outcome::ok) << by_side.at("nowhere").message;
  EXPECT_EQ(by_side.at("nowhere").message, "");
  for (const auto& [side, message] : std::map<std::string, std::string>{
           {"before", "array 'output' (number 2, 3.906 KiB): bytes 1 to 4 before its start were overwritten"},
           {"after", "array 'output' (number 2, 3.906 KiB): bytes 0 to 3 after its end were overwritten"},
           {"temporary",
            "array 'temporary' (number 3, 3.906 KiB): bytes 4 to 7 after its end were overwritten"}}) {
    EXPECT_EQ(by_side.at(side).outcome, Outcome::wrong_answer);
    EXPECT_EQ(by_side.at(side).message, "a write outside of an array, in the first `call`: " + message);
  }
  for (const auto& [side, one] : by_side) {
    EXPECT_THAT(one.requested_peak_bytes, Optional(12000)) << side;
    EXPECT_THAT(one.guarded_arrays, Optional(4)) << "input, output, and a temporary of each call";
    EXPECT_THAT(one.unguarded_allocations, Optional(0));
    EXPECT_FALSE(one.gpu_time);
  }
}

/// Returns the allocations of a case. Their call sites differ, since guards are allocated by another
/// function.
AllocationSequence without_places(const Observation& observation) {
  AllocationSequence all = observation.allocation_sequence.value();
  for (SequencedAllocation& one : all) one.where.clear();
  return all;
}

// The work of the temporaries of known/bytes is still enqueued when they are released.
TEST_F(ApiTest, GuardsChangeNoByteOfTheMeasurement) {
  const std::string suite =
      "backend = \"opencl\"\n[[sweep]]\nvariants = [\"known/bytes\", \"opencl/outside\", \"opencl/raw\", "
      "\"opencl/halves\"]\n";
  ASSERT_EQ(run(suite, {"--sequences"}).end.exit_code, 0);
  const auto plain = observations();
  const Answer answer = run(suite, {"--sequences", "--guard", "--budget", "44000"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  for (const auto& [variant, guarded] : observations()) {
    SCOPED_TRACE(variant);
    const Observation& without = plain.at(variant);
    EXPECT_EQ(guarded.requested_peak_bytes, without.requested_peak_bytes);
    EXPECT_EQ(guarded.first_call_peak_bytes, without.first_call_peak_bytes);
    EXPECT_EQ(guarded.setup_bytes, without.setup_bytes);
    EXPECT_EQ(guarded.input_bytes, without.input_bytes);
    EXPECT_EQ(guarded.output_bytes, without.output_bytes);
    EXPECT_EQ(guarded.leaked_bytes, without.leaked_bytes);
    EXPECT_EQ(guarded.allocations, without.allocations);
    EXPECT_EQ(guarded.at_peak, without.at_peak);
    EXPECT_EQ(guarded.by_kind, without.by_kind);
    EXPECT_EQ(guarded.moved_allocations, without.moved_allocations);
    EXPECT_EQ(without_places(guarded), without_places(without));
    EXPECT_FALSE(without.guarded_arrays);
  }
}

TEST_F(ApiTest, AllocationsThatHaveNoGuardsAreCounted) {
  const Answer answer = run("backend = \"opencl\"\n[[sweep]]\nvariants = \"opencl/raw\"\n", {"--guard"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation one = observations().at("opencl/raw");
  EXPECT_THAT(one.guarded_arrays, Optional(0));
  EXPECT_THAT(one.unguarded_allocations, Optional(2));
  EXPECT_EQ(one.message, "2 allocations without guards (2 buffer): not made by `Device::create`");
  EXPECT_THAT(answer.errors, HasSubstr("opencl/raw/opencl: 2 allocations without guards"));
}

TEST_F(ApiTest, GuardsNeedADeviceThatRunsKernels) {
  const Answer answer = run("backend = \"dry\"\n[[sweep]]\nvariants = \"known/bytes\"\n", {"--guard"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("--guard finds nothing on dry"));
}

TEST_F(ApiTest, KernelsInTheDialectRunOnOpenCl) {
  const Answer answer =
      run("backend = \"opencl\"\n[[sweep]]\nvariants = [\"kernels/scale\", \"kernels/errors\"]\n"
          "axes.dtype = [\"f32\", \"i32\"]\n");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation one = observations().at("kernels/scale");
  EXPECT_THAT(one.requested_peak_bytes, Optional(8000));
  EXPECT_THAT(one.input_bytes, Optional(4000));
  ASSERT_TRUE(one.gpu_time);
  EXPECT_EQ(observations().at("kernels/errors").outcome, Outcome::ok);
}

TEST_F(ApiTest, TheCompilersOutputIsInTheMessage) {
  EXPECT_EQ(run("backend = \"opencl\"\n[[sweep]]\nvariants = \"opencl/no_kernel\"\n", {"--memory-only"})
                .end.exit_code,
            3);
  const Observation one = observations().at("opencl/no_kernel");
  EXPECT_EQ(one.outcome, Outcome::crashed);
  EXPECT_THAT(one.message, HasSubstr("the kernel none does not compile"));
}

// What setup prints comes in the output just before the timed calls, but does not belong to them.
TEST_F(ApiTest, AWorkerThatPrintsInItsTimedCallsIsAWarning) {
  const Answer answer =
      run("backend = \"opencl\"\n[[sweep]]\nvariants = [\"bad/set_up\", \"bad/call\"]\n", {}, "prints");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const auto measured = observations();
  EXPECT_EQ(measured.at("bad/set_up").message, "");
  EXPECT_EQ(measured.at("bad/call").message, "prints in its timed call: its times include that");
  EXPECT_THAT(answer.errors, HasSubstr("bad/call/opencl: prints in its timed call"));
  EXPECT_EQ(answer.errors.find('\x1e'), std::string::npos) << answer.errors;
}

}  // namespace
}  // namespace peakmark
