// Tests of measurements on PoCL under a layer that destroys memory objects late, as PoCL 7 does.
#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

TEST_F(CommandTest, TheReleasesOfAnExactPeakAreAwaited) {
  environment_ = {"CUDA_VISIBLE_DEVICES=", "OPENCL_LAYERS=" PEAKMARK_LATE_DRIVER_LAYER,
                  "TMPDIR=" + folder_.path().string(), "XDG_RUNTIME_DIR="};
  // Each call allocates and releases a temporary for each radio.
  const Answer run =
      peakmark({"run", "vertical_shift/temporaries", "n_a=12", "n_z=17", "nx=13", "--worker", PEAKMARK_BENCH,
                "--backend", "opencl", "--memory-only", "-o", run_file_.string()});
  ASSERT_EQ(run.end.exit_code, 0) << run.errors;
  const Answer check = peakmark({"check", run_file_.string(), "--window", "1:1"});
  EXPECT_EQ(check.end.exit_code, 0) << check.output << check.errors;
}

}  // namespace
}  // namespace peakmark
