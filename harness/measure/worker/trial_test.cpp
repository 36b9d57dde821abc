#include "measure/worker/trial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/worker/fake_variants.hpp"

namespace peakmark {

using backend::Array;
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;
using testing_support::fake_variant;
using testing_support::FakeCase;
using testing_support::FakeEstimator;
using testing_support::Steps;

/// 42,000 bytes at the peak: a plan of 2,000, an input of 10,000, an output of 20,000, a temporary of 10,000.
Steps known_bytes() {
  return {.set_up = [](FakeCase& fake) { fake.hold("plan", 2000); },
          .inputs = [](FakeCase& fake) { fake.hold("input", 10000); },
          .outputs = [](FakeCase& fake) { fake.hold("output", 20000); },
          .call =
              [](FakeCase& fake) {
                fake.hold("temporary", 10000);
                fake.drop("temporary");
              }};
}

class TrialTest : public testing::Test {
 protected:
  Observation measure(const RegisteredVariant& variant, TrialOptions options = {}) {
    // No test waits for the clock: late records arrive when the events are asked for.
    const SweepCase sweep_case{variant.description.name, "dry", variant.description.defaults()};
    Trial trial(*device_, events_ != nullptr ? events_ : &device_->allocation_log(), variant, sweep_case,
                "the/case", options);
    trial.measure_memory();
    spoiled_ = trial.device_is_spoiled();
    broken_ = trial.device_is_broken();
    timed_ = trial.measure_time().has_value();
    trial.ask_estimators();
    return trial.observation();
  }

  std::unique_ptr<DryDevice> device_ = open_dry();
  EventSource* events_ = nullptr;
  bool spoiled_ = false;
  bool broken_ = false;
  bool timed_ = false;
};

TEST_F(TrialTest, StepsAreReportedBeforeTheyBegin) {
  std::vector<std::string> reported;
  TrialOptions options;
  options.report_step = [&](std::string_view step) { reported.emplace_back(step); };
  Steps steps = known_bytes();
  steps.call = [&](FakeCase&) { EXPECT_THAT(reported.back(), HasSubstr("`call`")); };
  measure(fake_variant("a/b", steps, {FakeEstimator{"own", 0, 1}}), options);
  const std::vector<std::string> pass{"the constructor of the case",
                                      "`set_up`",
                                      "`create_inputs`",
                                      "`create_outputs`",
                                      "the first `call`",
                                      "the second `call`",
                                      "`bytes_moved`",
                                      "the destructor of the case"};
  std::vector<std::string> all = pass;
  all.insert(all.end(), pass.begin(), pass.end());
  all.emplace_back("the estimator 'own' of a/b");
  EXPECT_EQ(reported, all);
}

TEST_F(TrialTest, AFakeOf42000BytesIsObservedAsThat) {
  const Observation observation = measure(
      fake_variant("a/b", known_bytes(), {FakeEstimator{"own", 2000, 2000}, FakeEstimator{"other", 0, 1}}));
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_EQ(observation.case_name, "the/case");
  EXPECT_EQ(observation.backend, "dry");
  EXPECT_THAT(observation.requested_peak_bytes, Optional(42000));
  EXPECT_THAT(observation.first_call_peak_bytes, Optional(42000));
  EXPECT_THAT(observation.setup_bytes, Optional(2000));
  EXPECT_THAT(observation.input_bytes, Optional(10000));
  EXPECT_THAT(observation.output_bytes, Optional(20000));
  EXPECT_THAT(observation.leaked_bytes, Optional(0));
  EXPECT_THAT(observation.allocations, Optional(5));
  EXPECT_THAT(observation.by_kind, ElementsAre(testing::Pair("buffer", 42000)));
  ASSERT_THAT(observation.at_peak, SizeIs(4));
  EXPECT_EQ(observation.at_peak[0].name, "output");
  EXPECT_EQ(observation.at_peak[0].kind, "buffer");
  EXPECT_EQ(observation.at_peak[0].bytes, 20000);
  EXPECT_THAT(observation.second_pass_peak_bytes, Optional(42000));
  EXPECT_THAT(observation.moved_allocations, IsEmpty());
  EXPECT_EQ(observation.pool_reserved_peak_bytes, std::nullopt);
  ASSERT_TRUE(observation.estimate);
  EXPECT_THAT(observation.estimate->slices_estimated, Optional(20));
  ASSERT_THAT(observation.other_estimates, SizeIs(1));
  EXPECT_EQ(observation.other_estimates[0].estimator, "other");
  EXPECT_FALSE(spoiled_);
}

TEST_F(TrialTest, TheSequenceOfAllocationsIsKeptWhereItIsAskedFor) {
  EXPECT_FALSE(measure(fake_variant("a/b", known_bytes())).allocation_sequence);
  TrialOptions options;
  options.sequences = true;
  const Observation observation = measure(fake_variant("a/b", known_bytes()), options);
  const AllocationSequence expected{{"plan", "setup", "", 2000, 0, {}},
                                    {"input", "inputs", "", 10000, 1, {}},
                                    {"output", "outputs", "", 20000, 2, {}},
                                    {"temporary", "call 1", "", 10000, 3, 4},
                                    {"temporary", "call 2", "", 10000, 5, 6}};
  EXPECT_EQ(observation.allocation_sequence, expected);
  EXPECT_EQ(peak_bytes(expected), 42000);
  EXPECT_EQ(observation.message, "");
}

TEST_F(TrialTest, ASequenceThatDiffersBetweenThePassesIsReported) {
  TrialOptions options;
  options.sequences = true;
  Steps steps = known_bytes();
  int made = 0;
  steps.set_up = [&](FakeCase& fake) { fake.hold("plan", 2000 + made++); };
  const Observation observation = measure(fake_variant("a/b", steps), options);
  ASSERT_TRUE(observation.allocation_sequence);
  EXPECT_THAT(observation.message,
              HasSubstr("4 of 5 allocations repeat; the first that does not is plan of 2000 bytes in setup"));
  for (const SequencedAllocation& one : *observation.allocation_sequence)
    EXPECT_EQ(one.is_repeated, one.name != "plan") << one.name;
}

TEST_F(TrialTest, ASequenceThatIsTooLongIsLeftOutWithANote) {
  TrialOptions options;
  options.sequences = true;
  Steps steps = known_bytes();
  steps.call = [](FakeCase& fake) {
    for (std::size_t i = 0; i <= kMaxSequencedAllocations / 2; ++i) {
      fake.hold("temporary", 8);
      fake.drop("temporary");
    }
  };
  const Observation observation = measure(fake_variant("a/b", steps), options);
  EXPECT_FALSE(observation.allocation_sequence);
  EXPECT_EQ(observation.requested_peak_bytes, 32008);
  EXPECT_EQ(observation.message, "no allocation sequence: 100005 allocations are more than 100000");
}

TEST_F(TrialTest, OnDryNothingIsTimed) {
  const Observation observation = measure(fake_variant("a/b", known_bytes()));
  EXPECT_FALSE(timed_);
  EXPECT_EQ(observation.gpu_time, std::nullopt);
}

TEST_F(TrialTest, EachPassIsMadeAnewAndMarked) {
  measure(fake_variant("a/b", known_bytes()));
  std::vector<std::string> phases;
  for (const Event& event : device_->allocation_log().events(0)) {
    if (event.type == EventType::phase) phases.emplace_back(event.text, event.text_bytes);
  }
  const std::vector<std::string> once = {"setup", "inputs", "outputs", "call 1", "call 2", "verify", "end"};
  std::vector<std::string> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  EXPECT_EQ(phases, twice);
}

TEST_F(TrialTest, AFirstCallThatNeedsMoreIsReportedWithThePeak) {
  auto steps = known_bytes();
  steps.call = [](FakeCase& fake) {
    if (fake.arrays.count("cache") != 0) return;
    fake.hold("autotuning", 5000);
    fake.drop("autotuning");
    fake.hold("cache", 1000);
  };
  const Observation observation = measure(fake_variant("a/b", steps));
  EXPECT_THAT(observation.first_call_peak_bytes, Optional(37000));
  EXPECT_THAT(observation.requested_peak_bytes, Optional(37000));
}

TEST_F(TrialTest, RestoringDestroyedInputsIsOutsideThePeak) {
  auto steps = known_bytes();
  steps.restore = [](FakeCase& fake) {
    fake.hold("staging", 1000000);
    fake.drop("staging");
  };
  RegisteredVariant variant = fake_variant("a/b", steps);
  variant.description.destroys_input = true;
  const Observation observation = measure(variant);
  EXPECT_THAT(observation.requested_peak_bytes, Optional(42000));
  EXPECT_THAT(observation.allocations, Optional(5));
  EXPECT_TRUE(observation.destroys_input);
}

TEST_F(TrialTest, PassesThatDifferAreReportedWithWhatMoved) {
  auto steps = known_bytes();
  int instances = 0;
  steps.set_up = [&instances](FakeCase& fake) { fake.hold("plan", ++instances == 1 ? 2000 : 3000); };
  const Observation observation = measure(fake_variant("a/b", steps));
  EXPECT_THAT(observation.requested_peak_bytes, Optional(42000));
  EXPECT_THAT(observation.second_pass_peak_bytes, Optional(43000));
  EXPECT_THAT(observation.moved_allocations, ElementsAre("grew: plan (buffer), 2000 -> 3000 B"));
}

TEST_F(TrialTest, ASecondPassThatDoesNotEndHasNoPeak) {
  auto steps = known_bytes();
  int instances = 0;
  steps.set_up = [&instances](FakeCase& /*fake*/) {
    if (++instances == 2) throw OutOfMemoryError("no memory the second time");
  };
  const Observation observation = measure(fake_variant("a/b", steps));
  EXPECT_EQ(observation.outcome, Outcome::out_of_memory);
  EXPECT_THAT(observation.requested_peak_bytes, Optional(testing::Gt(0)));
  EXPECT_EQ(observation.second_pass_peak_bytes, std::nullopt);
}

TEST_F(TrialTest, WhatOutlivesTheComputationIsALeak) {
  std::vector<Array> leaks;
  auto steps = known_bytes();
  steps.call = [&](FakeCase&) { leaks.push_back(device_->create_uninitialised("leak", {50}, DType::u8)); };
  TrialOptions impatient;
  impatient.late_release = std::chrono::milliseconds(0);
  const Observation observation = measure(fake_variant("a/b", steps), impatient);
  EXPECT_THAT(observation.leaked_bytes, Optional(100)) << "of one pass: two calls";
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_TRUE(spoiled_);
  EXPECT_FALSE(broken_);
}

TEST_F(TrialTest, WhatEachCallLeavesIsALeakAlsoIfTheDestructorReleasesIt) {
  auto steps = known_bytes();
  steps.call = [this](FakeCase& fake) {
    fake.arrays["forgotten " + std::to_string(fake.arrays.size())] =
        device_->create_uninitialised("forgotten", {50}, DType::u8);
  };
  EXPECT_EQ(measure(fake_variant("a/b", steps)).repeated_calls, std::nullopt) << "nobody asked";
  TrialOptions options;
  options.repeat_calls = 6;
  const Observation observation = measure(fake_variant("a/b", steps), options);
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_THAT(observation.leaked_bytes, Optional(0));
  EXPECT_THAT(observation.repeated_calls, Optional(6));
  ASSERT_EQ(observation.call_leaks.size(), 1U);
  EXPECT_EQ(observation.call_leaks[0].name, "forgotten");
  EXPECT_THAT(observation.call_leaks[0].bytes_per_call, Optional(50));
  EXPECT_EQ(observation.call_leaks[0].bytes, 250);
}

TEST_F(TrialTest, AVariantThatWarmsUpLeaksNothing) {
  auto steps = known_bytes();
  int calls = 0;
  steps.call = [&](FakeCase& fake) {
    if (++calls % 6 == 1) fake.hold("plan", 50);
  };
  TrialOptions options;
  options.repeat_calls = 8;
  const Observation observation = measure(fake_variant("a/b", steps), options);
  EXPECT_THAT(observation.repeated_calls, Optional(8));
  EXPECT_TRUE(observation.call_leaks.empty());
}

TEST_F(TrialTest, ACallThatNeedsMoreEachTimeDrifts) {
  auto steps = known_bytes();
  Size calls = 0;
  steps.call = [&](FakeCase&) { device_->create_uninitialised("work", {50 * ++calls}, DType::u8); };
  TrialOptions options;
  options.repeat_calls = 8;
  const Observation observation = measure(fake_variant("a/b", steps), options);
  EXPECT_TRUE(observation.call_leaks.empty());
  EXPECT_THAT(observation.peak_drift_bytes, Optional(4 * 50)) << "call 8 above call 4";
}

/// An AllocationLog whose owner releases memory only while it is being watched, like a driver that frees
/// late.
class LateAllocationLog final : public EventSource {
 public:
  LateAllocationLog(EventSource& allocation_log, std::vector<Array>& kept, int looks)
      : allocation_log_(allocation_log), kept_(kept), looks_(looks) {}
  void phase(std::string_view name) override { allocation_log_.phase(name); }
  void name(std::uint64_t address, std::string_view name) override { allocation_log_.name(address, name); }
  [[nodiscard]] std::uint64_t count() const override {
    if (--looks_ == 0) kept_.clear();
    return allocation_log_.count();
  }
  [[nodiscard]] std::vector<Event> events(std::uint64_t first) override {
    return allocation_log_.events(first);
  }

 private:
  EventSource& allocation_log_;
  std::vector<Array>& kept_;
  mutable int looks_;
};

TEST_F(TrialTest, MemoryFreedLateIsNoLeak) {
  std::vector<Array> kept;
  int instances = 0;
  auto steps = known_bytes();
  steps.set_up = [&](FakeCase&) {
    if (++instances == 1) kept.push_back(device_->create_uninitialised("late", {50}, DType::u8));
  };
  LateAllocationLog late(device_->allocation_log(), kept, 4);
  events_ = &late;
  TrialOptions patient;
  patient.late_release = std::chrono::minutes(5);
  const Observation observation = measure(fake_variant("a/b", steps), patient);
  EXPECT_THAT(observation.leaked_bytes, Optional(0));
  EXPECT_FALSE(spoiled_);
}

TEST_F(TrialTest, RunningOutOfMemoryIsAnOutcome) {
  device_->set_budget(41999);
  const Observation observation =
      measure(fake_variant("a/b", known_bytes(), {FakeEstimator{"own", 2000, 2000}}));
  EXPECT_EQ(observation.outcome, Outcome::out_of_memory);
  EXPECT_THAT(observation.message, Not(IsEmpty()));
  EXPECT_EQ(observation.requested_peak_bytes, std::nullopt) << "the peak was never reached";
  EXPECT_THAT(observation.leaked_bytes, Optional(0));
  ASSERT_TRUE(observation.estimate);
  EXPECT_EQ(observation.estimate->slices_estimated, std::nullopt);
  EXPECT_THAT(observation.estimate->bytes_estimated, Optional(42000));
  EXPECT_FALSE(spoiled_);
  device_->set_budget(42000);
  EXPECT_EQ(measure(fake_variant("a/b", known_bytes())).outcome, Outcome::ok);
}

TEST_F(TrialTest, UnsupportedIsAnOutcome) {
  auto steps = known_bytes();
  steps.set_up = [](FakeCase&) { throw UnsupportedError("no plan for this length"); };
  const Observation observation = measure(fake_variant("a/b", steps));
  EXPECT_EQ(observation.outcome, Outcome::unsupported);
  EXPECT_EQ(observation.message, "no plan for this length");
  EXPECT_FALSE(spoiled_);
}

TEST_F(TrialTest, AnErrorOfTheDeviceIsACrashAndSpoilsIt) {
  auto steps = known_bytes();
  steps.call = [](FakeCase&) { throw MeasurementError("illegal address"); };
  const Observation observation = measure(fake_variant("a/b", steps));
  EXPECT_EQ(observation.outcome, Outcome::crashed);
  EXPECT_THAT(observation.message, HasSubstr("illegal address"));
  EXPECT_TRUE(spoiled_);
  EXPECT_TRUE(broken_);
}

TEST_F(TrialTest, ParametersThatAVariantRefusesDoNotSpoilTheDevice) {
  auto steps = known_bytes();
  steps.inputs = [](FakeCase&) { throw UsageError("region is empty"); };
  const Observation observation = measure(fake_variant("a/b", steps));
  EXPECT_EQ(observation.outcome, Outcome::crashed);
  EXPECT_EQ(observation.message, "region is empty");
  EXPECT_FALSE(spoiled_);
}

TEST_F(TrialTest, WithoutARecorderMemoryIsUnknownNotZero) {
  const RegisteredVariant variant = fake_variant("a/b", known_bytes(), {FakeEstimator{"own", 2000, 2000}});
  Trial trial(*device_, nullptr, variant, {"a/b", "dry", variant.description.defaults()}, "the/case", {});
  trial.measure_memory();
  const Observation& observation = trial.observation();
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_EQ(observation.requested_peak_bytes, std::nullopt);
  EXPECT_EQ(observation.leaked_bytes, std::nullopt);
  EXPECT_EQ(observation.allocations, std::nullopt);
  EXPECT_THAT(observation.output_dtype, Optional(std::string("f32")));
}

}  // namespace
}  // namespace peakmark
