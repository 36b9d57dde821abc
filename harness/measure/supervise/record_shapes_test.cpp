#include "measure/supervise/record_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Variables of the fake worker (fake_worker.cpp), until the test ends.
class RecordShapes : public testing::Test {
 protected:
  ~RecordShapes() override {
    for (const char* const variable : set_) ::unsetenv(variable);
  }
  void set(const char* variable, const char* value) {
    ::setenv(variable, value, 1);
    set_.push_back(variable);
  }
  static SweepOptions options() {
    SweepOptions options;
    options.worker = PEAKMARK_FAKE_WORKER;
    options.selection.backend = "dry";
    return options;
  }
  static ShapeRequest request(const char* variant = "fake/case") {
    return {variant, Parameters({{"does", std::string("ok")}}), {}};
  }
  static Parameters shape(Size n) { return Parameters({{"n", n}}); }

 private:
  std::vector<const char*> set_;
};

TEST_F(RecordShapes, EachShapeHasAnObservationInOrder) {
  ShapeRecorder recorder(options());
  const auto observations = recorder.record("fake/case", {shape(3), shape(2), shape(3)});
  ASSERT_THAT(observations, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    const Size n = i == 1 ? 2 : 3;
    EXPECT_EQ(observations[i].outcome, Outcome::ok);
    EXPECT_EQ(observations[i].axes.integer("n"), n);
    ASSERT_TRUE(observations[i].allocation_sequence);
    EXPECT_EQ(peak_bytes(*observations[i].allocation_sequence), 1000 * n);
  }
  EXPECT_EQ(recorder.context().worker, "fake worker 1");
}

TEST_F(RecordShapes, ResultsAreVerifiedOnRequestOnly) {
  ShapeRecorder recorder(options());
  const Parameters wrong({{"does", std::string("wrong")}, {"n", Size{1}}});
  EXPECT_EQ(recorder.record("fake/case", {wrong}).front().outcome, Outcome::ok);
  recorder.set_verification(true);
  EXPECT_EQ(recorder.record("fake/case", {wrong}).front().outcome, Outcome::wrong_answer);
}

TEST_F(RecordShapes, AShapeThatTheWorkerRefusesIsUnsupportedWithTheReason) {
  set("FAKE_WORKER_CHECKS", "1");
  set("FAKE_WORKER_MISTAKEN_MULTIPLES", "2");
  ShapeRecorder recorder(options());
  const auto observations = recorder.record("fake/case", {shape(3), shape(4)});
  EXPECT_EQ(observations.at(0).outcome, Outcome::ok);
  EXPECT_EQ(observations.at(1).outcome, Outcome::unsupported);
  EXPECT_EQ(observations.at(1).message, "n must be odd");
  EXPECT_EQ(observations.at(1).axes.integer("n"), 4);
}

TEST_F(RecordShapes, AnUnknownAxisOrVariantIsNamed) {
  ShapeRecorder recorder(options());
  EXPECT_THAT(
      [&] {
        recorder.record("fake/case", {Parameters({{"m", Size{3}}})});
      },
      testing::ThrowsMessage<UsageError>(HasSubstr("fake/case has no axis 'm'")));
  EXPECT_THAT([&] { recorder.record("fake/cases", {shape(3)}); },
              testing::ThrowsMessage<UsageError>(HasSubstr("no variant 'fake/cases'")));
}

TEST_F(RecordShapes, ChosenShapesReplaceThoseThatAreRefused) {
  set("FAKE_WORKER_CHECKS", "1");
  set("FAKE_WORKER_MISTAKEN_MULTIPLES", "2");
  set("FAKE_WORKER_UNSUPPORTED_MULTIPLES", "5");  // the first base too
  ShapeRecorder recorder(options());
  const auto recorded = recorder.record_chosen({request(), request("fake/slow")});
  ASSERT_THAT(recorded, SizeIs(2));
  for (const RecordedShapes& one : recorded) {
    EXPECT_GE(one.observations.size(), 16);
    EXPECT_GE(one.refused.size(), 2);
    std::set<Size> lengths;
    for (const Observation& observation : one.observations) {
      EXPECT_EQ(observation.variant, one.variant);
      EXPECT_TRUE(observation.allocation_sequence);
      EXPECT_TRUE(lengths.insert(observation.axes.integer("n")).second);
      EXPECT_NE(observation.axes.integer("n") % 2, 0);
      EXPECT_NE(observation.axes.integer("n") % 5, 0);
    }
  }
}

TEST_F(RecordShapes, SlowVariantsGetAsFewShapesAsPrograms) {
  ShapeRecorder recorder(options());
  const VariantDescription& variant = *recorder.vocabulary().description.variant("fake/case");
  const auto recorded = [&](double slow_seconds) {
    return recorder.record_chosen({request()}, {.slow_seconds = slow_seconds}).at(0).observations.size();
  };
  const auto sum = [](ShapeCounts counts) { return counts.fitted + counts.held_out; };
  ASSERT_LT(sum(shape_counts(variant, true)), sum(shape_counts(variant, false)));
  EXPECT_EQ(recorded(3600), sum(shape_counts(variant, false)));
  EXPECT_EQ(recorded(-1), sum(shape_counts(variant, true)));
}

TEST_F(RecordShapes, AVariantThatRefusesEveryShapeHasNone) {
  set("FAKE_WORKER_UNSUPPORTED_MULTIPLES", "1");
  ShapeRecorder recorder(options());
  const auto recorded = recorder.record_chosen({request()});
  EXPECT_THAT(recorded.at(0).observations, IsEmpty());
  EXPECT_GE(recorded.at(0).refused.size(), 2);
}

}  // namespace
}  // namespace peakmark
