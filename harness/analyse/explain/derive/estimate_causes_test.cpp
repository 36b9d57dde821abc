#include "analyse/explain/derive/estimate_causes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "analyse/explain/report/reports.hpp"
#include "analyse/explain/search/conditions.hpp"
#include "analyse/explain/search/formula_algebra.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string formula(const EstimateCause& cause) {
  return cause.bytes ? to_text(*cause.bytes, ExpressionStyle::display) : "?";
}

// An estimator of the filter's bytes, with one mistake each.
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
    return find_causes(variant_.cases[0], estimated);
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
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::difference);
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
  const auto found = find_causes(variant_.cases[0], estimated);
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

TEST_F(WrongEstimator, MixedSignsWithoutACauseAreADifference) {
  const auto found = causes([](const SampleAxes& s) {
    return images(s) + plan(s) + weights(s) + copy(s) + (s.n % 2 == 0 ? 1 : -1) * 777 * (s.nx % 5 + 1);
  });
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, EstimateCause::Kind::difference);
  EXPECT_TRUE(found[0].is_mixed);
  EXPECT_THAT(cause_line(variant_, found[0]), HasSubstr("off: no cause found"));
}

// A program with each pattern that a cause can name: four equal arrays from one line, a padded array, a
// float64 table of one axis, and a copy for odd widths. It has two dtypes.
struct PlantedShape {
  Size n, ny, nx, pad, item;
};
// The bytes as an estimator counts them.
struct PlantedBytes {
  Size works, paddeds;  // how many
  Size work, padded, table, copy;
  [[nodiscard]] Size total() const { return works * work + paddeds * padded + table + copy; }
};
PlantedBytes planted_bytes(const PlantedShape& s) {
  constexpr Size kDetector = 1024;  // so that large shapes exceed 32 bits
  return {4,
          1,
          s.item * s.n * s.ny * s.nx * kDetector,
          s.item * s.n * (s.ny + 2 * s.pad) * (s.nx + 2 * s.pad),
          8 * s.n * s.ny,
          s.nx % 2 == 1 ? 12 * s.n * s.nx : 0};
}

Observation planted_observation(const PlantedShape& s) {
  Observation observation = sample_observation("planted/all", {s.n, s.ny, s.nx, s.pad, 0},
                                               {{"dtype", s.item == 4 ? "f32" : "f64"}});
  const PlantedBytes bytes = planted_bytes(s);
  SequenceRecorder recorder;
  for (int i = 0; i < 4; ++i) recorder.allocate("", "", "synth.py:14", bytes.work);
  recorder.allocate("padded", "", "synth.py:20", bytes.padded);
  recorder.allocate("table", "", "synth.py:30", bytes.table);
  if (bytes.copy > 0) recorder.allocate("copy", "", "synth.py:40", bytes.copy);
  recorder.finish(observation);
  return observation;
}

// A mistake may be in the axes before the bytes are computed, in single allocations, or in the sum.
struct Planted {
  const char* text;  // of its cause
  std::function<void(PlantedShape&)> axes = {};
  std::function<void(PlantedBytes&, const PlantedShape&)> bytes = {};
  std::function<Size(Size)> total = {};
};

const std::vector<Planted>& planted() {
  using Bytes = PlantedBytes;
  using Axes = PlantedShape;
  static const std::vector<Planted> all{
      {"missing: 1 of 4 allocations of 1024·n·ny·nx·itemsize, synth.py:14",
       {},
       [](Bytes& b, const Axes&) { b.works = 3; }},
      {"missing: 8·n·ny, table, synth.py:30", {}, [](Bytes& b, const Axes&) { b.table = 0; }},
      {"padded, synth.py:20: counted twice", {}, [](Bytes& b, const Axes&) { b.paddeds = 2; }},
      {"missing: 12·n·nx when nx is odd, copy, synth.py:40", {}, [](Bytes& b, const Axes&) { b.copy = 0; }},
      {"table, synth.py:30: counted with 1/2 of its element size",
       {},
       [](Bytes& b, const Axes&) { b.table /= 2; }},
      {"all allocations: counted with 4 bytes per element, whatever the dtype", [](Axes& s) { s.item = 4; }},
      {"counted as if pad_y were 0", [](Axes& s) { s.pad = 0; }},
      {"table, synth.py:30: counted with nx instead of ny",
       {},
       [](Bytes& b, const Axes& s) { b.table = 8 * s.n * s.nx; }},
      {"table, synth.py:30: counted once instead of n times",
       {},
       [](Bytes& b, const Axes& s) { b.table /= s.n; }},
      {"padded, synth.py:20: rounded up to a multiple of 512, which the program does not do",
       {},
       [](Bytes& b, const Axes&) { b.padded = (b.padded + 511) / 512 * 512; }},
      {"computed in 32 bits: bytes from 2³² on are lost", {}, {}, [](Size bytes) {
         return bytes % (Size{1} << 32);
       }}};
  return all;
}

class PlantedMistakes : public testing::Test {
 protected:
  std::vector<EstimateCause> causes(const std::vector<Planted>& mistakes) {
    estimated_ = {};
    for (std::size_t shape = 0; shape < cases().shapes.count(); ++shape) {
      const auto axis = [&](const char* name) { return cases().shapes.axis(name)->values[shape]; };
      PlantedShape axes{axis("n"), axis("ny"), axis("nx"), axis("pad_y"), axis("itemsize")};
      for (const Planted& one : mistakes) {
        if (one.axes) one.axes(axes);
      }
      PlantedBytes bytes = planted_bytes(axes);
      for (const Planted& one : mistakes) {
        if (one.bytes) one.bytes(bytes, axes);
      }
      Size total = bytes.total();
      for (const Planted& one : mistakes) {
        if (one.total) total = one.total(total);
      }
      estimated_.bytes.emplace_back(total);
    }
    return find_causes(cases(), estimated_);
  }

  // At every shape, the estimate and its causes add up to the recorded bytes.
  void expect_arithmetic(const std::vector<EstimateCause>& causes) {
    for (std::size_t shape = 0; shape < cases().shapes.count(); ++shape) {
      Size sum = *estimated_.bytes[shape];
      for (const EstimateCause& cause : causes) {
        sum += cause.is_too_high ? -cause.recorded[shape] : cause.recorded[shape];
        if (!cause.bytes || (!cause.condition.empty() && cause.recorded[shape] == 0)) continue;
        EXPECT_EQ(evaluate(*cause.bytes, cases().shapes, shape), cause.recorded[shape])
            << cause_line(variant_, cause);
      }
      EXPECT_EQ(sum, cases().peaks[shape]);
    }
  }

  std::string text(const std::vector<EstimateCause>& causes) {
    std::string lines;
    for (const EstimateCause& cause : causes) lines += cause_line(variant_, cause) + "\n";
    return lines;
  }

  [[nodiscard]] const RecordedCases& cases() const { return variant_.cases[0]; }

  const peakmark::Run run_ = sample_explained_run([](peakmark::Run& run, const SampleAxes& shape) {
    for (const Size item : {4, 8}) {
      run.observations.push_back(planted_observation({shape.n, shape.ny, shape.nx, shape.pad_y, item}));
      if (shape.n > 12)
        run.observations.push_back(
            planted_observation({40 * shape.n, 20 * shape.ny, shape.nx, shape.pad_y, item}));
    }
  });
  const VariantFormulas variant_ = explain_cases(group_cases(run_)).front();
  EstimatedCases estimated_;
};

TEST_F(PlantedMistakes, EachIsNamed) {
  for (const Planted& one : planted()) {
    const auto found = causes({one});
    EXPECT_EQ(found.size(), 1U) << text(found);
    EXPECT_THAT(text(found), HasSubstr(one.text));
    expect_arithmetic(found);
  }
}

TEST_F(PlantedMistakes, EachPairIsExplainedAndAddsUp) {
  for (std::size_t a = 0; a < planted().size(); ++a) {
    for (std::size_t b = a + 1; b < planted().size(); ++b) {
      SCOPED_TRACE(std::string(planted()[a].text) + " | " + planted()[b].text);
      const auto found = causes({planted()[a], planted()[b]});
      EXPECT_THAT(found, testing::Not(testing::Contains(
                             testing::Field(&EstimateCause::kind, EstimateCause::Kind::difference))))
          << text(found);
      expect_arithmetic(found);
    }
  }
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
  EXPECT_EQ(find_condition(shapes, {false, false, false, false, true, false}), std::nullopt)
      << "a single shape";
  const Shapes flags{{{"half", {0, 0, 1, 1, 1, 0}}, {"nx", {4, 5, 4, 6, 7, 9}}}};
  EXPECT_EQ(find_condition(flags, {false, false, true, true, true, false}), "half is 1");
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
