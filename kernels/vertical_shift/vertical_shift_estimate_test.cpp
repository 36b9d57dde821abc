#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"
#include "kernels/vertical_shift/shift_pattern.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

using testing_variants::dry_summary;
using testing_variants::expect_exact;
using testing_variants::parameters_of;

class VerticalShiftEstimate : public testing::Test {
 protected:
  const Variant& find(const char* name) { return *registry_.find(name); }
  Registry registry_ = testing_variants::registry_of(add_vertical_shift);
};

TEST_F(VerticalShiftEstimate, IsExact) {
  for (const Variant& variant : registry_.variants())
    for (const std::string& pattern : shift_patterns())
      for (const char* dtype : {"f32", "f64"})
        for (const Size n_a : {1, 2, 20, 37})
          for (const Size n_z : {1, 5, 127, 43200})
            expect_exact(variant,
                         {{"n_a", n_a}, {"n_z", n_z}, {"nx", 131}, {"shift", pattern}, {"dtype", dtype}});
}

TEST_F(VerticalShiftEstimate, AllocationsOfTemporariesGrowWithTheAngles) {
  const Variant& variant = find("vertical_shift/temporaries");
  const auto allocations = [&](Size n_a) {
    const auto parameters =
        parameters_of(variant, {{"n_a", n_a}, {"n_z", 64}, {"nx", 8}, {"shift", "positive4"}});
    return dry_summary(variant, parameters, true).allocations;
  };
  // Two calls, two products a radio; the stack and one image.
  EXPECT_EQ(allocations(10), 2 * 2 * 10 + 2);
  EXPECT_EQ(allocations(50), 2 * 2 * 50 + 2);
}

TEST_F(VerticalShiftEstimate, TheOthersAllocateOnce) {
  for (const Size n_a : {10, 50}) {
    const Variant& muladd = find("vertical_shift/muladd");
    const Variant& fused = find("vertical_shift/fused");
    EXPECT_EQ(dry_summary(muladd, parameters_of(muladd, {{"n_a", n_a}}), true).allocations, 3);
    EXPECT_EQ(dry_summary(fused, parameters_of(fused, {{"n_a", n_a}}), true).allocations, 2);
  }
}

TEST_F(VerticalShiftEstimate, FusedHasNothingBeyondTheStackAndItsShifts) {
  const Variant& variant = find("vertical_shift/fused");
  const auto parameters = parameters_of(variant, {{"n_a", 30}, {"n_z", 64}, {"nx", 8}});
  EXPECT_EQ(dry_summary(variant, parameters, true).peak_bytes, 30 * 64 * 8 * 4 + 4 * 30);
}

TEST_F(VerticalShiftEstimate, TermsAreNamedAsTheAllocations) {
  const auto names = [&](const char* name) {
    const Variant& variant = find(name);
    std::vector<std::string> all;
    for (const Term& term : variant.estimators[0]->terms(variant.request(parameters_of(variant, {}))))
      all.push_back(term.name);
    return all;
  };
  EXPECT_THAT(names("vertical_shift/muladd"), testing::ElementsAre("radios", "radio", "shifted"));
  EXPECT_THAT(names("vertical_shift/fused"), testing::ElementsAre("radios", "shifts"));
}

TEST_F(VerticalShiftEstimate, RadiosAreBoundedBeforeTheirShiftsAreMade) {
  const auto device = open_dry();
  for (const Variant& variant : registry_.variants()) {
    const Parameters many = parameters_of(variant, {{"n_a", Size{1} << 36}, {"n_z", 1}, {"nx", 1}});
    EXPECT_THAT([&] { variant.make(*device, many); },
                testing::ThrowsMessage<UsageError>(
                    testing::HasSubstr("n_a is 68719476736; each radio has a shift, 1048576 are the most")));
  }
}

TEST_F(VerticalShiftEstimate, AnotherSliceDimensionIsAUsageError) {
  for (const Variant& variant : registry_.variants()) {
    EstimateRequest request = variant.request(parameters_of(variant, {}));
    request.slice_dimension = 1;
    EXPECT_THROW(static_cast<void>(variant.estimators[0]->max_slices(request)), UsageError);
  }
}

}  // namespace
}  // namespace peakmark
