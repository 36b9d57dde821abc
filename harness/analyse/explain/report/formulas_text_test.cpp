#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "analyse/explain/report/reports.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
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

// A shape that is fitted with one dtype would be no test of another.
TEST(RunFormulas, ShapesAreHeldOutWithAllTheirDTypes) {
  const auto run = padding_run({"edge"}, {4, 8});
  const auto group = group_cases(run).at(0);
  ASSERT_EQ(group.observations.size(), 2 * sample_shapes().size());
  const auto shape = [&](std::size_t i) {
    std::vector<Size> values;
    for (const Shapes::Axis& axis : group.shapes.axes) {
      if (axis.name != "itemsize") values.push_back(axis.values[i]);
    }
    return values;
  };
  for (std::size_t held_out = 3; held_out < group.observations.size(); held_out += 4) {
    for (std::size_t i = 0; i < group.observations.size(); ++i)
      EXPECT_FALSE(i % 4 != 3 && shape(i) == shape(held_out)) << held_out << " and " << i;
    EXPECT_EQ(group.shapes.axes[0].values[held_out], group.observations[held_out]->axes.integer("n"));
  }
}

TEST(RunFormulas, FloatingPointNumbersChooseAFormula) {
  const auto run = blur_run();
  const auto variants = explain_cases(group_cases(run));
  ASSERT_THAT(variants, SizeIs(2));
  EXPECT_EQ(variants[0].words_text(), "sigma=0.5,0.6");
  EXPECT_EQ(variants[1].words_text(), "sigma=1.0");
  ASSERT_TRUE(variants[1].is_explained());
  EXPECT_EQ(to_text(*variants[0].explanation.allocations[1].bytes.formula), "20 * nx");
  EXPECT_EQ(to_text(*variants[1].explanation.allocations[1].bytes.formula), "28 * nx");
  auto chosen = blur_run();
  keep_explained_cases(chosen, {{"sigma", "10e-1"}});
  EXPECT_EQ(chosen.observations.size(), sample_shapes().size());
}

TEST(RunFormulas, FixedValuesChooseCases) {
  auto run = padding_run({"edge", "constant"});
  keep_explained_cases(run, {{"mode", "edge"}});
  EXPECT_THAT(group_cases(run), SizeIs(1));
  EXPECT_THROW(keep_explained_cases(run, {{"mode", "wrap"}}), UsageError);
}

TEST(RunFormulas, ARunWithoutSequencesSaysHowToRecordThem) {
  auto run = padding_run({"edge"});
  for (Observation& observation : run.observations) observation.allocation_sequence.reset();
  EXPECT_THAT([&] { keep_explained_cases(run, {}); },
              testing::ThrowsMessage<UsageError>(HasSubstr("--sequences")));
}

TEST(RunFormulas, APeakThatIsNotThatOfTheSequenceIsANote) {
  auto run = padding_run({"edge"});
  run.observations[3].requested_peak_bytes = 1;
  const auto variants = explain_cases(group_cases(run));
  EXPECT_THAT(variants[0].explanation.notes,
              ElementsAre(HasSubstr("bytes in the sequence, 1 in the run file")));
  EXPECT_THAT(variants[0].explanation.notes[0],
              HasSubstr("the allocation sequence of 1 case has another peak"));
}

std::vector<std::string> notes_of(const peakmark::Run& run) {
  return explain_cases(group_cases(run)).at(0).explanation.notes;
}

TEST(RunFormulas, TooFewShapesSayWhatWouldHelp) {
  auto run = padding_run({"edge"});
  run.observations.resize(5);
  EXPECT_THAT(formulas_text({explain_cases(group_cases(run)), {}, {}}),
              HasSubstr("mode=edge dtype=f32  5 shapes recorded: at least 6 are needed for formulas; add n=5 "
                        "ny=32 nx=41 pad_y=7 pad_x=9; add shapes to "
                        "the suite, or explain the suite"));
}

TEST(RunFormulas, AnAxisThatDoesNotMatterIsANote) {
  EXPECT_THAT(notes_of(filter_run()),
              ElementsAre("no formula reads pad_y, pad_x: bytes do not depend on them"));
  EXPECT_THAT(notes_of(padding_run({"edge"})), testing::IsEmpty());
}

TEST(RunFormulas, OtherAllocationsInTheSecondPassAreANoteWithTheirNames) {
  auto run = padding_run({"edge"});
  for (const std::size_t shape : {1, 4}) {
    for (const std::size_t one : {2, 3})
      run.observations[shape].allocation_sequence->at(one).is_repeated = false;
  }
  EXPECT_THAT(notes_of(run),
              ElementsAre(HasSubstr("2 cases made other allocations in the second pass (column "
                                    "coordinates, row coordinates): formulas describe the first")));
}

// Two processes allocate at the same line, under the same name.
TEST(RunFormulas, MemoryOfOtherProcessesIsNamed) {
  auto run = launcher_run();
  EXPECT_THAT(
      formulas_text({explain_cases(group_cases(run)), {}, {}}),
      AllOf(ContainsRegex("work +filters.py:7 +worker.py +8·ny·nx"),
            ContainsRegex("work +filters.py:7 +the program +8·nx"), HasSubstr("peak = 4·n·ny·nx + 8·ny·nx")));
  // The largest image: 4·5·55·41 bytes of the program, 8·55·41 of the other process.
  const std::string known =
      "at the peak of program/launcher/opencl/n:5/ny:55/nx:41/pad_y:7/pad_x:9, 17.62 KiB "
      "of 61.66 KiB belong to another process that the program started: worker.py; an "
      "estimator for the program alone is too low by that amount. ";
  EXPECT_THAT(notes_of(run), testing::Contains(HasSubstr(known + "Processes that run at the same time are "
                                                                 "merged by time: record a shape again")));
  for (Observation& one : run.observations) one.second_pass_peak_bytes = one.requested_peak_bytes;
  EXPECT_THAT(notes_of(run), testing::Contains(HasSubstr("the second pass of each case had the same peak")));
  ++*run.observations[7].second_pass_peak_bytes;
  EXPECT_THAT(notes_of(run),
              testing::Contains(HasSubstr("the second pass of 1 of 36 cases had another peak; let the")));
}

TEST(RunFormulas, AForgottenAllocationOfAnotherProcessIsNamedWithIt) {
  auto run = launcher_run();
  for (Observation& one : run.observations) {
    const Parameters& axes = one.axes;
    const Size n = axes.integer("n");
    const Size stack = 4 * n * axes.integer("ny") * axes.integer("nx");
    one.estimate = EstimateObservation{"own", "module", n, n, stack, {}, {}};
  }
  FormulaReport report{explain_cases(group_cases(run)), {}, {}};
  add_findings(report, 0, "");
  EXPECT_THAT(formulas_text(report),
              HasSubstr("missing: 8·ny·nx, work, filters.py:7, by the process worker.py\n"));
  const auto cause = nlohmann::json(causes_json(report)).at(0);
  EXPECT_EQ(cause.at("process"), "worker.py");
}

TEST(RunFormulas, TooManyAllocationsForASequenceAreSaid) {
  auto run = padding_run({"edge"});
  for (std::size_t shape = 30; shape < run.observations.size(); ++shape) {
    run.observations[shape].allocation_sequence.reset();
    run.observations[shape].allocations = 100'001;
  }
  EXPECT_THAT(notes_of(run), ElementsAre(HasSubstr("6 cases made more than 100000 allocations, too many")));
  for (Observation& observation : run.observations) {
    observation.allocation_sequence.reset();
    observation.allocations = 100'001;
  }
  EXPECT_THAT([&] { keep_explained_cases(run, {}); },
              testing::ThrowsMessage<UsageError>(HasSubstr("36 cases made more than 100000 allocations")));
}

TEST(RunFormulas, NeedAnIntegerAxis) {
  auto run = padding_run({"edge"});
  for (Observation& observation : run.observations)
    observation.axes = Parameters({{"mode", std::string("edge")}});
  EXPECT_THAT(notes_of(run),
              testing::Contains("no axis is an integer: formulas are made of integer axes such as "
                                "ny"));
}

// A merged run may have cases of an earlier version of the variant, with fewer axes.
TEST(RunFormulas, CasesWithOtherAxesAreExplainedAlone) {
  auto run = padding_run({"edge"});
  Observation& other = run.observations[7];
  other.axes = Parameters({{"n", Size{5}}, {"mode", std::string("edge")}, {"dtype", std::string("f32")}});
  const auto groups = group_cases(run);
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[1].observations, SizeIs(1));
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
  const AxisLengths at{{"n", 1}, {"ny", 4096}, {"nx", 4096}, {"pad_y", 2048}, {"pad_x", 2048}};
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
  add_random_workspace(run);
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

// The call site replaces a missing name. Sizes that differ between two passes do not depend on the shape.
TEST(FormulasText, AnUnnamedAllocationThatDoesNotRepeatSaysWhatWouldHelp) {
  auto run = padding_run({"edge"});
  Size random = 12345;
  for (Observation& observation : run.observations) {
    random = (random * 1103515245 + 12345) % 2147483648;
    AllocationSequence& sequence = *observation.allocation_sequence;
    sequence.push_back(
        {"", "call 1", "draw.py:7", random, sequence.back().allocated_at + 1, std::nullopt, false});
  }
  const std::string text = formulas_text({explain_cases(group_cases(run)), {}, {}});
  EXPECT_THAT(text, ContainsRegex("peak = .* \\+ draw.py:7"));
  EXPECT_THAT(text, HasSubstr("draw.py:7 has no formula; its sizes, at most "));
  EXPECT_THAT(text, HasSubstr("two passes at the same shape differ: it does not depend on the axes alone"));
  EXPECT_THAT(text,
              HasSubstr("in the second pass (draw.py:7): formulas describe the first; set `sync = true`"));
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

}  // namespace
}  // namespace peakmark
