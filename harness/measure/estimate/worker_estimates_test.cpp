#include "measure/estimate/worker_estimates.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

VariantDescription variant() {
  VariantDescription variant;
  variant.name = "padding/coords1d";
  variant.axes = {{"n", Size{1}, {}, 1, ""}, {"mode", std::string("edge"), {"edge", "wrap"}, 0, ""}};
  variant.slice_axis = "n";
  return variant;
}

TEST(EstimateQuestion, AsksInOneLine) {
  const Parameters parameters = parse_parameters(variant(), {"n=20"});
  EXPECT_EQ(estimate_question(variant(), parameters, std::nullopt, std::nullopt),
            R"({"variant":"padding/coords1d","parameters":{"n":20,"mode":"edge"}})");
  EXPECT_EQ(
      estimate_question(variant(), parameters, 14450, "planted"),
      R"({"variant":"padding/coords1d","parameters":{"n":20,"mode":"edge"},"available_bytes":14450,"estimator":"planted"})");
}

TEST(EstimateQuestion, AsksAWorker) {
  const EstimateAnswer answer = ask_estimator(PEAKMARK_FAKE_WORKER, "own", "{}", {});
  EXPECT_EQ(answer.slices, 9);
  EXPECT_EQ(answer.bytes, 14400);
  EXPECT_EQ(answer.dtype, "f32");
  EXPECT_EQ(ask_estimator(PEAKMARK_FAKE_WORKER, "own", R"({"n":13})", {}).error, "unlucky");
  EXPECT_EQ(ask_estimator("/bin/false", "own", "{}", {}).error,
            "died: its process ended with exit code 1; by hand: echo '{}' | /bin/false --estimate");
}

}  // namespace
}  // namespace peakmark
