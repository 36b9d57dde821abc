#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/worker/fake_variants.hpp"

namespace peakmark {
namespace {

using testing::Contains;
using testing::Not;
using testing_support::fake_variant;
using testing_support::FakeEstimator;

TEST(Registry, FindsVariantsByName) {
  Registry registry;
  registry.add(fake_variant("shift/old", {}));
  registry.add(fake_variant("shift/new", {}));
  ASSERT_NE(registry.find("shift/new"), nullptr);
  EXPECT_EQ(registry.find("shift/new")->description.name, "shift/new");
  EXPECT_EQ(registry.find("shift"), nullptr);
}

TEST(Registry, RefusesASecondVariantOfOneName) {
  Registry registry;
  registry.add(fake_variant("shift/old", {}));
  EXPECT_THROW(registry.add(fake_variant("shift/old", {})), UsageError);
}

TEST(Registry, RefusesAVariantThatCannotBeAsked) {
  Registry registry;
  RegisteredVariant variant = fake_variant("a/b", {}, {FakeEstimator{"own", 0, 1}});
  variant.description.slice_axis = "";
  EXPECT_THROW(registry.add(variant), UsageError);
  variant.description.slice_axis = "dtype";
  EXPECT_THROW(registry.add(variant), UsageError);
  variant.description.slice_axis = "n";
  EXPECT_NO_THROW(registry.add(variant));
}

TEST(Registry, DescribesEstimatorsInOrder) {
  Registry registry;
  registry.add(fake_variant("a/b", {}, {FakeEstimator{"own", 0, 1}, FakeEstimator{"other", 0, 2}}));
  const Description description = registry.describe();
  ASSERT_EQ(description.variants.size(), 1U);
  ASSERT_EQ(description.variants[0].estimators.size(), 2U);
  EXPECT_EQ(description.variants[0].estimators[0].name, "own");
  EXPECT_EQ(description.variants[0].estimators[1].form, "module");
}

TEST(Registry, ADryBackendIsAlwaysThereUnlessAVariantRulesItOut) {
  Registry registry;
  registry.add(fake_variant("any/where", {}));
  RegisteredVariant raw = fake_variant("raw/allocation", {});
  raw.description.backends = {"opencl", "cuda"};
  registry.add(raw);
  EXPECT_THAT(registry.find("any/where")->description.backends, Contains("dry"));
  EXPECT_THAT(registry.find("raw/allocation")->description.backends, Not(Contains("dry")));
}

}  // namespace
}  // namespace peakmark
