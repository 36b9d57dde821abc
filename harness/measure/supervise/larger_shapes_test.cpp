#include "measure/supervise/larger_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace peakmark {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// A variant that needs 4·n·ny·nx bytes.
class Larger : public testing::Test {
 protected:
  Larger() : chooser_(variant(), {}) {
    Parameters base = chooser_.bases().front();
    base.set("flag", Size{0});
    chooser_.set_base(base);
    small_.push_back(measured(base));
    for (int i = 0; i < 20; ++i) small_.push_back(measured(chooser_.next_fitted().value()));
  }
  static VariantDescription variant() {
    VariantDescription description;
    description.axes = {{"n", Size{16}, {}, 1, ""},
                        {"ny", Size{64}, {}, 1, ""},
                        {"nx", Size{80}, {}, 1, ""},
                        {"flag", Size{0}, {}, 0, ""}};
    return description;
  }
  static Size elements(const Parameters& shape) {
    return shape.integer("n") * shape.integer("ny") * shape.integer("nx");
  }
  Observation measured(const Parameters& shape) const {
    Observation observation;
    observation.axes = shape;
    observation.seconds = 0.2 + seconds_per_element_ * static_cast<double>(elements(shape));
    observation.allocation_sequence = {{"input", "inputs", "", 4 * elements(shape), 0, std::nullopt}};
    return observation;
  }
  std::vector<Observation> record(LargerShapes::Limits limits, std::optional<Parameters> wanted = {}) {
    LargerShapes larger(chooser_, small_, limits, std::move(wanted));
    for (auto shapes = larger.next(); !shapes.empty(); shapes = larger.next()) {
      for (const Parameters& shape : shapes) {
        Observation observation = measured(shape);
        if (refuses_(shape)) observation.outcome = Outcome::unsupported;
        larger.take(shape, std::move(observation));
      }
    }
    return std::move(larger).recorded();
  }
  static LargerShapes::Limits limits() { return {{Size{1} << 30, 5}, {Size{1} << 34, 30}, 12, false}; }

  double seconds_per_element_ = 1e-9;
  std::function<bool(const Parameters&)> refuses_ = [](const Parameters&) { return false; };
  ShapeChooser chooser_;
  std::vector<Observation> small_;
};

TEST_F(Larger, EachAxisIsLongAloneAndAllGrowToTheLimitOfMemory) {
  const std::vector<Observation> recorded = record(limits());
  for (const char* const axis : {"n", "ny", "nx"}) {
    EXPECT_TRUE(std::ranges::any_of(recorded, [&](const Observation& one) {
      return one.axes.integer(axis) > 2000 && elements(one.axes) < 2'000'000;
    })) << axis;
  }
  EXPECT_LE(4 * elements(recorded.front().axes), Size{11} << 27) << "the prediction is no bound";
  EXPECT_GE(4 * elements(recorded.front().axes), Size{1} << 29);
  for (const Observation& one : recorded) EXPECT_EQ(one.axes.integer("flag"), 0);
}

TEST_F(Larger, SlowShapesAreSmallerAndFew) {
  seconds_per_element_ = 1e-5;
  for (Observation& one : small_) one = measured(one.axes);
  LargerShapes::Limits few = limits();
  few.shapes = 4;
  few.takes_few_steps = true;
  const std::vector<Observation> recorded = record(few);
  EXPECT_THAT(recorded, SizeIs(testing::Le(4)));
  EXPECT_LE(elements(recorded.front().axes), 1'000'000) << "ten seconds";
  EXPECT_GE(elements(recorded.front().axes), 50'000);
}

Parameters wanted(Size n) {
  return Parameters({{"n", n}, {"ny", Size{2048}}, {"nx", Size{2048}}, {"flag", Size{0}}});
}

TEST_F(Larger, TheWantedShapeIsTheLast) {
  EXPECT_EQ(record(limits(), wanted(200)).front().axes, wanted(200));
}

TEST_F(Larger, AsMuchOfTheWantedShapeIsRecordedAsFits) {
  const Observation reduced = record(limits(), wanted(200'000)).front();
  EXPECT_LT(elements(reduced.axes), elements(wanted(200'000)));
  EXPECT_GT(4 * elements(reduced.axes), Size{1} << 32);
  EXPECT_LE(4 * elements(reduced.axes), Size{1} << 34);
}

TEST_F(Larger, AVariantThatRefusesOddLengthsGrowsByMultiples) {
  refuses_ = [this](const Parameters& shape) {
    return shape.integer("n") % chooser_.bases().front().integer("n") != 0;
  };
  const std::vector<Observation> recorded = record(limits());
  EXPECT_GE(4 * elements(recorded.front().axes), Size{1} << 28);
  refuses_ = [](const Parameters&) { return true; };
  EXPECT_THAT(record(limits()), IsEmpty());
}

}  // namespace
}  // namespace peakmark
