// Tests the verdicts of `check` on the estimators. It includes no header of the public API, since that has
// another class Case.
#include <gtest/gtest.h>

#include "kernels/common/harness_testing.hpp"
#include "kernels/operations.hpp"
#include "measure/check/judge.hpp"
#include "measure/check/sample_run.hpp"

namespace peakmark {
namespace {

using std::string;

// 4·(5·n_a·w + w²) bytes per slice is too low for the old method and far too high for the new one. It fails,
// while the variant's own estimator passes.
TEST(FbpJudged, NabusFormulaLeavesTheWindow) {
  const testing_variants::TestVariants variants(add_fbp);
  for (const auto& [method, mode, is_too_low] :
       {std::tuple{"whole", "constant", true}, {"whole", "edge", true}, {"inplace", "constant", false}}) {
    const testing_variants::TestVariant& variant = variants.find("fbp/" + string(method));
    const Parameters parameters = variant.parameters(
        {{"n_a", Size{2880}}, {"w", Size{2048}}, {"mode", string(mode)}, {"n_z", Size{20}}});
    const Size peak = variant.dry_summary(parameters, testing_variants::Grain::gpu).peak_bytes;
    ASSERT_EQ(variant.estimators(), 2U);
    SampleRun sample;
    for (const std::size_t estimator : {0, 1}) {
      sample.add(variant.estimator_name(estimator), 20, peak,
                 variant.max_slices(parameters, peak, estimator).slices,
                 variant.bytes(parameters, 20, estimator));
    }
    for (const Verdict& verdict : judge(sample.run, {})) {
      if (verdict.rule != Rule::window_bytes && verdict.rule != Rule::window_slices) continue;
      const bool own = verdict.case_name == variant.name();
      EXPECT_EQ(verdict.judgement, own ? Judgement::pass : Judgement::fail) << verdict.case_name;
      if (!own) {
        EXPECT_EQ(verdict.figure > 1, is_too_low) << method << " " << *verdict.figure;
      }
    }
  }
}

}  // namespace
}  // namespace peakmark
