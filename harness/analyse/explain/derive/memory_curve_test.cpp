#include "analyse/explain/derive/memory_curve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "analyse/explain/report/reports.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// An image of 4096 x 4096, padded by half its width on all sides.
const AxisLengths kLargeImage{{"n", 1}, {"ny", 4096}, {"nx", 4096}, {"pad_y", 2048}, {"pad_x", 2048}};

std::vector<Size> curve_lengths(const MemoryCurve& curve, const std::string& axis) {
  return std::ranges::find(curve.shapes.axes, axis, &Shapes::Axis::name)->values;
}

void expect_recorded_shapes_on(const MemoryCurve& curve) {
  const std::vector<Size> lengths = curve_lengths(curve, curve.axis);
  const auto recorded = std::ranges::find(curve.recorded.axes, curve.axis, &Shapes::Axis::name)->values;
  ASSERT_EQ(recorded.size(), curve.recorded_peak.size());
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const auto place = std::ranges::find(lengths, recorded[i]);
    ASSERT_NE(place, lengths.end()) << recorded[i];
    EXPECT_EQ(curve.peak[static_cast<std::size_t>(place - lengths.begin())], curve.recorded_peak[i]);
  }
}

void expect_layers_add_up(const MemoryCurve& curve) {
  for (std::size_t shape = 0; shape < curve.peak.size(); ++shape) {
    Size sum = 0;
    for (const CurveLayer& layer : curve.layers) sum += layer.bytes.at(shape);
    EXPECT_EQ(sum, curve.peak[shape]);
  }
}

TEST(MemoryCurveTest, FollowsTheLineWithMostRecordedShapes) {
  const auto run = padding_run({"edge"});
  const auto curve = memory_curve(explain_cases(group_cases(run)).front(), {});
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->axis, "n");
  EXPECT_THAT(curve->recorded.axes.front().values, ElementsAre(5, 6, 7, 11, 16, 29));
  EXPECT_EQ(curve_lengths(*curve, "n").back(), 4 * 29);
  EXPECT_EQ(curve_lengths(*curve, "ny").back(), 31);
  EXPECT_THAT(curve->layers, SizeIs(4));
  EXPECT_FALSE(curve->within_budget);
  expect_recorded_shapes_on(*curve);
  expect_layers_add_up(*curve);
}

TEST(MemoryCurveTest, EndsAtTheShapeThatIsAsked) {
  const auto run = padding_run({"edge"});
  const auto curve = memory_curve(explain_cases(group_cases(run)).front(), {kLargeImage, "", {}});
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->axis, "ny");
  EXPECT_EQ(curve_lengths(*curve, "pad_x").back(), 2048);
  EXPECT_EQ(curve_lengths(*curve, "n").front(), 1);
  EXPECT_EQ(curve->peak.back(), 872'415'232);  // as nabu 2023.2.0 was measured
  EXPECT_THAT(curve->recorded_peak, IsEmpty());
  expect_layers_add_up(*curve);
}

TEST(MemoryCurveTest, GoesOnUntilTheBudgetIsReached) {
  const auto run = padding_run({"edge"});
  const auto curve = memory_curve(explain_cases(group_cases(run)).front(), {{}, "n", Size{1} << 20});
  ASSERT_TRUE(curve);
  ASSERT_TRUE(curve->within_budget);
  const Size bytes_per_slice = 4 * 31 * 41 + 4 * 45 * 59;
  const Size fitting = ((Size{1} << 20) - 8 * 45 * 59) / bytes_per_slice;
  EXPECT_EQ(curve_lengths(*curve, "n")[*curve->within_budget], fitting);
  EXPECT_GT(curve->peak.back(), Size{1} << 20);
  EXPECT_LE(curve->peak[*curve->within_budget], Size{1} << 20);

  const auto too_little = memory_curve(explain_cases(group_cases(run)).front(), {{}, "n", Size{1}});
  EXPECT_FALSE(too_little.value().within_budget);
}

TEST(MemoryCurveTest, AMaximumIsThatOfTheMomentThatWins) {
  const auto run = filter_run();
  const auto curve = memory_curve(explain_cases(group_cases(run)).front(), {{}, "nx", {}});
  ASSERT_TRUE(curve);
  EXPECT_EQ(curve->axis, "nx");
  EXPECT_THAT(curve->recorded_peak, SizeIs(6));
  expect_recorded_shapes_on(*curve);
  expect_layers_add_up(*curve);
}

TEST(MemoryCurveTest, LeavesOutWhatHasNoFormula) {
  auto run = padding_run({"edge"});
  add_random_workspace(run);
  const auto curve = memory_curve(explain_cases(group_cases(run)).front(), {kLargeImage, "", {}});
  ASSERT_TRUE(curve);
  EXPECT_THAT(curve->unexplained, ElementsAre("workspace"));
  EXPECT_EQ(curve->peak.back(), 872'415'232);
}

TEST(MemoryCurveTest, RefusesAnUnknownAxis) {
  const auto run = padding_run({"edge"});
  const auto variants = explain_cases(group_cases(run));
  EXPECT_THROW(memory_curve(variants.front(), {{}, "nyy", {}}), UsageError);
}

TEST(ShapesOnCurve, AreAsSmallAsTheRecordedOnes) {
  const auto run = padding_run({"edge"});
  const auto groups = group_cases(run);
  const auto shapes = shapes_on_curve(groups.front(), {kLargeImage, "", {}});
  std::vector<Size> rows;
  for (const Parameters& shape : shapes) {
    rows.push_back(shape.integer("ny"));
    EXPECT_EQ(shape.integer("n"), 1);
    EXPECT_EQ(shape.integer("nx"), shape.integer("ny"));
    EXPECT_EQ(shape.integer("pad_y"), (shape.integer("ny") + 1) / 2);
    EXPECT_EQ(shape.word("mode"), "edge");
  }
  EXPECT_THAT(rows, ElementsAre(9, 18, 27, 36, 45, 55));  // ny was recorded from 31 to 55
  EXPECT_THAT(shapes_on_curve(groups.front(), {}), IsEmpty());
}

TEST(FormulasJson, HasCurves) {
  const auto run = padding_run({"edge"});
  FormulaReport report{explain_cases(group_cases(run)), {}, {}};
  report.curves.push_back(memory_curve(report.variants.front(), {{}, "n", Size{1} << 20}));
  report.context = &run.context;
  const auto json = nlohmann::json::parse(formulas_json(report));
  EXPECT_EQ(json["run"]["device"], "pocl");
  const auto& curve = json["variants"][0]["curve"];
  EXPECT_EQ(curve["axis"], "n");
  EXPECT_EQ(curve["axes"]["n"].size(), curve["peak"].size());
  EXPECT_EQ(curve["layers"][0]["bytes"].size(), curve["peak"].size());
  EXPECT_EQ(curve["recorded"]["axes"]["n"], nlohmann::json({5, 6, 7, 11, 16, 29}));
  EXPECT_EQ(curve["budget_bytes"], 1 << 20);
  EXPECT_EQ(curve["within_budget"]["axes"]["n"], 65);
  EXPECT_TRUE(nlohmann::json::parse(formulas_json({{}, {}, {}}))["run"].is_null());
}

}  // namespace
}  // namespace peakmark
