#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

const std::string kSuite = R"toml(name = "nightly"
window = "0.8:1.0"
backend = "auto"

[[sweep]]
variants = ["padding/coords2d", "padding/coords1d"]
backend = ["opencl", "dry"]
estimators = ["padding/documented"]
axes.mode = ["constant", "edge"]
axes.n = 20
axes.ny = { pow2 = [8, 11] }
axes.nx = { from = 500, to = 520, step = 7 }
axes.pad_y0 = { formula = "max(ny / 2, nx % 7) - (n - 3)" }
zip = [{ pad_x0 = [0, 3], pad_x1 = [5, 0] }]

[[sweep.rule]]
when = { mode = "edge", variant = "padding/*", nx = [500, 507] }
window = "0.5:1.0"
expect = "out_of_memory"

[[sweep]]
variants = "vertical_shift/*"
axes.shift = ["random8", "zero"]
)toml";

std::string mutated(std::mt19937_64& random) {
  static const std::string letters = "\"'[]{}=,.:#-+*/%()0123456789\n aefnx\xff\\";
  const auto below = [&](std::size_t n) { return random() % n; };
  std::string text = kSuite;
  for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = below(text.size());
    switch (below(8)) {
      case 0:
        text[at] = letters[below(letters.size())];
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        text.insert(at, 1, letters[below(letters.size())]);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(60)));
        break;
      case 4:
        text.resize(at);
        break;
      default:  // most changes elsewhere break the form: this one mostly leaves it and changes a number
        if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos) {
          text[digit] = static_cast<char>('0' + below(10));
        }
    }
  }
  return text;
}

// Any text is a suite or causes a UsageError. Another exception, a crash or a hang fails here, and the
// sanitizers detect wrong accesses too.
TEST(SuiteMutation, IsASuiteOrAUsageError) {
  ASSERT_NO_THROW((void)expand_suites({parse_suite_document(kSuite, "s.toml")}, example_description(), {}));
  std::mt19937_64 random(8);
  int suites = 0;
  int errors = 0;
  for (int i = 0; i < 1200; ++i) {
    const std::string text = mutated(random);
    try {
      const Suite suite = expand_suites({parse_suite_document(text, "s.toml")}, example_description(), {});
      EXPECT_FALSE(suite.cases.empty()) << text;
      ++suites;
    } catch (const UsageError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("s.toml:")) << error.what() << "\n" << text;
      ++errors;
    }
  }
  EXPECT_GT(suites, 30);
  EXPECT_GT(errors, 30);
}

}  // namespace
}  // namespace peakmark
