#include "measure/worker/estimates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "measure/worker/fake_variants.hpp"

namespace peakmark {

namespace {

using testing::HasSubstr;
using testing::Optional;
using testing_support::fake_variant;
using testing_support::FakeEstimator;

RegisteredVariant variant_with(std::vector<FakeEstimator> estimators) {
  return fake_variant("a/b", {}, std::move(estimators));
}

TEST(Estimates, AreAskedWithTheRecordedPeak) {
  const RegisteredVariant variant = variant_with({FakeEstimator{"own", 2000, 2000}});
  const auto answers = ask_estimators(variant, variant.description.defaults(), 42000);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].estimator, "own");
  EXPECT_EQ(answers[0].form, "module");
  EXPECT_EQ(answers[0].slices_used, 20);
  EXPECT_THAT(answers[0].slices_estimated, Optional(20));
  EXPECT_THAT(answers[0].bytes_estimated, Optional(42000));
  EXPECT_THAT(answers[0].dtype, Optional(std::string("f32")));
  EXPECT_EQ(answers[0].error, std::nullopt);
}

// If the process ends, its reader knows from this report which estimator was running.
TEST(Estimates, EachIsReportedBeforeItIsCalled) {
  const RegisteredVariant variant = variant_with({FakeEstimator{"own", 0, 1}, FakeEstimator{"other", 0, 1}});
  std::vector<std::string> steps;
  ask_estimators(variant, variant.description.defaults(), 100,
                 [&](std::string_view step) { steps.emplace_back(step); });
  EXPECT_THAT(steps, testing::ElementsAre("the estimator 'own' of a/b", "the estimator 'other' of a/b"));
}

TEST(Estimates, WithoutAPeakOnlyBytesAreAsked) {
  const RegisteredVariant variant = variant_with({FakeEstimator{"own", 0, 10}});
  const auto answers = ask_estimators(variant, variant.description.defaults(), std::nullopt);
  EXPECT_EQ(answers[0].slices_estimated, std::nullopt);
  EXPECT_EQ(answers[0].dtype, std::nullopt);
  EXPECT_THAT(answers[0].bytes_estimated, Optional(200));
}

TEST(Estimates, AnEstimatorThatThrowsDoesNotAffectTheOthers) {
  const RegisteredVariant variant =
      variant_with({FakeEstimator{"broken", 0, 0}, FakeEstimator{"fine", 0, 1}});
  const auto answers = ask_estimators(variant, variant.description.defaults(), 100);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_THAT(answers[0].error, Optional(HasSubstr("0 bytes per slice")));
  EXPECT_EQ(answers[0].slices_estimated, std::nullopt);
  EXPECT_THAT(answers[1].slices_estimated, Optional(100));
}

// A search that went on in the children, too, would double the processes with each question.
TEST(Estimates, AChildThatAnEstimatorForksAsksNothing) {
  void* const shared =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& calls = *new (shared) std::atomic<int>(0);
  const auto calls_of = [&](bool forks) {
    calls = 0;
    FakeEstimator own{"own"};
    own.bytes = [&calls, forks](Size n) {
      ++calls;
      if (forks) static_cast<void>(::fork());
      return n;
    };
    const RegisteredVariant variant = variant_with({own});
    EXPECT_THAT(ask_estimators(variant, variant.description.defaults(), 5)[0].slices_estimated, Optional(5));
    while (::wait(nullptr) > 0) continue;
    return calls.load();
  };
  EXPECT_EQ(calls_of(true), calls_of(false));
  ::munmap(shared, sizeof(std::atomic<int>));
}

TEST(LateNote, ReportsWhatIsLate) {
  std::promise<std::string> said;
  const LateNote note(
      "the estimator", [&](const std::string& text) { said.set_value(text); }, std::chrono::milliseconds(0));
  EXPECT_EQ(said.get_future().get(), "the estimator");
}

TEST(LateNote, ReportsNothingOfWhatComesInTime) {
  bool said = false;
  {
    const LateNote note(
        "the estimator", [&](const std::string&) { said = true; }, std::chrono::hours(1));
  }
  EXPECT_FALSE(said);
}

}  // namespace

}  // namespace peakmark
