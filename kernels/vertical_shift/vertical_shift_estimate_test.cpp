#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"
#include "kernels/vertical_shift/shifts.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_exact;

class VerticalShiftEstimate : public testing::Test {
 protected:
  const testing_variants::TestVariant& find(const char* name) { return variants_.find(name); }
  testing_variants::TestVariants variants_{add_vertical_shift};
};

TEST_F(VerticalShiftEstimate, IsExact) {
  for (const testing_variants::TestVariant& variant : variants_)
    for (const std::string& pattern : shift_patterns())
      for (const char* dtype : {"f32", "f64"})
        for (const Size n_a : {1, 2, 20, 37})
          for (const Size n_z : {1, 5, 127, 43200})
            expect_exact(variant,
                         {{"n_a", n_a}, {"n_z", n_z}, {"nx", 131}, {"shift", pattern}, {"dtype", dtype}});
}

TEST_F(VerticalShiftEstimate, AllocationsOfTemporariesGrowWithTheAngles) {
  const testing_variants::TestVariant& variant = find("vertical_shift/temporaries");
  const auto allocations = [&](Size n_a) {
    const auto parameters =
        variant.parameters({{"n_a", n_a}, {"n_z", 64}, {"nx", 8}, {"shift", "positive4"}});
    return variant.dry_summary(parameters, testing_variants::Grain::cpu).allocations;
  };
  // Two calls with two products per radio; the stack and one image.
  EXPECT_EQ(allocations(10), 2 * 2 * 10 + 2);
  EXPECT_EQ(allocations(50), 2 * 2 * 50 + 2);
}

TEST_F(VerticalShiftEstimate, TheOthersAllocateOnce) {
  for (const Size n_a : {10, 50}) {
    const testing_variants::TestVariant& muladd = find("vertical_shift/muladd");
    const testing_variants::TestVariant& fused = find("vertical_shift/fused");
    EXPECT_EQ(muladd.dry_summary(muladd.parameters({{"n_a", n_a}}), testing_variants::Grain::cpu).allocations,
              3);
    EXPECT_EQ(fused.dry_summary(fused.parameters({{"n_a", n_a}}), testing_variants::Grain::cpu).allocations,
              2);
  }
}

TEST_F(VerticalShiftEstimate, FusedHasNothingBeyondTheStackAndItsShifts) {
  const testing_variants::TestVariant& variant = find("vertical_shift/fused");
  const auto parameters = variant.parameters({{"n_a", 30}, {"n_z", 64}, {"nx", 8}});
  EXPECT_EQ(variant.dry_summary(parameters, testing_variants::Grain::cpu).peak_bytes,
            30 * 64 * 8 * 4 + 4 * 30);
}

TEST_F(VerticalShiftEstimate, PartsAreNamedAsTheAllocations) {
  const auto names = [&](const char* name) {
    const testing_variants::TestVariant& variant = find(name);
    std::vector<std::string> all;
    for (const testing_variants::EstimatedPart& part : variant.parts(variant.parameters()))
      all.push_back(part.name);
    return all;
  };
  EXPECT_THAT(names("vertical_shift/muladd"), testing::ElementsAre("radios", "radio", "shifted"));
  EXPECT_THAT(names("vertical_shift/fused"), testing::ElementsAre("radios", "shifts"));
}

TEST_F(VerticalShiftEstimate, RadiosAreBoundedBeforeTheirShiftsAreMade) {
  const testing_variants::TestDevice device = testing_variants::open_dry();
  for (const testing_variants::TestVariant& variant : variants_) {
    const Parameters many = variant.parameters({{"n_a", Size{1} << 36}, {"n_z", 1}, {"nx", 1}});
    EXPECT_THAT([&] { variant.make(device, many); },
                testing::ThrowsMessage<UsageError>(testing::HasSubstr(
                    "n_a is 68719476736; each radio has a shift, the maximum is 1048576")));
  }
}

}  // namespace
}  // namespace peakmark
