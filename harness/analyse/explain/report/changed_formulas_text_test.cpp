#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "analyse/explain/report/reports.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(ChangedFormulas, ShowsOnlyWhatChanged) {
  const auto base = padding_run({"edge"});
  auto next = base;
  for (Observation& observation : next.observations) {
    const Size rows = observation.axes.integer("ny") + 2 * observation.axes.integer("pad_y");
    (*observation.allocation_sequence)[2].bytes = 4 * rows;
  }
  const auto old_formulas = explain_cases(group_cases(base));
  const auto new_formulas = explain_cases(group_cases(next));
  const auto changed = changed_formulas(old_formulas, new_formulas);
  ASSERT_THAT(changed, SizeIs(1));
  const std::string text = changed_formulas_text(changed);
  EXPECT_THAT(text, HasSubstr("row coordinates  setup  4·(ny + 2·pad_y)·(nx + 2·pad_x)"));
  EXPECT_THAT(text, HasSubstr("4·(ny + 2·pad_y)\n"));
  EXPECT_THAT(text, Not(HasSubstr("column coordinates")));
  EXPECT_EQ(changed_formulas_text(changed_formulas(old_formulas, old_formulas)), "no formula changed\n");

  const auto json = nlohmann::json::parse(changed_formulas_json(changed));
  EXPECT_TRUE(json["unmatched"].empty());
  ASSERT_THAT(json["changes"], SizeIs(2));
  const auto& change = json["changes"][0];
  EXPECT_EQ(change["variant"], "padding/nabu");
  EXPECT_EQ(change["words"]["mode"][0], "edge");
  EXPECT_EQ(change["allocation"], "row coordinates");
  EXPECT_EQ(change["phase"], "setup");
  EXPECT_EQ(change["kind"], "changed");
  EXPECT_EQ(change["base"], "4 * (ny + 2 * pad_y) * (nx + 2 * pad_x)");
  EXPECT_EQ(change["new"], "4 * (ny + 2 * pad_y)");
  EXPECT_EQ(json["changes"][1]["allocation"], "peak");
}

TEST(ChangedFormulas, FollowWordsThatOnlyOneRunMerges) {
  const auto base = padding_run({"edge", "wrap"});
  auto next = base;
  for (Observation& observation : next.observations) {
    if (observation.axes.word("mode") == "wrap") (*observation.allocation_sequence)[3].bytes = 4;
  }
  const auto old_formulas = explain_cases(group_cases(base));
  const auto new_formulas = explain_cases(group_cases(next));
  ASSERT_THAT(old_formulas, SizeIs(1));
  ASSERT_THAT(new_formulas, SizeIs(2));
  for (const auto& changed :
       {changed_formulas(old_formulas, new_formulas), changed_formulas(new_formulas, old_formulas)}) {
    ASSERT_THAT(changed, SizeIs(1));
    EXPECT_EQ(words_text(changed[0].words), "mode=wrap dtype=f32");
  }
}

TEST(ChangedFormulas, NameVariantsThatOnlyOneRunHas) {
  const auto base = padding_run({"edge"});
  const auto next = filter_run();
  const auto old_formulas = explain_cases(group_cases(base));
  const auto new_formulas = explain_cases(group_cases(next));
  EXPECT_EQ(changed_formulas_text(changed_formulas(old_formulas, new_formulas)),
            "filter/stripes  only in the new run\npadding/nabu  mode=edge dtype=f32  only in the base run\n");
  const auto json =
      nlohmann::json::parse(changed_formulas_json(changed_formulas(old_formulas, new_formulas)));
  EXPECT_EQ(json["unmatched"][0]["run"], "new");
  EXPECT_EQ(json["unmatched"][1]["variant"], "padding/nabu");
}

TEST(ChangedFormulas, OfACaseAreThoseOfItsWords) {
  const auto base = padding_run({"edge", "constant"});
  auto next = base;
  for (Observation& observation : next.observations) {
    if (observation.axes.word("mode") != "edge") continue;
    const Size rows = observation.axes.integer("ny") + 2 * observation.axes.integer("pad_y");
    AllocationSequence& sequence = *observation.allocation_sequence;
    sequence[2].bytes = 4 * rows;
    sequence.pop_back();
  }
  const auto before = explain_cases(group_cases(base));
  const auto after = explain_cases(group_cases(next));
  const Parameters edge = base.observations.front().axes;
  EXPECT_THAT(changed_formula_lines(changed_allocations(before, after, edge)),
              ElementsAre("column coordinates (setup): 4·(ny + 2·pad_y)·(nx + 2·pad_x) → –",
                          "row coordinates (setup): 4·(ny + 2·pad_y)·(nx + 2·pad_x) → 4·(ny + 2·pad_y)"));
  Parameters constant = edge;
  constant.set("mode", std::string("constant"));
  EXPECT_THAT(changed_formula_lines(changed_allocations(before, after, constant)), IsEmpty());
  EXPECT_THAT(changed_formula_lines(changed_allocations(before, before, edge)), IsEmpty());
  EXPECT_THAT(changed_formula_lines(changed_allocations(before, {}, edge)), IsEmpty());
}

}  // namespace
}  // namespace peakmark
