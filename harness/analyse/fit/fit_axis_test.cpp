#include "analyse/fit/fit_axis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

/// The variants of peakmark-bench on `dry`, whose bytes are those of a device.
class AxisFit : public testing::Test {
 protected:
  static FitRequest request(const std::string& variant, const std::string& axis, const std::string& budget,
                            std::vector<std::string> values = {}) {
    FitRequest request;
    request.variant = variant;
    request.axis.name = axis;
    request.values = std::move(values);
    request.budget = parse_budget(budget);
    request.sweep.worker = PEAKMARK_BENCH;
    request.sweep.selection.backend = "dry";
    return request;
  }

  /// Runs each value from `first` to `last`. Returns the largest that fits.
  static std::optional<Size> exhaustive(const FitRequest& request, Size first, Size last, Size budget) {
    ShapeRecorder recorder(request.sweep);
    const VariantDescription& variant = *recorder.vocabulary().description.variant(request.variant);
    Parameters values = variant.defaults();
    for (const std::string& text : request.values) {
      const std::string axis = text.substr(0, text.find('='));
      values.set(axis, parse_axis_value(*variant.axis(axis), text.substr(axis.size() + 1)));
    }
    std::vector<Parameters> shapes;
    for (Size value = first; value <= last; ++value) {
      shapes.push_back(values);
      shapes.back().set(request.axis.name, value);
    }
    std::optional<Size> largest;
    const std::vector<Observation> observations = recorder.record(request.variant, shapes);
    for (std::size_t i = 0; i < observations.size(); ++i) {
      if (observations[i].outcome == Outcome::ok && *observations[i].requested_peak_bytes <= budget)
        largest = first + static_cast<Size>(i);
    }
    return largest;
  }

  static void expect_true_largest(const FitRequest& request, Size last, std::size_t max_trials) {
    const FitReport report = AxisFitter(request).fit().front();
    ASSERT_TRUE(report.value) << request.variant;
    // Values below the answer need no trial: they are not the largest if the answer itself fits.
    EXPECT_EQ(report.value, exhaustive(request, *report.value, last, report.budget_bytes)) << request.variant;
    EXPECT_LT(*report.value, last) << "the budget is no limit: try more values";
    EXPECT_LE(report.trials.size(), max_trials) << request.variant;
    for (const FitTrial& trial : report.trials)
      EXPECT_LE(*trial.peak_bytes, report.budget_bytes) << request.variant;
  }
};

TEST_F(AxisFit, FindsTheTrueLargestValueOfShippedVariants) {
  const std::vector<std::string> fbp{"n_a=32", "n_z=8"};
  const std::vector<std::string> batched{"n_a=32", "n_z=8", "batch=3"};
  expect_true_largest(request("padding/coords2d", "nx", "3000000", {"n=3", "ny=200"}), 1000, 1);
  expect_true_largest(request("padding/computed", "n", "9000000", {"ny=60", "nx=90"}), 1000, 1);
  expect_true_largest(request("mul_add/whole", "nx", "900000", {"n=2", "ny=100"}), 1000, 4);
  expect_true_largest(request("vertical_shift/muladd", "n_z", "700000", {"n_a=9", "nx=35"}), 1000, 4);
  expect_true_largest(request("fbp/whole", "w", "6 MiB", fbp), 500, 4);
  expect_true_largest(request("fbp/inplace", "w", "3 MiB", batched), 500, 4);
  expect_true_largest(request("backprojection/linear", "w", "3 MiB", fbp), 500, 4);
  // 1 GiB, as of the table in docs/fit.md.
  expect_true_largest(request("fbp/whole", "w", "1 GiB", {"n_a=500", "n_z=8"}), 6000, 4);
}

TEST_F(AxisFit, PredictsByTheEstimator) {
  FitRequest padding = request("padding/coords2d", "nx", "3000000", {"n=3", "ny=200"});
  padding.predictor = Predictor::estimator;
  expect_true_largest(padding, 1000, 1);
  FitRequest fbp = request("fbp/whole", "w", "6 MiB", {"n_a=32", "n_z=8"});
  fbp.predictor = Predictor::estimator;
  expect_true_largest(fbp, 500, 4);
  const FitReport report = AxisFitter(fbp).fit().front();
  EXPECT_EQ(report.predictor, Predictor::estimator);
  EXPECT_EQ(report.formula, "");
  EXPECT_EQ(report.intervals.size(), 1U);
}

TEST_F(AxisFit, FitsAxesThatFollow) {
  const FitReport report =
      AxisFitter(request("padding/computed", "nx", "8 MiB",
                         {"n=1", "ny=2*nx", "pad_x0=0", "pad_x1=0", "pad_y0=0", "pad_y1=0"}))
          .fit()
          .front();
  // Input and output, 4 · nx · 2 · nx bytes each.
  EXPECT_EQ(report.value, 724);
  EXPECT_EQ(*report.answer().peak_bytes, 2 * 4 * 724 * 2 * 724);
}

TEST_F(AxisFit, FitsAlongAnotherAxisUpToWhereNothingFits) {
  FitRequest asked =
      request("padding/computed", "n", "1 MiB", {"ny=nx", "pad_x0=0", "pad_x1=0", "pad_y0=0", "pad_y1=0"});
  asked.other = FreeAxis{"nx", std::pair<Size, Size>{64, 1024}};
  const std::vector<FitReport> reports = AxisFitter(asked).fit();
  std::vector<std::optional<Size>> values;
  for (const FitReport& report : reports) values.push_back(report.value);
  EXPECT_EQ(values, (std::vector<std::optional<Size>>{32, 8, 2, std::nullopt, std::nullopt}));
  asked.other->range.reset();
  const std::vector<FitReport> all = AxisFitter(asked).fit();
  EXPECT_EQ(all.size(), 10U);  // 1, 2, … 512
  EXPECT_EQ(all.back().value, std::nullopt);
}

TEST_F(AxisFit, ShapesBeyondTheLimitOfOneAllocationAreOneNote) {
  FitRequest limited = request("padding/coords1d", "ny", "1 GB", {"nx=2048"});
  limited.sweep.max_allocation = 1024;
  testing::internal::CaptureStderr();
  const FitReport report = AxisFitter(limited).fit().front();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(report.notes.size(), 2U);
  EXPECT_THAT(report.notes[0], testing::AllOf(HasSubstr(" small shapes did not run; the first: "),
                                              testing::EndsWith("exceed the limit of one allocation, 1024")));
  EXPECT_THAT(report.notes[1],
              HasSubstr("`peakmark explain padding/coords1d` records them without the limit"));
  // 2048 floats and their margins of 64 on both sides.
  EXPECT_THAT(fit_text(report, false), HasSubstr("nothing fits: ny = 1 asks for 8.5 KiB in one allocation, "
                                                 "where 1 KiB is the limit"));
}

TEST_F(AxisFit, RefusesWhatItCannotFit) {
  const auto expect_usage = [](FitRequest asked, const std::string& text) {
    try {
      AxisFitter(std::move(asked)).fit();
      ADD_FAILURE() << "nothing thrown instead of: " << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  expect_usage(request("mul_add/subregion", "other_y0", "1 GiB", {"h=4", "w=4"}),
               "axis 'other_y0' does not change the memory of mul_add/subregion");
  expect_usage(request("padding/computed", "nx", "1 GiB", {"ny=ny+1"}), "'ny' is itself a formula");
  expect_usage(request("padding/computed", "nx", "1 GiB", {"nx=7"}),
               "is fitted and has a value: leave out nx=7");
  expect_usage(request("padding/computed", "nx", "1 GiB", {"ny=2*mode"}), "'mode'");
  FitRequest beyond = request("padding/computed", "nx", "1 GiB");
  beyond.axis.range = {1, Size{1} << 62};
  expect_usage(beyond, "no device has that much memory: the last value may be 1099511627776");
  expect_usage(request("padding/computed", "nx", "90%"), "dry allocates nothing on a device");
}

}  // namespace
}  // namespace peakmark
