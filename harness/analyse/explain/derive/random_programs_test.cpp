#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "analyse/explain/derive/explain.hpp"
#include "analyse/explain/derive/sample_programs.hpp"
#include "measure/sweep/choose_shapes.hpp"
#include "measure/sweep/formula.hpp"

// Programs drawn from a seed, with memory patterns that real programs have. What `explain` prints about them
// is right at shapes that were not recorded, or it prints no formula.
namespace peakmark::random_programs {
namespace {

using Shape = StackShape;
constexpr auto& kAxes = kStackAxes;

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    const std::size_t count = 2 + pick(4);
    for (std::size_t i = 0; i < count; ++i) parts_.push_back(draw_part(i));
  }

  [[nodiscard]] Recorded run(const Shape& shape) const {
    Program program;
    for (const Part& part : parts_) run_part(program, part, shape);
    return program.recorded();
  }

  [[nodiscard]] std::string text() const {
    static constexpr std::array<const char*, 9> kKinds{"kept",
                                                       "temporary",
                                                       "loop",
                                                       "loop of constant chunks",
                                                       "kept chunks",
                                                       "limited",
                                                       "from a threshold",
                                                       "other size from a threshold",
                                                       "odd"};
    std::string text;
    for (const Part& one : parts_)
      text += fmt::format("{}: {} x{}, {}·form {} ({}·form {}), limit {} of {}{}\n", one.name,
                          kKinds[static_cast<std::size_t>(one.kind)], one.copies, one.array.element,
                          one.array.form, one.other.element, one.other.form, one.limit, kAxes[one.axis].first,
                          one.process.empty() ? "" : ", other process");
    return text;
  }

 private:
  enum class Kind : std::uint8_t {
    kept,
    temporary,
    loop,           // over chunks of `chunk` slices, each released
    constant_loop,  // the same of `limit` slices
    kept_chunks,    // of `limit` slices, all live at once
    limited,        // one buffer of min(n, limit) slices
    from,           // there where an axis has `limit` or more
    other_from,     // another size there
    odd,            // there if nx is odd
    count,
  };
  struct Part {
    std::string name;
    std::string phase;
    std::string process;
    Kind kind = Kind::kept;
    std::size_t copies = 1;
    SampleArray array;
    SampleArray other;
    Size limit = 0;
    std::size_t axis = 0;
  };

  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  template <std::size_t count>
  Size pick_of(const std::array<Size, count>& values) {
    return values[pick(count)];
  }

  SampleArray draw_array() {
    SampleArray array{pick_of<8>({4, 4, 8, 8, 16, 12, 1023, 1337}), pick(8)};
    if (array.form == 6) array.element = 4097;
    return array;
  }
  Part draw_part(std::size_t index) {
    Part part;
    part.name = fmt::format("array {}", index);
    part.phase = index == 0 ? "inputs" : "call 1";
    if (pick(5) == 0) part.process = "worker.py";
    part.kind = static_cast<Kind>(pick(static_cast<std::size_t>(Kind::count)));
    part.copies = pick(4) == 0 ? 2 + pick(3) : 1;
    part.array = draw_array();
    part.other = draw_array();
    part.axis = std::array<std::size_t, 3>{0, 2, 3}[pick(3)];
    part.limit = part.kind == Kind::from || part.kind == Kind::other_from
                     ? pick_of<7>({8, 24, 40, 64, 100, 1024, 2048})
                     : pick_of<6>({2, 5, 7, 16, 32, 64});
    return part;
  }

  static void run_part(Program& program, const Part& part, const Shape& shape) {
    const auto allocate = [&](const SampleArray& array, Size slices) {
      std::vector<std::size_t> live;
      for (std::size_t i = 0; i < part.copies; ++i)
        live.push_back(program.allocate(part.name, part.phase, array.bytes(shape, slices), part.process));
      return live;
    };
    const auto release = [&](const std::vector<std::size_t>& live) {
      for (const std::size_t one : live) program.release(one);
    };
    const auto in_chunks = [&](Size chunk, const auto& visit) {
      for (Size done = 0; done < shape.n; done += chunk) visit(std::min(chunk, shape.n - done));
    };
    const Size length = shape.*kAxes[part.axis].second;
    switch (part.kind) {
      case Kind::kept:
        allocate(part.array, shape.n);
        break;
      case Kind::temporary:
        release(allocate(part.array, shape.n));
        break;
      case Kind::loop:
        in_chunks(shape.chunk, [&](Size slices) { release(allocate(part.array, slices)); });
        break;
      case Kind::constant_loop:
        in_chunks(part.limit, [&](Size slices) { release(allocate(part.array, slices)); });
        break;
      case Kind::kept_chunks:
        in_chunks(part.limit, [&](Size slices) { allocate(part.array, slices); });
        break;
      case Kind::limited:
        allocate(part.array, std::min(shape.n, part.limit));
        break;
      case Kind::from:
        if (length >= part.limit) allocate(part.array, shape.n);
        break;
      case Kind::other_from:
        allocate(length >= part.limit ? part.other : part.array, shape.n);
        break;
      case Kind::odd:
      case Kind::count:
        if (shape.nx % 2 == 1) release(allocate(part.array, shape.n));
        break;
    }
  }

  std::mt19937_64 random_;
  std::vector<Part> parts_;
};

// The shapes as `explain` chooses them: small ones for fitting, and held-out ones, among them long and large
// ones.
std::vector<Shape> chosen_shapes() {
  VariantDescription variant;
  for (const auto& [axis, member] : kAxes) variant.axes.push_back({axis, Size{64}, {}, 1, ""});
  ShapeChooser chooser(variant, {});
  const Parameters base = chooser.bases().front();
  chooser.set_base(base);
  std::vector<Parameters> fitted{base};
  const ShapeCounts counts = shape_counts(variant, false);
  while (fitted.size() < counts.fitted) fitted.push_back(chooser.next_fitted().value());
  std::vector<Parameters> held_out;
  for (const char* const axis : {"n", "ny", "nx"}) held_out.push_back(chooser.lengthened(axis, 4099).value());
  for (const double factor : {4, 16}) held_out.push_back(chooser.scaled(factor, false).value());
  while (held_out.size() < counts.held_out) held_out.push_back(chooser.next_held_out().value());
  std::vector<Shape> shapes;
  for (const Parameters& one : with_held_out(fitted, held_out)) {
    shapes.emplace_back();
    for (const auto& [axis, member] : kAxes) shapes.back().*member = one.integer(axis);
  }
  return shapes;
}

// Shapes within the range of the recorded ones. Short lengths are as frequent as long ones.
std::vector<Shape> shapes_within(const std::vector<Shape>& recorded, std::size_t count) {
  std::mt19937_64 random(3);
  std::vector<Shape> shapes(count);
  for (const auto& [name, member] : kAxes) {
    const auto [min, max] = std::ranges::minmax(recorded, {}, member);
    const double low = std::log(static_cast<double>(min.*member));
    const double high = std::log(static_cast<double>(max.*member));
    std::uniform_real_distribution<double> draw(low, high);
    for (Shape& shape : shapes) shape.*member = static_cast<Size>(std::lround(std::exp(draw(random))));
  }
  return shapes;
}

TEST(RandomPrograms, APeakWithAFormulaIsExactAtUnseenShapesInTheRange) {
  const std::vector<Shape> recorded = chosen_shapes();
  const std::vector<Shape> unseen = shapes_within(recorded, PEAKMARK_UNSEEN_SHAPES / 50);
  const Shapes unseen_axes = as_axes(unseen);
  Fitters fitters(as_axes(recorded));
  int with_formula = 0;
  for (std::uint64_t seed = 0; seed < PEAKMARK_RANDOM_FORMULAS; ++seed) {
    const RandomProgram program(seed);
    std::vector<AllocationSequence> sequences;
    sequences.reserve(recorded.size());
    for (const Shape& shape : recorded) sequences.push_back(program.run(shape).sequence);
    const Explanation explanation = explain(fitters, {sequences.begin(), sequences.end()});
    const auto peak = explanation.peak();
    if (!peak || !explanation.unknown_beyond.empty()) continue;
    ++with_formula;
    const auto values = evaluate(*peak, unseen_axes);
    EXPECT_EQ(evaluate(Formula(to_text(*peak)).expression(), unseen_axes), values) << to_text(*peak);
    for (std::size_t i = 0; i < unseen.size(); ++i) {
      const Size expected = program.run(unseen[i]).peak;
      if (values && (*values)[i] == expected) continue;
      ADD_FAILURE() << "seed " << seed << " at n=" << unseen[i].n << " chunk=" << unseen[i].chunk
                    << " ny=" << unseen[i].ny << " nx=" << unseen[i].nx << ": " << to_text(*peak) << " is "
                    << (values ? (*values)[i] : -1) << " instead of " << expected << "\n"
                    << program.text();
      break;
    }
  }
  EXPECT_GE(with_formula, PEAKMARK_RANDOM_FORMULAS / 6) << "programs with a formula";
}

}  // namespace
}  // namespace peakmark::random_programs
