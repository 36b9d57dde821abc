#include "analyse/explain/derive/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "analyse/explain/derive/sample_programs.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Shape = StackShape;

// A program that processes a stack in chunks of slices, as pipelines do.
Recorded record(const Shape& shape) {
  const auto& [n, chunk, ny, nx] = shape;
  Size padded = 1;
  while (padded < 2 * nx) padded *= 2;
  Program program;
  program.allocate("stack", "inputs", 4 * n * ny * nx);
  program.allocate("result", "outputs", 4 * ny * nx);
  program.allocate("plan", "setup", 8 * padded);
  for (Size done = 0; done < n; done += chunk) {
    const Size slices = std::min(chunk, n - done);
    const auto lines = program.allocate("chunk", "call 1", 8 * slices * ny * padded);
    const auto spectrum = program.allocate("spectrum", "call 1", 8 * slices * ny * (padded / 2 + 1));
    program.release(lines);
    program.release(spectrum);
  }
  if (nx % 2 == 1) program.release(program.allocate("odd columns", "call 1", 16 * n * ny * nx));
  return program.recorded();
}

std::vector<Shape> chosen_shapes() {
  const Shape base{17, 3, 31, 41};
  std::vector<Shape> shapes{base};
  const std::array<Size Shape::*, 4> axes{&Shape::n, &Shape::chunk, &Shape::ny, &Shape::nx};
  for (const auto axis : axes) {
    for (const Size step : {1, 3, 4, 11, 29, 60}) {
      shapes.push_back(base);
      shapes.back().*axis += step;
    }
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = a + 1; b < axes.size(); ++b) {
      shapes.push_back(base);
      shapes.back().*axes[a] += 13;
      shapes.back().*axes[b] += 22;
    }
  }
  std::mt19937_64 random(7);
  const auto draw = [&](Size min, Size count) {
    return min + static_cast<Size>(random() % static_cast<std::uint64_t>(count));
  };
  for (int i = 0; i < 12; ++i) shapes.push_back({draw(5, 60), draw(1, 9), draw(3, 100), draw(3, 100)});
  return shapes;
}

/// Explains what `recorded` returns for each shape.
template <typename Recorded>
Explanation explained(const std::vector<Shape>& shapes, const Recorded& recorded) {
  std::vector<AllocationSequence> sequences;
  sequences.reserve(shapes.size());
  for (const Shape& shape : shapes) sequences.push_back(recorded(shape).sequence);
  return explain(as_axes(shapes), {sequences.begin(), sequences.end()});
}
Explanation explained(const std::vector<Shape>& shapes) {
  return explained(shapes, record);
}

Size at(const Expression& formula, const Shape& shape) {
  return formula.evaluate([&](const std::string& axis) {
    if (axis == "n") return shape.n;
    if (axis == "chunk") return shape.chunk;
    return axis == "ny" ? shape.ny : shape.nx;
  });
}

std::vector<std::string> bytes_of(const Explanation& explanation, std::string_view name) {
  std::vector<std::string> texts;
  for (const ExplainedAllocation& allocation : explanation.allocations) {
    if (allocation.name == name)
      texts.push_back(allocation.bytes.formula ? to_text(*allocation.bytes.formula) : "?");
  }
  return texts;
}

TEST(Explain, EveryAllocationOfAChunkedProgramHasItsFormula) {
  const Explanation explanation = explained(chosen_shapes());
  EXPECT_EQ(explanation.unexplained_bytes, 0);
  EXPECT_THAT(bytes_of(explanation, "stack"), ElementsAre("4 * n * ny * nx"));
  EXPECT_THAT(bytes_of(explanation, "result"), ElementsAre("4 * ny * nx"));
  EXPECT_THAT(bytes_of(explanation, "plan"), ElementsAre("16 * next_pow2(nx)"));
  EXPECT_THAT(bytes_of(explanation, "odd columns"), ElementsAre("16 * n * ny * nx"));
  EXPECT_EQ(bytes_of(explanation, "chunk").size(), 2) << "those of whole chunks, and the last";
  EXPECT_THAT(explanation.notes, IsEmpty());
}

TEST(Explain, ThePeakIsDerivedAndExactAtShapesThatWereNotRecorded) {
  const Explanation explanation = explained(chosen_shapes());
  const auto peak = explanation.peak();
  ASSERT_TRUE(peak);
  EXPECT_GE(explanation.held_out * 3, explanation.fitted);
  std::mt19937_64 random(1);
  const auto draw = [&](std::uint64_t count) { return 1 + static_cast<Size>(random() % count); };
  for (int i = 0; i < PEAKMARK_UNSEEN_SHAPES; ++i) {
    const Shape shape{draw(200), draw(300), draw(2000), draw(20'000)};
    ASSERT_EQ(at(*peak, shape), record(shape).peak)
        << shape.n << " slices by " << shape.chunk << ", " << shape.ny << " x " << shape.nx << ": "
        << to_text(*peak);
  }
}

// The first temporary has a fixed size. The second grows with the square of the width: only widths from 513
// on make it the larger one, and the recorded widths are 41 to 103.
TEST(Explain, AMomentThatIsThePeakOnlyBeyondTheRecordedShapesIsInTheFormula) {
  const std::vector<Shape> shapes = chosen_shapes();
  const auto record = [](const Shape& shape) {
    Program program;
    program.allocate("image", "inputs", 4 * shape.ny * shape.nx);
    program.release(program.allocate("workspace", "call 1", 1 << 20));
    program.release(program.allocate("half", "call 1", 2 * shape.nx * shape.nx));
    program.release(program.allocate("square", "call 1", 4 * shape.nx * shape.nx));
    program.release(program.allocate("line", "call 1", 4 * shape.nx));
    return program.recorded();
  };
  const Explanation explanation = explained(shapes, record);
  const auto peak = explanation.peak();
  ASSERT_TRUE(peak);
  EXPECT_EQ(to_text(*peak), "max(4 * ny * nx + 1048576, 4 * ny * nx + 4 * nx * nx)");
  for (const Size nx : {1, 41, 512, 513, 100'000}) {
    const Shape shape{1, 1, 7, nx};
    EXPECT_EQ(at(*peak, shape), record(shape).peak) << nx;
  }
  ASSERT_EQ(explanation.moments.size(), 2);
  EXPECT_EQ(explanation.moments[0].shapes.size(), shapes.size());
  EXPECT_TRUE(explanation.moments[0].example.axes.empty());
  EXPECT_THAT(explanation.moments[1].shapes, IsEmpty());
  EXPECT_THAT(explanation.moments[1].example.axis("nx")->values, ElementsAre(513));
}

// A table without a formula is live at the same time as the square, which is never the peak at recorded
// shapes.
TEST(Explain, AnUnknownMomentBeyondTheRecordedShapesIsANote) {
  const std::vector<Shape> shapes = chosen_shapes();
  std::mt19937_64 random(9);
  const Explanation explanation = explained(shapes, [&](const Shape& shape) {
    Program program;
    program.release(program.allocate("workspace", "call 1", 1 << 20));
    const auto table = program.allocate("table", "call 1", 1 + static_cast<Size>(random() % 1000));
    program.release(program.allocate("square", "call 1", 4 * shape.nx * shape.nx));
    program.release(table);
    return program.recorded();
  });
  ASSERT_TRUE(explanation.peak());
  EXPECT_EQ(to_text(*explanation.peak()), "1048576");
  EXPECT_THAT(explanation.notes,
              Contains(HasSubstr("at other shapes the peak may be at a moment with table")));
}

// As above, but the size of the image is known wherever it exists, and only the shapes at which it exists are
// unknown.
TEST(Explain, AMomentOfUnknownShapesBeyondTheRecordedOnesIsANote) {
  const std::vector<Shape> shapes = chosen_shapes();
  const Explanation explanation = explained(shapes, [](const Shape& shape) {
    Program program;
    program.release(program.allocate("workspace", "call 1", 1 << 20));
    if (shape.ny > 40) program.release(program.allocate("image", "call 1", 4 * shape.nx * shape.nx));
    return program.recorded();
  });
  ASSERT_TRUE(explanation.peak());
  EXPECT_EQ(to_text(*explanation.peak()), "1048576");
  EXPECT_THAT(explanation.unknown_beyond, ElementsAre("image"));
  EXPECT_THAT(explanation.notes,
              Contains(HasSubstr("at other shapes the peak may be at a moment with image")));
}

// The image is the peak for large even widths, and the image with the odd columns for large odd widths.
// Neither is the peak at a recorded shape.
TEST(Explain, AMomentThatOccursAtSomeShapesOnlyIsInTheFormulaBeyondThem) {
  const std::vector<Shape> shapes = chosen_shapes();
  const auto record = [](const Shape& shape) {
    Program program;
    program.release(program.allocate("workspace", "call 1", 1 << 20));
    program.allocate("image", "call 1", 4 * shape.nx * shape.nx);
    if (shape.nx % 2 == 1) program.allocate("odd columns", "call 1", 8 * shape.nx);
    return program.recorded();
  };
  const Explanation explanation = explained(shapes, record);
  const auto peak = explanation.peak();
  ASSERT_TRUE(peak);
  for (const Size nx : {2, 41, 511, 512, 513, 4098, 4099}) {
    const Shape shape{1, 1, 7, nx};
    EXPECT_EQ(at(*peak, shape), record(shape).peak) << nx << ": " << to_text(*peak);
  }
}

// A program drawn from a seed: arrays that live to its end, a loop over chunks of slices, a copy for odd
// widths, and temporaries one after the other. Some temporaries have a fixed size that only large shapes
// exceed.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    kept_ = draw_arrays(1 + pick(3));
    in_loop_ = draw_arrays(1 + pick(2));
    has_odd_copy_ = pick(2) == 0;
    temporaries_ = draw_arrays(pick(4));
    for (SampleArray& one : temporaries_) {
      if (pick(3) == 0) one = {Size{1} << (12 + pick(20)), 6};
    }
  }

  [[nodiscard]] Recorded run(const Shape& shape) const {
    Program program;
    for (std::size_t i = 0; i < kept_.size(); ++i)
      program.allocate(kNames[i], "inputs", kept_[i].bytes(shape, shape.n));
    for (Size done = 0; done < shape.n; done += shape.chunk) {
      const Size slices = std::min(shape.chunk, shape.n - done);
      std::vector<std::size_t> live;
      live.reserve(in_loop_.size());
      for (std::size_t i = 0; i < in_loop_.size(); ++i)
        live.push_back(program.allocate(kNames[i], "call 1", in_loop_[i].bytes(shape, slices)));
      for (const std::size_t one : live) program.release(one);
    }
    if (has_odd_copy_ && shape.nx % 2 == 1)
      program.release(program.allocate("odd columns", "call 2", 8 * shape.n * shape.ny * (shape.nx + 1)));
    for (std::size_t i = 0; i < temporaries_.size(); ++i)
      program.release(program.allocate(kNames[i], "call 2", temporaries_[i].bytes(shape, shape.n)));
    return program.recorded();
  }

 private:
  static constexpr std::array<const char*, 4> kNames{"first", "second", "third", "fourth"};

  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  std::vector<SampleArray> draw_arrays(std::size_t count) {
    std::vector<SampleArray> arrays(count);
    for (SampleArray& one : arrays) one = {Size{4} << pick(3), pick(6)};
    return arrays;
  }

  std::mt19937_64 random_;
  std::vector<SampleArray> kept_, in_loop_, temporaries_;
  bool has_odd_copy_ = false;
};

TEST(Explain, ThePeakOfProgramsDrawnAtRandomIsExactAtUnseenShapes) {
  const std::vector<Shape> shapes = chosen_shapes();
  Fitters fitters(as_axes(shapes));
  std::mt19937_64 random(3);
  const auto draw = [&](std::uint64_t count) { return 1 + static_cast<Size>(random() % count); };
  std::vector<Shape> unseen(PEAKMARK_UNSEEN_SHAPES);
  for (std::size_t i = 0; i < unseen.size(); ++i) {
    const Size chunk = draw(9);
    unseen[i] = {chunk + draw(64), chunk, draw(100), draw(100)};
    // Half of the shapes are up to 500 times as long as the recorded ones.
    if (i % 2 == 1) unseen[i] = {draw(300), draw(400), draw(50'000), draw(50'000)};
  }
  const Shapes unseen_axes = as_axes(unseen);
  for (std::uint64_t seed = 0; seed < PEAKMARK_RANDOM_FORMULAS / 5; ++seed) {
    SCOPED_TRACE(seed);
    const RandomProgram program(seed);
    std::vector<AllocationSequence> sequences;
    sequences.reserve(shapes.size());
    for (const Shape& shape : shapes) sequences.push_back(program.run(shape).sequence);
    const auto peak = explain(fitters, {sequences.begin(), sequences.end()}).peak();
    ASSERT_TRUE(peak);
    const auto values = evaluate(*peak, unseen_axes);
    ASSERT_TRUE(values);
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      ASSERT_EQ((*values)[i], program.run(unseen[i]).peak)
          << unseen[i].n << " slices by " << unseen[i].chunk << ", " << unseen[i].ny << " x " << unseen[i].nx
          << ": " << to_text(*peak);
    }
  }
}

TEST(Explain, WhatHasNoFormulaStaysANumber) {
  const std::vector<Shape> shapes = chosen_shapes();
  std::mt19937_64 random(9);
  std::vector<AllocationSequence> sequences;
  Size largest = 0;
  for (const Shape& shape : shapes) {
    sequences.push_back(record(shape).sequence);
    const Size bytes = 1 + static_cast<Size>(random() % 1000);
    largest = std::max(largest, bytes);
    sequences.back().push_back({"workspace", "setup", "", bytes, -1, std::nullopt});  // before all others
  }
  const Explanation explanation = explain(as_axes(shapes), {sequences.begin(), sequences.end()});
  EXPECT_THAT(bytes_of(explanation, "workspace"), ElementsAre("?"));
  EXPECT_EQ(explanation.unexplained_bytes, largest);

  // The peak is known up to these bytes at each shape.
  EXPECT_FALSE(explanation.peak());
  const Shapes axes = as_axes(shapes);
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
    Size peak = 0;
    for (const PeakMoment& moment : explanation.moments) {
      peak = std::max(peak, moment.bytes.evaluate([&](const std::string& name) {
        const auto axis = std::ranges::find(axes.axes, name, &Shapes::Axis::name);
        return axis == axes.axes.end() ? sequences[shape].back().bytes : axis->values[shape];
      }));
    }
    EXPECT_EQ(peak, peak_bytes(sequences[shape])) << shape;
  }
}

// The rounds of a loop differ in size, and the shape decides how many there are: the size of the first round
// is not the size of all.
TEST(Explain, RoundsOfDifferentSizesHaveNoFormula) {
  const std::vector<Shape> shapes = chosen_shapes();
  std::vector<AllocationSequence> sequences;
  for (const Shape& shape : shapes) {
    Program program;
    for (Size i = 0; i < shape.n; ++i) program.allocate("round", "call 1", 4 * shape.nx + 16 * i);
    sequences.push_back(program.recorded().sequence);
  }
  const Explanation explanation = explain(as_axes(shapes), {sequences.begin(), sequences.end()});
  EXPECT_THAT(bytes_of(explanation, "round"), Contains("?"));
  EXPECT_GT(explanation.unexplained_bytes, 0);
  EXPECT_FALSE(explanation.peak());
}

// There are 4,000 temporaries, each with a different size, so each is a separate moment.
TEST(Explain, ManyMomentsTakeLittleMemory) {
  const std::vector<Shape> shapes = chosen_shapes();
  std::vector<AllocationSequence> sequences;
  sequences.reserve(shapes.size());
  for (const Shape& shape : shapes) {
    Program program;
    program.allocate("image", "inputs", 4 * shape.ny * shape.nx);
    for (Size i = 0; i < 4000; ++i)
      program.release(program.allocate("temporary", "call 1", 8 * shape.nx + i % 1000));
    sequences.push_back(program.recorded().sequence);
  }
  const auto peak = explain(as_axes(shapes), {sequences.begin(), sequences.end()}).peak();
  ASSERT_TRUE(peak);
  EXPECT_EQ(to_text(*peak), "4 * ny * nx + 8 * nx + 999");
}

// The program holds partial sums of a reduction, at most 65,536 of them.
TEST(Explain, FindsBytesThatStopGrowing) {
  const std::vector<Shape> shapes = chosen_shapes();
  std::vector<AllocationSequence> sequences;
  std::vector<Size> bounded;
  for (const Shape& shape : shapes) bounded.push_back(4 * shape.n * shape.ny * shape.nx);
  std::vector<Size> sorted = bounded;
  std::ranges::sort(sorted);
  const Size bound = sorted[sorted.size() * 3 / 4];
  for (Size& bytes : bounded) {
    bytes = std::min(bytes, bound);
    sequences.push_back({{"partial sums", "call 1", "", bytes, 0, std::nullopt}});
  }
  EXPECT_THAT(bytes_of(explain(as_axes(shapes), {sequences.begin(), sequences.end()}), "partial sums"),
              ElementsAre("min(4 * n * ny * nx, " + std::to_string(bound) + ")"));
}

TEST(Explain, NamesAnAxisThatNeverVaries) {
  std::vector<Shape> shapes = chosen_shapes();
  for (Shape& shape : shapes) shape.chunk = 3;
  EXPECT_THAT(explained(shapes).notes,
              ElementsAre(HasSubstr("chunk=3 at every shape: formulas do not show the effect of this axis")));
}

TEST(Explain, TooFewShapesGiveNumbersOnly) {
  const Explanation explanation = explained({{5, 2, 30, 40}, {6, 2, 30, 40}});
  EXPECT_FALSE(explanation.peak());
  EXPECT_THAT(explanation.notes, Contains(HasSubstr("2 shapes recorded: at least 6 are needed")));
}

TEST(Explain, RefusesSequencesOfOtherShapes) {
  const AllocationSequence one;
  EXPECT_THROW(explain({{{"n", {1, 2}}}}, {one}), UsageError);
}

TEST(Explain, OfEvenLengthsANoteAsksForOthers) {
  std::vector<Shape> shapes;
  for (const Size ny : {31, 33, 44}) {
    for (const Size nx : {64, 66, 128}) shapes.push_back({8, 4, ny, nx});
  }
  EXPECT_THAT(explained(shapes).notes,
              Contains(HasSubstr("nx is even at every shape: lengths that the program rounds")));
  for (Shape& shape : shapes) shape.ny *= 3;
  EXPECT_THAT(explained(shapes).notes,
              Contains(HasSubstr("ny is a multiple of 3, nx is even at every shape")));
  shapes.front().nx = 65;
  EXPECT_THAT(explained(shapes).notes, testing::Not(Contains(HasSubstr("nx is even"))));
}

}  // namespace
}  // namespace peakmark
