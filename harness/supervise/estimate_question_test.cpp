#include "supervise/estimate_question.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

VariantDescription variant() {
  VariantDescription variant;
  variant.name = "padding/coords1d";
  variant.axes = {{"n", Size{1}, {}, 1, ""}, {"mode", std::string("edge"), {"edge", "wrap"}, 0, ""}};
  variant.slice_axis = "n";
  return variant;
}

template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(EstimateQuestion, TakesAxesFromTexts) {
  const Parameters parameters = parse_parameters(variant(), {"mode=wrap", "n=20"});
  EXPECT_EQ(parameters.integer("n"), 20);
  EXPECT_EQ(parameters.word("mode"), "wrap");
  EXPECT_EQ(parse_parameters(variant(), {}).word("mode"), "edge");
  EXPECT_THAT(error_of([] { parse_parameters(variant(), {"mod=wrap"}); }),
              AllOf(HasSubstr("no axis 'mod'"), HasSubstr("mode")));
  EXPECT_THAT(error_of([] { parse_parameters(variant(), {"n"}); }), HasSubstr("no key=value"));
  EXPECT_THAT(error_of([] {
                parse_parameters(variant(), {"n=3", "mode=wrap", "n=4"});
              }),
              HasSubstr("axis 'n' is given twice"));
  EXPECT_NE(error_of([] { parse_parameters(variant(), {"n=x"}); }), "no error");
}

TEST(EstimateQuestion, AsksInOneLine) {
  const Parameters parameters = parse_parameters(variant(), {"n=20"});
  EXPECT_EQ(estimate_question(variant(), parameters, std::nullopt, std::nullopt),
            R"({"variant":"padding/coords1d","parameters":{"n":20,"mode":"edge"}})");
  EXPECT_EQ(
      estimate_question(variant(), parameters, 14450, "planted"),
      R"({"variant":"padding/coords1d","parameters":{"n":20,"mode":"edge"},"available_bytes":14450,"estimator":"planted"})");
}

TEST(EstimateQuestion, ReadsTheAnswer) {
  const EstimateReply reply = parse_estimate_reply(
      R"({"slices": 9, "bytes": 14400, "dtype": "f32", "terms": [{"name": "input", "per_slice_bytes": 800, "fixed_bytes": 3}], "error": null})");
  EXPECT_EQ(reply.slices, 9);
  EXPECT_EQ(reply.bytes, 14400);
  EXPECT_EQ(reply.dtype, "f32");
  EXPECT_EQ(reply.terms.at(0).fixed_bytes, 3);
  EXPECT_FALSE(reply.error);
  EXPECT_THAT(error_of([] { parse_estimate_reply("nonsense"); }), HasSubstr("not an estimate"));
  EXPECT_THAT(error_of([] { parse_estimate_reply("{}"); }), HasSubstr("'slices' not found"));
}

TEST(EstimateQuestion, AsksAWorker) {
  const EstimateReply reply = ask_estimator(PEAKMARK_FAKE_WORKER, "own", "{}", {});
  EXPECT_EQ(reply.slices, 9);
  EXPECT_EQ(ask_estimator(PEAKMARK_FAKE_WORKER, "own", R"({"n":13})", {}).error, "unlucky");
  EXPECT_EQ(ask_estimator("/bin/false", "own", "{}", {}).error,
            "died: its process ended with exit code 1; by hand: echo '{}' | /bin/false --estimate");
}

}  // namespace
}  // namespace peakmark
