#include "measure/runfile/description_json.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Description example() {
  Description description;
  description.worker = "peakmark-bench 0.1.0";
  description.build = "Release";
  description.commit = "0123abc";
  VariantDescription variant;
  variant.name = "padding/coords1d";
  variant.help = "two coordinate vectors";
  variant.backends = {"opencl", "dry"};
  variant.axes = {{"n", Size{1}, {}, 1, "images"},
                  {"mode", std::string("edge"), {"edge", "wrap"}, 0, "what is outside"}};
  variant.slice_axis = "n";
  variant.slice_dimension = 1;
  variant.destroys_input = true;
  variant.estimators = {{"padding/coords1d", "direct"}, {"planted", "module"}};
  description.variants = {variant};
  return description;
}

std::string message(const std::string& text) {
  try {
    description_from_json(text);
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "none";
}

TEST(DescriptionJson, ComesBackAsItWas) {
  const std::string text = to_json_text(example());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const Description back = description_from_json(text);
  EXPECT_EQ(back.worker, "peakmark-bench 0.1.0");
  EXPECT_EQ(back.build, "Release");
  EXPECT_EQ(back.commit, "0123abc");
  ASSERT_EQ(back.variants.size(), 1u);
  const VariantDescription& variant = back.variants[0];
  EXPECT_EQ(variant.backends, (std::vector<std::string>{"opencl", "dry"}));
  ASSERT_EQ(variant.axes.size(), 2u);
  EXPECT_EQ(std::get<Size>(variant.axes[0].default_value), 1);
  EXPECT_EQ(variant.axes[0].min, 1);
  EXPECT_EQ(std::get<std::string>(variant.axes[1].default_value), "edge");
  EXPECT_EQ(variant.axes[1].choices, (std::vector<std::string>{"edge", "wrap"}));
  EXPECT_EQ(variant.slice_axis, "n");
  EXPECT_EQ(variant.slice_dimension, 1);
  EXPECT_TRUE(variant.destroys_input);
  EXPECT_EQ(variant.estimators.at(1).form, "module");
  EXPECT_EQ(to_json_text(back), text);
}

TEST(DescriptionJson, AWorkerMayBeBuiltOnThePublicApiOrNot) {
  EXPECT_EQ(description_from_json(to_json_text(example())).api, "");
  Description built_on_it = example();
  built_on_it.api = "1.7";
  EXPECT_EQ(description_from_json(to_json_text(built_on_it)).api, "1.7") << "any minor of our major";
  built_on_it.api = "2.0";
  EXPECT_THAT(message(to_json_text(built_on_it)),
              AllOf(HasSubstr("2.0"), HasSubstr("build the worker anew")));
  built_on_it.api = "10.0";
  EXPECT_THAT(message(to_json_text(built_on_it)), HasSubstr("10.0"));
}

TEST(DescriptionJson, ReportsWhatIsWrong) {
  EXPECT_THAT(message("usage: something else"), HasSubstr("description cannot be read"));
  EXPECT_THAT(message("{}"), HasSubstr("'protocol' not found"));
  EXPECT_THAT(message(R"({"protocol": 99})"), AllOf(HasSubstr("version 99"), HasSubstr("version 1")));
  EXPECT_THAT(message(R"({"protocol": 1, "api": null, "worker": 3})"), HasSubstr("/worker"));
}

TEST(DescriptionJson, ReportsWhatTheProgramPrinted) {
  const std::string description = to_json_text(example());
  const auto expected =
      AllOf(HasSubstr("it printed 'CUDA 12 \\x1b[1mis here'"),
            HasSubstr("a worker must print nothing to standard output before Worker::run; or is "
                      "this no worker?"));
  EXPECT_THAT(message("\nCUDA 12 \x1b[1mis here\n" + description), expected);
  EXPECT_THAT(message("7\n" + description), HasSubstr("it printed '7'"));
  EXPECT_THAT(message(std::string(100'000, 'x')), testing::SizeIs(testing::Lt(400)));
  for (const char* nothing : {"", "\n"}) {
    EXPECT_THAT(message(nothing),
                HasSubstr("description cannot be read: it printed nothing; is it a worker?"));
  }
  EXPECT_THAT(message(description + description), HasSubstr("parse error at line 2"));
}

}  // namespace
}  // namespace peakmark
