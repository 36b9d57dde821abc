#include "explain/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "explain/sample_explained_run.hpp"

namespace peakmark {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST(RunFormulas, WordsWithTheSameFormulasAreOneEntry) {
  const auto run = padding_run({"edge", "constant", "wrap"});
  const auto variants = explain_cases(group_cases(run));
  ASSERT_THAT(variants, SizeIs(2));
  EXPECT_EQ(variants[0].words_text(), "mode=edge,wrap dtype=f32");
  EXPECT_EQ(variants[1].words_text(), "mode=constant dtype=f32");
  EXPECT_TRUE(variants[0].is_explained());
  EXPECT_EQ(variants[0].explanation.fitted + variants[0].explanation.held_out, 2 * sample_shapes().size());
}

TEST(RunFormulas, SeveralDTypesAreTheFactorItemsize) {
  const auto run = padding_run({"edge"}, {4, 8});
  const auto variants = explain_cases(group_cases(run));
  ASSERT_THAT(variants, SizeIs(1));
  ASSERT_TRUE(variants[0].is_explained());
  EXPECT_EQ(to_text(*variants[0].explanation.allocations[0].bytes.formula), "n * ny * nx * itemsize");
}

TEST(RunFormulas, FixedValuesChooseCases) {
  const auto run = padding_run({"edge", "constant"});
  EXPECT_THAT(group_cases(run, {{"mode", std::string("edge")}}), SizeIs(1));
  EXPECT_THROW(group_cases(run, {{"mode", std::string("wrap")}}), UsageError);
}

TEST(RunFormulas, ARunWithoutSequencesSaysHowToRecordThem) {
  auto run = padding_run({"edge"});
  for (Observation& observation : run.observations) observation.allocation_sequence.reset();
  EXPECT_THAT([&] { group_cases(run); }, testing::ThrowsMessage<UsageError>(HasSubstr("--sequences")));
}

TEST(RunFormulas, APeakThatIsNotThatOfTheSequenceIsANote) {
  auto run = padding_run({"edge"});
  run.observations[3].requested_peak_bytes = 1;
  const auto variants = explain_cases(group_cases(run));
  EXPECT_THAT(variants[0].explanation.notes, ElementsAre(HasSubstr("the run file 1")));
}

TEST(FormulasText, NamesPaddedLengths) {
  const auto run = padding_run({"edge"});
  const std::string text = formulas_text({explain_cases(group_cases(run)), {}, {}});
  EXPECT_THAT(text,
              HasSubstr("padding/nabu  mode=edge dtype=f32  27 shapes fitted, 9 held out: 0 bytes off\n"));
  EXPECT_THAT(text, HasSubstr("row coordinates     padding.py:88       setup    4·Hp·Wp"));
  EXPECT_THAT(text, HasSubstr("peak = 4·n·ny·nx + 4·n·Hp·Wp + 8·Hp·Wp  = "));
  EXPECT_THAT(text, HasSubstr("with Hp = ny + 2·pad_y, Wp = nx + 2·pad_x\n"));
}

TEST(FormulasText, ShowsBytesAtTheShapeThatIsAsked) {
  const auto run = padding_run({"constant"});
  const FixedAxes at{
      {"n", Size{1}}, {"ny", Size{4096}}, {"nx", Size{4096}}, {"pad_y", Size{2048}}, {"pad_x", Size{2048}}};
  const std::string text = formulas_text({explain_cases(group_cases(run)), {}, at});
  EXPECT_THAT(text, HasSubstr("at n=1 ny=4096 nx=4096 pad_y=2048 pad_x=2048"));
  EXPECT_THAT(text, ContainsRegex("4·n·ny·nx +64 MiB"));
  EXPECT_THAT(text, ContainsRegex("4·n·Hp·Wp +256 MiB"));
}

TEST(FormulasText, AMaximumSaysWhenEachMomentIsThePeak) {
  const auto run = filter_run();
  const std::string text = formulas_text({explain_cases(group_cases(run)), {}, {}});
  EXPECT_THAT(text, HasSubstr("peak = max(A, B)"));
  EXPECT_THAT(text, HasSubstr(", the peak when nx is even\n"));
  EXPECT_THAT(text, HasSubstr(", the peak when nx is odd\n"));
}

TEST(FormulasText, WhatHasNoFormulaIsATableOfSizes) {
  auto run = padding_run({"edge"});
  Size random = 12345;
  for (Observation& observation : run.observations) {
    random = (random * 1103515245 + 12345) % 2147483648;
    AllocationSequence& sequence = *observation.allocation_sequence;
    sequence.push_back({"workspace", "call 1", "", random, sequence.back().allocated_at + 1, std::nullopt});
    *observation.requested_peak_bytes += random;
  }
  const auto variants = explain_cases(group_cases(run));
  EXPECT_FALSE(variants[0].is_explained());
  const std::string text = formulas_text({variants, {}, {}});
  EXPECT_THAT(text, HasSubstr("not explained: "));
  EXPECT_THAT(text, HasSubstr("workspace has no formula; its sizes, at most "));
  EXPECT_THAT(
      text, ContainsRegex("peak = .* \\+ workspace  with Hp = .*; at most [0-9]+ bytes were recorded, at "));
  const auto json = nlohmann::json::parse(formulas_json({variants, {}, {}}));
  EXPECT_TRUE(json["variants"][0]["worst_bytes_off"].is_null());
  EXPECT_TRUE(json["variants"][0]["peak"].is_null());
  EXPECT_THAT(json["variants"][0]["partial_peak"].get<std::string>(), HasSubstr("workspace"));
  EXPECT_EQ(json["variants"][0]["unexplained_bytes"], variants[0].explanation.unexplained_bytes);
}

TEST(FormulasJson, HasTheKeysOfTheContract) {
  const auto run = padding_run({"edge"});
  const auto json = nlohmann::json::parse(formulas_json({explain_cases(group_cases(run)), {}, {}}));
  const auto& variant = json["variants"][0];
  EXPECT_EQ(variant["variant"], "padding/nabu");
  EXPECT_EQ(variant["words"]["mode"][0], "edge");
  EXPECT_EQ(variant["fitted"], 27);
  EXPECT_EQ(variant["held_out"], 9);
  EXPECT_EQ(variant["worst_bytes_off"], 0);
  EXPECT_EQ(variant["unexplained_bytes"], 0);
  const auto& allocation = variant["allocations"][2];
  EXPECT_EQ(allocation["name"], "row coordinates");
  EXPECT_EQ(allocation["where"], "padding.py:88");
  EXPECT_EQ(allocation["phase"], "setup");
  EXPECT_EQ(allocation["count"], "1");
  EXPECT_EQ(allocation["bytes"], "4 * (ny + 2 * pad_y) * (nx + 2 * pad_x)");
}

TEST(ChangedFormulas, ShowsOnlyWhatChanged) {
  const auto base = padding_run({"edge"});
  auto next = base;
  for (Observation& observation : next.observations) {
    const Size rows = observation.axes.integer("ny") + 2 * observation.axes.integer("pad_y");
    (*observation.allocation_sequence)[2].bytes = 4 * rows;
  }
  bool is_changed = false;
  const std::string text =
      changed_formulas_text(explain_cases(group_cases(base)), explain_cases(group_cases(next)), is_changed);
  EXPECT_TRUE(is_changed);
  EXPECT_THAT(text, HasSubstr("row coordinates  setup  4·(ny + 2·pad_y)·(nx + 2·pad_x)"));
  EXPECT_THAT(text, HasSubstr("4·(ny + 2·pad_y)\n"));
  EXPECT_THAT(text, Not(HasSubstr("column coordinates")));
  changed_formulas_text(explain_cases(group_cases(base)), explain_cases(group_cases(base)), is_changed);
  EXPECT_FALSE(is_changed);
}

}  // namespace
}  // namespace peakmark
