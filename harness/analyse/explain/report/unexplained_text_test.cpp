
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "analyse/explain/report/reports.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns the run of a program that allocates a stack, then what `add` allocates.
Run run_with(const std::function<void(SequenceRecorder&, const SampleAxes&)>& add) {
  return sample_explained_run([&](Run& run, const SampleAxes& shape) {
    Observation observation = sample_observation("shift/images", shape, {});
    SequenceRecorder recorder;
    recorder.allocate("stack", "inputs", "", 4 * shape.n * shape.ny * shape.nx);
    add(recorder, shape);
    recorder.finish(observation);
    run.observations.push_back(std::move(observation));
  });
}

VariantFormulas explained(const Run& run) {
  return explain_cases(group_cases(run)).at(0);
}

// The copy exists only if two regions overlap, which is a condition on four axes.
void add_copy(SequenceRecorder& recorder, const SampleAxes& s) {
  const bool overlaps = (s.ny + s.pad_y + 2 * s.nx + 3 * s.n) % 5 < 2;
  if (overlaps) recorder.allocate("copy", "call 1", "", 8 * s.ny * s.nx);
}

TEST(UnexplainedText, AnAllocationThatIsThereByAnUnknownConditionIsNamedInThePeak) {
  const auto run = run_with(add_copy);
  const VariantFormulas variant = explained(run);
  EXPECT_FALSE(variant.explanation.peak());
  ASSERT_TRUE(variant.explanation.partial_peak());
  EXPECT_EQ(to_text(*variant.explanation.partial_peak()), "4 * n * ny * nx + copy");
  std::size_t there = 0;
  for (const Observation& one : run.observations) there += one.allocation_sequence->size() - 1;
  const std::string text = formulas_text({{variant}, {}, {}});
  EXPECT_THAT(text, HasSubstr("at some shapes: 8·ny·nx"));
  EXPECT_THAT(text,
              HasSubstr("copy is there at " + std::to_string(there) +
                        " of 36 shapes; no condition on one or two axes describes these shapes. Fix axes "
                        "(AXIS=VALUE) until one does:\n    at n=5 "));
}

TEST(UnexplainedText, AConditionWithoutAFormulaIsSaid) {
  const auto run = run_with([](SequenceRecorder& recorder, const SampleAxes& s) {
    if (s.ny > s.nx) recorder.allocate("copy", "call 1", "", 8 * s.ny * s.nx);
  });
  EXPECT_THAT(unexplained_text(explained(run)), HasSubstr("copy is there when ny > nx, at "));
}

// A temporary for each slice, with random lengths, in a loop whose number of rounds is random too.
TEST(UnexplainedText, ALoopOfRandomSizesIsOneAllocationAndNamedInThePeak) {
  const auto run = run_with([](SequenceRecorder& recorder, const SampleAxes& s) {
    for (Size i = 0; i < 2 + (s.n * 7919 + s.nx * 104729) % 5; ++i) {
      const Size lines = 1 + ((s.n + i) * 7907 + s.ny * 104723) % s.ny;
      recorder.release(recorder.allocate("product", "call 1", "", 4 * lines * s.nx));
    }
  });
  const VariantFormulas variant = explained(run);
  ASSERT_TRUE(variant.explanation.partial_peak());
  EXPECT_EQ(to_text(*variant.explanation.partial_peak()), "4 * n * ny * nx + product");
  EXPECT_EQ(variant.explanation.allocations.size(), 2);
  const std::string text = unexplained_text(variant);
  EXPECT_THAT(text, HasSubstr("product has no formula; the largest of each shape, at most "));
  EXPECT_THAT(text, Not(HasSubstr("is there")));
}

// The largest temporary of a loop has a formula, whatever the others are, so the peak is exact.
TEST(UnexplainedText, ALoopOfRandomSizesWithAKnownLargestHasAnExactPeak) {
  const auto run = run_with([](SequenceRecorder& recorder, const SampleAxes& s) {
    for (const char* const call : {"call 1", "call 2"}) {
      for (Size i = 0; i < 4 + (s.n * 7919) % 5; ++i) {
        const Size lines = i == 2 ? s.ny : 1 + ((s.n + i) * 7907 + s.ny * 104723) % s.ny;
        recorder.release(recorder.allocate("product", call, "", 4 * lines * s.nx));
      }
    }
  });
  const VariantFormulas variant = explained(run);
  ASSERT_TRUE(variant.explanation.peak());
  EXPECT_EQ(to_text(*variant.explanation.peak()), "4 * n * ny * nx + 4 * ny * nx");
  EXPECT_FALSE(variant.is_explained());
  EXPECT_THAT(formulas_text({{variant}, {}, {}}), HasSubstr(" × up to 4·ny·nx "));
  EXPECT_EQ(unexplained_text(variant),
            "  product is made several times with different sizes; the largest of each shape is 4·ny·nx, the "
            "others have no formula\n");
}

TEST(UnexplainedText, OfFewShapesMoreAreNeeded) {
  auto run = run_with([](SequenceRecorder& recorder, const SampleAxes& s) {
    recorder.allocate("table", "call 1", "", 7 + (s.n * s.n * 6007 + s.ny * 7919 + s.nx * 104729) % 9973);
  });
  EXPECT_THAT(unexplained_text(explained(run)), HasSubstr("record one of these shapes again"));
  run.observations.resize(6);
  EXPECT_THAT(unexplained_text(explained(run)),
              HasSubstr("from 6 shapes only a short formula is accepted; add 10 or more, such as "));
}

TEST(UnexplainedText, SaysWhichValueGivesMoreShapes) {
  const auto run = run_with([](SequenceRecorder& recorder, const SampleAxes& s) {
    if (s.pad_y == 8) recorder.allocate("copy", "call 1", "", 8 * s.ny * s.nx + s.pad_x);
  });
  EXPECT_THAT(unexplained_text(explained(run)),
              HasSubstr("only shapes with pad_y=8 have it: fix pad_y=8 to find a formula from more of them"));
}

}  // namespace
}  // namespace peakmark
