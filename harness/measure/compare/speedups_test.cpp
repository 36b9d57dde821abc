#include "measure/compare/speedups.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "measure/compare/sample_measured_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::SizeIs;
using testing::ThrowsMessage;

void add(MeasuredRun& run, const std::string& variant, Size n, Size peak, double ns) {
  time(run.add(variant, n, peak), ns);
}

/// Two variants and their base at three shapes; `pad/few` lacks one of them.
MeasuredRun three_variants() {
  MeasuredRun run;
  for (const Size n : {1, 2, 3}) add(run, "pad/whole", n, 1000 * n, 1e6 * static_cast<double>(n));
  add(run, "pad/tiled", 1, 500, 0.25e6);
  add(run, "pad/tiled", 2, 500, 1e6);
  add(run, "pad/tiled", 3, 6000, 9e6);
  add(run, "pad/few", 1, 1000, 0.8e6);
  add(run, "pad/few", 3, 3000, 2e6);
  add(run, "pad/few", 4, 3000, 2e6);
  add(run, "sum/whole", 1, 1000, 1e6);
  run.rounds();
  return run;
}

// numpy.exp(numpy.mean(numpy.log([1 / 2, 1 / 3, 1 / 7])))
TEST(GeometricMean, IsThatOfNumpy) {
  EXPECT_THAT(geometric_mean({1.0 / 2, 1.0 / 3, 1.0 / 7}), Optional(DoubleNear(0.28768479133239405, 1e-12)));
  EXPECT_THAT(geometric_mean({3}), Optional(DoubleNear(3, 1e-12)));
  EXPECT_EQ(geometric_mean({}), std::nullopt);
}

TEST(Speedups, AreRatiosOfEachShapeAndTheirGeometricMean) {
  const Speedups all = speedups(three_variants().get(), "pad/whole");
  ASSERT_THAT(all.variants, SizeIs(2));
  const VariantRatios& tiled = all.variants[0];
  EXPECT_EQ(tiled.variant, "pad/tiled");
  ASSERT_THAT(tiled.cases, SizeIs(3));
  EXPECT_THAT(tiled.cases[0].peak, Optional(0.5));
  EXPECT_THAT(tiled.cases[1].peak, Optional(0.25));
  EXPECT_THAT(tiled.cases[2].peak, Optional(2));
  EXPECT_THAT(tiled.cases[0].time, Optional(DoubleNear(0.25, 1e-9)));
  EXPECT_THAT(tiled.cases[2].time, Optional(DoubleNear(3, 1e-9)));
  ASSERT_TRUE(tiled.cases[0].time_range);
  EXPECT_THAT(tiled.cases[0].time_range->low, DoubleNear(0.25, 0.0025)) << "the times are within 1 %";
  EXPECT_THAT(tiled.cases[0].time_range->high, DoubleNear(0.25, 0.0025));
  // numpy.exp(numpy.mean(numpy.log([...])))
  EXPECT_THAT(tiled.peak, Optional(DoubleNear(0.6299605249474366, 1e-12)));  // 0.5, 0.25, 2
  EXPECT_THAT(tiled.time, Optional(DoubleNear(0.7211247851537042, 1e-9)));   // 0.25, 0.5, 3
  EXPECT_THAT(tiled.only_base, IsEmpty());
}

TEST(Speedups, WhatAVariantLacksIsSaid) {
  const Speedups all = speedups(three_variants().get(), "pad/whole");
  const VariantRatios& few = all.variants[1];
  EXPECT_THAT(few.cases, SizeIs(2));
  EXPECT_THAT(few.only_base, ElementsAre("pad/whole/opencl/n:2"));
  EXPECT_THAT(few.only_this, ElementsAre("pad/few/opencl/n:4"));
  EXPECT_THAT(all.others, ElementsAre("sum/whole"));
  const std::string table = speedup_table(all);
  EXPECT_THAT(table, AllOf(HasSubstr("pad/few lacks 1 shape:\n  pad/whole/opencl/n:2\n"),
                           HasSubstr("pad/whole lacks 1 shape:\n  pad/few/opencl/n:4\n"),
                           HasSubstr("without a shape in common: sum/whole\n"),
                           Not(HasSubstr("not measured in rounds"))));
  EXPECT_THAT(table, HasSubstr("geometric mean  shapes  peak ratio  time ratio  speed-up\n"
                               "pad/tiled            3       0.630       0.721     1.387\n"
                               "pad/few              2       1.000       0.730     1.369\n"));
}

TEST(Speedups, AnUnknownVariantIsRefusedWithTheNamesThatExist) {
  const MeasuredRun run = three_variants();
  for (const char* name : {"", "pad/tild", "none"}) {
    SCOPED_TRACE(name);
    EXPECT_THAT(
        [&] { speedups(run.get(), name); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr(std::string("no measured case of variant '") + name),
                                        HasSubstr("pad/few, pad/tiled, pad/whole, sum/whole"))));
  }
  EXPECT_THAT([&] { speedups(run.get(), "sum/whole"); },
              ThrowsMessage<UsageError>(HasSubstr("no variant has a shape in common with sum/whole")));
}

TEST(Speedups, WhatIsUnknownHasNoRatio) {
  MeasuredRun run;
  run.add("pad/whole", 1, 0);
  run.add("pad/tiled", 1, 10);
  const Speedups all = speedups(run.get(), "pad/whole");
  EXPECT_EQ(all.variants[0].cases[0].peak, std::nullopt) << "the base has no bytes";
  EXPECT_EQ(all.variants[0].cases[0].time, std::nullopt);
  EXPECT_EQ(exit_code_of(all), ExitCode::nothing);
  const auto json = speedup_json(all);
  EXPECT_TRUE(json.at("variants")[0].at("cases")[0].at("time_ratio").is_null());
  EXPECT_TRUE(json.at("variants")[0].at("cases")[0].at("interval").is_null());
  EXPECT_EQ(exit_code_of(speedups(three_variants().get(), "pad/whole")), ExitCode::clean);
}

}  // namespace
}  // namespace peakmark
