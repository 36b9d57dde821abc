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
