#include "explain/against.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "explain/conditions.hpp"
#include "explain/formula_algebra.hpp"
#include "explain/sample_explained_run.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string formula(const EstimateCause& cause) {
  return cause.bytes ? to_text(*cause.bytes, ExpressionStyle::display) : "?";
}

// An estimator of the filter that answers bytes, with one mistake each.
class WrongEstimator : public testing::Test {
 protected:
  using Bytes = std::function<Size(const SampleAxes&)>;

  static SampleAxes axes(const Observation& observation) {
    const Parameters& axes = observation.axes;
    return {axes.integer("n"), axes.integer("ny"), axes.integer("nx"), axes.integer("pad_y"),
            axes.integer("pad_x")};
  }
  static Size images(const SampleAxes& s) { return 8 * s.n * s.ny * s.nx; }
  static Size plan(const SampleAxes& s) { return (12 * s.ny * s.nx + 511) / 512 * 512; }
  static Size weights(const SampleAxes& s) { return 8 * s.n * s.nx; }
  static Size copy(const SampleAxes& s) { return s.nx % 2 == 1 ? 4 * s.n * s.ny * (s.nx + 1) : 0; }

  std::vector<EstimateCause> causes(const Bytes& bytes) const {
    EstimatedCases estimated;
    for (const Observation* const observation : variant_.cases[0].observations)
      estimated.bytes.emplace_back(bytes(axes(*observation)));
    return find_causes(variant_.explanation, variant_.cases[0], estimated);
  }

  const peakmark::Run run_ = filter_run();
  const VariantFormulas variant_ = explain_cases(group_cases(run_)).front();
};

TEST_F(WrongEstimator, HasNoCauseIfItIsRight) {
  EXPECT_THAT(causes([](const SampleAxes& s) { return images(s) + plan(s) + weights(s) + copy(s); }),
              IsEmpty());
}

TEST_F(WrongEstimator, ForgetsATemporaryForOddWidths) {
  const auto found = causes([](const SampleAxes& s) { return images(s) + plan(s) + weights(s); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::missing);
  EXPECT_EQ(found[0].allocation, "even copy");
  EXPECT_EQ(found[0].where, "tomolib.py:40");
  EXPECT_EQ(found[0].condition, "nx is odd");
  EXPECT_EQ(formula(found[0]), "4·n·ny·(nx + 1)");
}

TEST_F(WrongEstimator, CountsFloat64AsFloat32) {
  const auto found =
      causes([](const SampleAxes& s) { return images(s) + plan(s) + weights(s) / 2 + copy(s); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::wrong);
  EXPECT_EQ(found[0].allocation, "weights");
  EXPECT_EQ(found[0].where, "tomolib.py:30");
  EXPECT_EQ(found[0].reason, "counted with 1/2 of its element size");
  EXPECT_EQ(formula(found[0]), "4·n·nx");
  EXPECT_EQ(found[0].condition, "");
  EXPECT_FALSE(found[0].is_too_high);
}

TEST_F(WrongEstimator, CountsATermOfEachSliceOnce) {
  const auto found =
      causes([](const SampleAxes& s) { return images(s) + plan(s) + weights(s) / s.n + copy(s); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::wrong);
  EXPECT_EQ(found[0].allocation, "weights");
  EXPECT_EQ(found[0].where, "tomolib.py:30");
  EXPECT_EQ(found[0].reason, "counted once instead of n times");
  EXPECT_EQ(formula(found[0]), "8·nx·(n - 1)");
}

TEST_F(WrongEstimator, ForgetsRoundingTo512) {
  const auto found =
      causes([](const SampleAxes& s) { return images(s) + 12 * s.ny * s.nx + weights(s) + copy(s); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::wrong);
  EXPECT_EQ(found[0].allocation, "plan");
  EXPECT_EQ(found[0].where, "tomolib.py:20");
  EXPECT_EQ(found[0].reason, "its rounding is left out");
}

TEST_F(WrongEstimator, CountsAnAllocationTwice) {
  const auto found =
      causes([](const SampleAxes& s) { return images(s) + 2 * plan(s) + weights(s) + copy(s); });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::extra);
  EXPECT_EQ(found[0].allocation, "plan");
  EXPECT_EQ(found[0].reason, "counted twice");
  EXPECT_TRUE(found[0].is_too_high);
}

TEST_F(WrongEstimator, MakesTwoMistakes) {
  const auto found = causes([](const SampleAxes& s) { return images(s) + plan(s) + weights(s) / s.n; });
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT((std::vector<std::string>{found[0].allocation, found[1].allocation}),
              testing::UnorderedElementsAre("even copy", "weights"));
}

TEST_F(WrongEstimator, ForgetsAConstantThatNoAllocationHas) {
  const auto found =
      causes([](const SampleAxes& s) { return images(s) + plan(s) + weights(s) + copy(s) - 220944; });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::missing);
  EXPECT_EQ(found[0].allocation, "");
  EXPECT_EQ(formula(found[0]), "220944");
}

TEST_F(WrongEstimator, IsComparedByTheNamesOfItsTerms) {
  EstimatedCases estimated;
  for (const Observation* const observation : variant_.cases[0].observations) {
    const SampleAxes s = axes(*observation);
    estimated.terms["stack"].push_back(images(s) / 2);
    estimated.terms["result"].push_back(images(s) / 2);
    estimated.terms["plan"].push_back(plan(s));
    estimated.terms["weights"].push_back(weights(s) / 2);
    estimated.terms["even copy"].push_back(0);
    estimated.terms["scratch"].push_back(4 * s.nx);
    estimated.bytes.emplace_back(images(s) + plan(s) + weights(s) / 2 + 4 * s.nx);
  }
  const auto found = find_causes(variant_.explanation, variant_.cases[0], estimated);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::missing);
  EXPECT_EQ(found[0].allocation, "even copy");
  EXPECT_EQ(found[0].condition, "nx is odd");
  EXPECT_EQ(found[1].kind, EstimateCause::Kind::extra);
  EXPECT_EQ(found[1].allocation, "scratch");
  EXPECT_EQ(formula(found[1]), "4·nx");
  EXPECT_EQ(found[2].kind, EstimateCause::Kind::wrong);
  EXPECT_EQ(found[2].allocation, "weights");
}

TEST(CompareEstimator, NamesTheWordsWithWhichItIsWrong) {
  const auto run = padding_run({"edge", "wrap"});
  const VariantFormulas variant = explain_cases(group_cases(run)).front();
  ASSERT_THAT(variant.cases, SizeIs(2));
  std::vector<EstimatedCases> estimated;
  for (const RecordedCases& cases : variant.cases) {
    estimated.emplace_back();
    for (const Observation* const observation : cases.observations) {
      const Size image = 4 * observation->axes.integer("n") * observation->axes.integer("ny") *
                         observation->axes.integer("nx");
      estimated.back().bytes.emplace_back(*observation->requested_peak_bytes -
                                          (observation->axes.word("mode") == "wrap" ? image : 0));
    }
  }
  const EstimatorFindings findings = compare_estimator(variant, "theirs", estimated);
  EXPECT_EQ(findings.wrong, sample_shapes().size());
  ASSERT_THAT(findings.causes, SizeIs(1));
  EXPECT_THAT(findings.causes[0].condition, HasSubstr("mode=wrap"));
  EXPECT_EQ(findings.causes[0].allocation, "image");
}

TEST(FindCondition, FindsParitiesComparisonsAndLimits) {
  const Shapes shapes{{{"a", {3, 4, 5, 8, 12, 7}}, {"b", {4, 4, 6, 6, 9, 9}}}};
  EXPECT_EQ(find_condition(shapes, {true, false, true, false, false, true}), "a is odd");
  EXPECT_EQ(find_condition(shapes, {false, false, false, true, true, false}), "a > b");
  EXPECT_EQ(find_condition(shapes, {true, true, true, true, true, true}), "");
  EXPECT_EQ(find_condition(shapes, {false, true, false, false, true, true}), std::nullopt);
}

TEST(WithoutCommonParts, LeavesWhatTwoFormulasDifferIn) {
  const auto axis = [](const char* name) { return Expression::axis(name); };
  const auto times = [](Size k, std::vector<Expression> factors) {
    factors.insert(factors.begin(), Expression(k));
    return Expression::multiply(std::move(factors));
  };
  const Expression one =
      Expression::add({times(4, {axis("ny"), axis("nx")}), times(8, {axis("ny"), axis("n")})});
  const Expression other =
      Expression::add({times(4, {axis("ny"), axis("nx")}), times(4, {axis("ny"), axis("w")})});
  const auto [more, less] = without_common_parts(one, other);
  EXPECT_EQ(to_text(more), "2 * n");
  EXPECT_EQ(to_text(less), "w");
}

}  // namespace
}  // namespace peakmark
