#include "explain/formula_changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/sample_explained_run.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FormulaChanges, AreOfTheWordsOfACase) {
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
  EXPECT_THAT(formula_changes(before, after, edge),
              ElementsAre("column coordinates (setup): 4·(ny + 2·pad_y)·(nx + 2·pad_x) → –",
                          "row coordinates (setup): 4·(ny + 2·pad_y)·(nx + 2·pad_x) → 4·(ny + 2·pad_y)"));
  Parameters constant = edge;
  constant.set("mode", std::string("constant"));
  EXPECT_THAT(formula_changes(before, after, constant), IsEmpty());
  EXPECT_THAT(formula_changes(before, before, edge), IsEmpty());
  EXPECT_THAT(formula_changes(before, {}, edge), IsEmpty());
}

}  // namespace
}  // namespace peakmark
