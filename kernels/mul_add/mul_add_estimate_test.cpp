#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_exact;

class MulAddEstimate : public testing::Test {
 protected:
  const testing_variants::TestVariant& whole() { return variants_.find("mul_add/whole"); }
  const testing_variants::TestVariant& subregion() { return variants_.find("mul_add/subregion"); }
  testing_variants::TestVariants variants_{add_mul_add};
};

TEST_F(MulAddEstimate, IsExact) {
  for (const char* dtype : {"f32", "f64"})
    for (const Size n : {1, 20, 37})
      for (const Size ny : {16, 127, 43200}) {
        expect_exact(whole(), {{"n", n}, {"ny", ny}, {"nx", 16384}, {"dtype", dtype}});
        expect_exact(subregion(), {{"n", n}, {"ny", ny}, {"nx", 131}, {"dst_y0", 1}, {"dtype", dtype}});
        for (const Size other_y0 : {0, 1, 3, 8})
          for (const Size other_x0 : {0, 2, 9})
            expect_exact(subregion(), {{"n", n},
                                       {"ny", ny},
                                       {"nx", 131},
                                       {"dst_y0", 1},
                                       {"dst_x0", 2},
                                       {"other_y0", other_y0},
                                       {"other_x0", other_x0},
                                       {"h", 7},
                                       {"w", 7},
                                       {"alias", 1},
                                       {"dtype", dtype}});
      }
}

TEST_F(MulAddEstimate, TheTemporaryIsOneRegionOfOneImageAndBelongsToSetUp) {
  const Parameters parameters =
      subregion().parameters({{"n", 20}, {"ny", 64}, {"nx", 64}, {"dst_y0", 1}, {"alias", 1}});
  const LedgerSummary summary = subregion().dry_summary(parameters, testing_variants::Grain::cpu);
  ASSERT_EQ(summary.at_peak.size(), 2U);
  EXPECT_EQ(summary.at_peak[0].name, "dst");
  EXPECT_EQ(summary.at_peak[1].name, "copy_of_other");
  EXPECT_EQ(summary.at_peak[1].bytes, 63 * 64 * 4);
  EXPECT_EQ(summary.allocations, 2);
}

TEST_F(MulAddEstimate, PartsAreNamedAsTheAllocations) {
  const Parameters parameters = subregion().parameters({{"ny", 64}, {"nx", 64}, {"dst_y0", 1}, {"alias", 1}});
  const std::vector<testing_variants::EstimatedPart> parts = subregion().parts(parameters);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].name, "dst");
  EXPECT_EQ(parts[1].name, "copy_of_other");
}

TEST_F(MulAddEstimate, ARegionOutOfTheImageIsAUsageError) {
  const Parameters parameters = subregion().parameters({{"ny", 64}, {"dst_y0", 64}});
  EXPECT_THROW(static_cast<void>(subregion().bytes(parameters, 1)), UsageError);
}

}  // namespace
}  // namespace peakmark
