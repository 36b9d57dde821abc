#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"
#include "base/dtype.hpp"
#include "measure/estimate/worker_estimates.hpp"
#include "measure/supervise/record_shapes.hpp"

// Formulas of all variants of peakmark-bench, found on `dry` from chosen shapes.
namespace peakmark {
namespace {

using testing::IsEmpty;

// Allocations that have no formula, by variant, with the reason.
const std::map<std::string, std::set<std::string>>& named_allocations() {
  // VkFFT's tables: there is only a table of their sizes (kernels/fft/vkfft_tables.inc).
  const std::string tables = "fft_tables";
  // If `batch` is 0, it has as many lines as fit an allowance that includes those tables.
  const std::string work = "work";
  static const std::map<std::string, std::set<std::string>> names{
      {"filter/whole", {tables}},
      {"filter/inplace", {tables, work}},
      {"fbp/whole", {tables}},
      {"fbp/inplace", {tables, work}},
      {"fbp/kept", {tables, work}},
      // Exists if two regions of one array overlap.
      {"mul_add/subregion", {"copy_of_other"}},
      // Sizes and number follow from random shifts.
      {"vertical_shift/temporaries", {"product"}},
  };
  return names;
}

class ShippedFormulas : public testing::Test {
 protected:
  static SweepOptions options() {
    SweepOptions options;
    options.worker = PEAKMARK_BENCH_WORKER;
    options.selection.backend = "dry";
    return options;
  }

  // The first words of a variant, and with each word axis its last word.
  static std::vector<Parameters> some_words(const VariantDescription& variant) {
    std::vector<Parameters> sets{word_sets(variant).front()};
    for (const AxisDescription& axis : variant.axes) {
      if (axis.choices.size() < 2) continue;
      Parameters other = sets.front();
      const std::string& last = axis.choices.back();
      other.set(axis.name, last == other.word(axis.name) ? axis.choices.front() : last);
      sets.push_back(std::move(other));
    }
    return sets;
  }

  static void expect_named(const VariantFormulas& variant) {
    const auto names = named_allocations().find(variant.variant);
    std::set<std::string> without_formula;
    for (const ExplainedAllocation& one : variant.explanation.allocations) {
      if (!one.count.formula || !one.bytes.formula) without_formula.insert(one.name);
    }
    if (names != named_allocations().end()) {
      for (const std::string& name : names->second) without_formula.erase(name);
    }
    EXPECT_THAT(without_formula, IsEmpty());
  }

  // At the defaults, which were not recorded, the formula of the peak gives the answer of the variant's own
  // estimator.
  static void expect_estimator(const VariantFormulas& variant, const VariantDescription& description) {
    const auto peak = variant.explanation.peak();
    if (!peak) {  // then the peak contains names of allocations without a formula
      EXPECT_TRUE(variant.explanation.partial_peak());
      return;
    }
    Parameters defaults = description.defaults();
    for (const auto& [axis, words] : variant.cases.front().words) defaults.set(axis, words.front());
    const EstimateAnswer reply =
        ask_estimator(PEAKMARK_BENCH_WORKER, description.estimators.front().name,
                      estimate_question(description, defaults, std::nullopt, std::nullopt), {});
    ASSERT_FALSE(reply.error) << *reply.error;
    const auto value = [&](const std::string& axis) {
      return axis == "itemsize" ? size_of(parse_dtype(defaults.word("dtype"))) : defaults.integer(axis);
    };
    EXPECT_EQ(peak->evaluate(value), reply.bytes) << to_text(*peak);
  }
};

TEST_F(ShippedFormulas, EveryAllocationIsExactAtShapesHeldOut) {
  ShapeRecorder recorder(options());
  const Description& worker = recorder.vocabulary().description;
  std::vector<ShapeRequest> requests;
  for (const VariantDescription& variant : worker.variants) {
    for (const Parameters& words : some_words(variant)) requests.push_back({variant.name, words, {}});
  }
  peakmark::Run run;
  for (RecordedShapes& shapes : recorder.record_chosen(requests))
    std::ranges::move(shapes.observations, std::back_inserter(run.observations));
  std::set<std::string> explained;
  for (const VariantFormulas& variant : explain_cases(group_cases(run))) {
    SCOPED_TRACE(variant.variant + " " + variant.words_text());
    explained.insert(variant.variant);
    EXPECT_GE(variant.explanation.held_out, 6);
    expect_named(variant);
    expect_estimator(variant, *worker.variant(variant.variant));
  }
  for (const VariantDescription& variant : worker.variants) EXPECT_TRUE(explained.contains(variant.name));
}

}  // namespace
}  // namespace peakmark
