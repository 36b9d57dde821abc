// Tests that Google Benchmark's own tool reads peakmark's run files.
#include <gmock/gmock.h>

#include "base/files_testing.hpp"
#include "measure/runfile/sample_run.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

peakmark::Run timed_run(double factor) {
  peakmark::Run run = example_run();
  Observation& observation = run.observations.front();
  observation.gpu_time->blocks.clear();
  for (int block = 0; block < 10; ++block) {
    observation.gpu_time->blocks.push_back({(1000 + block) * factor, (1001 + block) * factor});
  }
  // Cases without a time must not make it fail.
  run.observations.push_back(example_observation("crashed/case/opencl"));
  run.observations.back().gpu_time.reset();
  return run;
}

TEST(ComparePy, ReadsRunFiles) {
  const TemporaryFolder folder;
  const std::filesystem::path base = folder.path() / "base.json";
  const std::filesystem::path slower = folder.path() / "slower.json";
  write_run(timed_run(1), base);
  write_run(timed_run(1.5), slower);
  const Answer answer =
      ask({PEAKMARK_PYTHON,
           {PEAKMARK_COMPARE_PY, "--no-color", "benchmarks", base.string(), slower.string()},
           {},
           ""},
          std::chrono::seconds(120));
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, Not(HasSubstr("Traceback")));
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("padding/coords1d/opencl/n:20/ny:512"), HasSubstr("+0.5000"),
                    HasSubstr("U Test, Repetitions: 10 vs 10"), Not(HasSubstr("crashed/case"))));
}

}  // namespace
}  // namespace peakmark
