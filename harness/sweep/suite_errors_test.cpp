#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sweep/sample_description.hpp"
#include "sweep/suite_document.hpp"

namespace peakmark {
namespace {

std::string message_of(const std::string& text) {
  try {
    (void)expand_suites({parse_suite_document(text, "s.toml")}, example_description(), {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

struct Mistake {
  const char* text;
  const char* message;  ///< how it begins
};

// Line 1 and 2 of each sweep below.
const std::string kPadding = "[[sweep]]\nvariants = 'padding/coords1d'\n";

TEST(SuiteMistake, OfASweepNamesFileLineAndKey) {
  const Mistake mistakes[] = {
      {"tolerance = 1e-5", "s.toml:3: tolerance: a suite sets no tolerance: how far a result may be"},
      {"axis.nx = 3", "s.toml:3: axis: unknown key; did you mean 'axes'?"},
      {"axes.nxx = 3", "s.toml:3: axes.nxx: padding/coords1d has no axis 'nxx'; did you mean 'nx'?"},
      {"axes.mode = 'egde'", "s.toml:3: axes.mode: axis 'mode' has no word 'egde'; did you mean 'edge'?"},
      {"axes.mode = [\n'edge',\n'warp']",
       "s.toml:5: axes.mode: axis 'mode' has no word 'warp'; did you mean 'wrap'"},
      {"axes.mode = 3", "s.toml:3: axes.mode: axis 'mode' is a word, '3' is none"},
      {"axes.nx = 51.5", "s.toml:3: axes.nx: 51.5 is no integer; sizes are whole numbers"},
      {"axes.nx = 'wide'", "s.toml:3: axes.nx: axis 'nx' is an integer, 'wide' is none"},
      {"axes.nx = -1", "s.toml:3: axes.nx: axis 'nx' is at least 1, not -1"},
      {"axes.pad_y0 = [0, -1]", "s.toml:3: axes.pad_y0: axis 'pad_y0' is at least 0, not -1"},
      {"axes.nx = 9223372036854775808", "s.toml:3: axes.nx: Error while parsing decimal integer"},
      {"axes.nx = [1, # = 1\n\n9223372036854775808]",
       "s.toml:5: axes.nx: Error while parsing decimal integer"},
      {"zip = [{ nx = [1], 'pad y' = [9223372036854775808] }]", "s.toml:3: zip.'pad y': Error while"},
      {"[[sweep.rule]]\nwhen = { n = 9223372036854775808 }", "s.toml:4: when.n: Error while parsing"},
      {"mode = 'a=\nnx = 1", "s.toml:3: mode: Error while parsing literal string"},
      {"[[sweep", "s.toml:3: Error while parsing table header"},
      {"nx", "s.toml:3: Error while parsing key-value pair"},
      {"axes.nx = []", "s.toml:3: axes.nx: the list is empty"},
      {"axes.nx = [[1]]", "s.toml:3: axes.nx: is an integer or a word in quotes"},
      {"axes.nx = true", "s.toml:3: axes.nx: is an integer or a word in quotes"},
      {"axes.nx = 2026-01-01", "s.toml:3: axes.nx: is an integer or a word in quotes"},
      {"axes.nx = [4, 4]",
       "s.toml:1: sweep: gives the case padding/coords1d/auto/nx:4 a second time; the first time"},
      {"axes = 3", "s.toml:3: axes: is a table of axes"},
      {"axes.nx = { from = 1 }", "s.toml:3: axes.nx: is a list, { from, to, step }"},
      {"axes.nx = { from = 5, to = 1 }", "s.toml:3: axes.nx: the range from 5 to 1 is empty"},
      {"axes.nx = { from = 1, to = 5, step = 0 }", "s.toml:3: axes.nx: the step is at least 1, not 0"},
      {"axes.nx = { from = 1, to = 5, stp = 2 }", "s.toml:3: axes.nx.stp: unknown key; did you mean 'step'?"},
      {"axes.nx = { from = 1, to = 5, pow2 = [1, 2] }", "s.toml:3: axes.nx.from: does not go with 'pow2'"},
      {"axes.nx = { from = 1, to = 'x' }", "s.toml:3: axes.nx: 'x' is no integer"},
      {"axes.nx = { from = 1, to = 9000000000000000000 }",
       "s.toml:3: axes.nx: the range has more than 2000000 values"},
      {"axes.nx = { pow2 = 3 }", "s.toml:3: axes.nx: pow2 is [LEAST, MOST]"},
      {"axes.nx = { pow2 = [3, 63] }", "s.toml:3: axes.nx: pow2 = [3, 63]: write 0 ≤ LEAST ≤ MOST ≤ 62"},
      {"axes.nx = { formula = 'ny +' }", "s.toml:3: axes.nx: formula 'ny +', column 5: it ends where"},
      {"axes.nx = { formula = 'ny', step = 2 }", "s.toml:3: axes.nx.step: unknown key"},
      {"axes.nx = { formula = 3 }", "s.toml:3: axes.nx: is a text in quotes"},
      {"axes.nx = { formula = 'nz' }", "s.toml:3: axes.nx: padding/coords1d has no axis 'nz'; did you mean"},
      {"axes.nx = { formula = 'mode' }", "s.toml:3: axes.nx: axis 'mode' of padding/coords1d is a word"},
      {"axes.mode = { formula = 'ny' }", "s.toml:3: axes.mode: axis 'mode' of padding/coords1d is a word"},
      {"axes.nx = { formula = 'nx + 1' }", "s.toml:3: axes.nx: the formula 'nx + 1' needs itself"},
      {"axes.nx = { formula = 'ny' }\naxes.ny = { formula = 'nx' }",
       "s.toml:3: axes.nx: the formula 'ny' needs itself"},
      {"axes.nx = { formula = 'ny * 9223372036854775807' }",
       "s.toml:3: axes.nx: formula 'ny * 9223372036854775807', column 4: 512 * 9223372036854775807 does not "
       "fit"},
      {"axes.nx = { formula = 'ny - 512' }",
       "s.toml:3: axes.nx: axis 'nx' is at least 1, not 0 (formula 'ny - 512' with ny = 512)"},
      {"axes.nx = { formula = 'ny / (n - 20)' }",
       "s.toml:3: axes.nx: formula 'ny / (n - 20)', column 4: 512 / 0"},
      {"zip = [{ nx = [1, 2], ny = [1] }]",
       "s.toml:3: zip.ny: has 1 values, but 'nx', which it is zipped with, has 2"},
      {"zip = { nx = [1, 2] }", "s.toml:3: zip: is written as an array of tables"},
      {"zip = [{}]", "s.toml:3: zip: a group without axes"},
      {"zip = [{ nx = { formula = 'ny' } }]", "s.toml:3: zip.nx: a formula stands under axes"},
      {"axes.nx = 3\nzip = [{ nx = [1, 2] }]", "s.toml:4: zip.nx: the axis 'nx' stands already at s.toml:3"},
      {"backend = 'opncl'", "s.toml:3: backend: no backend 'opncl'; did you mean 'opencl'?"},
      {"backend = [1]", "s.toml:3: backend: 1 is no text in quotes"},
      {"backend = ['dry', 'dry']", "s.toml:1: sweep: gives the case padding/coords1d/dry a second time"},
      {"window = '1.0:0.8'", "s.toml:3: window: window '1.0:0.8': 1 is more than 0.8"},
      {"window = 'wide'", "s.toml:3: window: 'wide' is no window"},
      {"window = 0.8", "s.toml:3: window: is a text in quotes"},
      {"expect = 'out_of_memry'",
       "s.toml:3: expect: no outcome 'out_of_memry'; did you mean 'out_of_memory'?"},
      {"estimators = ['padding/documentd']",
       "s.toml:3: estimators: padding/coords1d has no estimator 'padding/documentd'; did you mean "
       "'padding/documented'"},
      {"rule = 3", "s.toml:3: rule: is written as [[sweep.rule]]"},
      {"[[sweep.rule]]\nexpect = 'ok'", "s.toml:3: rule: a rule says when it holds"},
      {"[[sweep.rule]]\nwhen = 3", "s.toml:4: rule.when: is a table"},
      {"[[sweep.rule]]\nwhen = { n = 3 }", "s.toml:3: rule: the rule holds for no case of its sweep"},
      {"[[sweep.rule]]\nwhen = { nz = 3 }",
       "s.toml:4: rule.when.nz: padding/coords1d has no axis 'nz'; did you mean"},
      {"[[sweep.rule]]\nwhen = { mode = 'egde' }",
       "s.toml:4: rule.when.mode: axis 'mode' has no word 'egde'; did you"},
      {"[[sweep.rule]]\nwhen = { variant = 'pading/*' }",
       "s.toml:4: rule.when.variant: no variant 'pading/*'; did you mean 'padding/*'?"},
      {"[[sweep.rule]]\nwhen = { backend = 'cud' }",
       "s.toml:4: rule.when.backend: no backend 'cud'; did you mean 'cuda'"},
      {"[[sweep.rule]]\nwhen = { backend = 'auto' }",
       "s.toml:4: rule.when.backend: rules see the backend that auto"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nskip = 1", "s.toml:5: rule.skip: is true or false"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nskp = true",
       "s.toml:5: rule.skp: unknown key; did you mean 'skip'?"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nskip = true", "s.toml:1: sweep: the sweep is empty"},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string message = message_of(kPadding + mistake.text + "\n");
    EXPECT_TRUE(message.starts_with(mistake.message))
        << mistake.text << "\n  says      " << message << "\n  should be " << mistake.message;
  }
}

TEST(SuiteMistake, OfAFileNamesFileLineAndKey) {
  const Mistake mistakes[] = {
      {"", "s.toml:1: sweep: the suite has no [[sweep]]"},
      {"sweep = []", "s.toml:1: sweep: the suite has no [[sweep]]"},
      {"sweep = 3", "s.toml:1: sweep: is written as [[sweep]]"},
      {"\nnmae = 'x'", "s.toml:2: nmae: unknown key; did you mean 'name'?"},
      {"name = ''", "s.toml:1: name: the name is empty"},
      {"name = 3", "s.toml:1: name: is a text in quotes"},
      {"\n[[sweep]]\naxes.nx = 3", "s.toml:2: variants: the sweep names no variants"},
      {"[[sweep]]\nvariants = []", "s.toml:2: variants: the list is empty"},
      {"[[sweep]]\nvariants = 'padding/coord1d'",
       "s.toml:2: variants: no variant 'padding/coord1d'; did you mean"},
      {"[[sweep]]\nvariants = 'fbp/*'", "s.toml:2: variants: no variant 'fbp/*'"},
      {"[[sweep]]\nvariants = 'scale/one'",
       "s.toml:2: variants: no variant 'scale/one'; known: padding/coords2d, padding/coords1d, "
       "padding/computed, vertical_shift/fused; of a worker of yours: --worker PROGRAM"},
      {"[[sweep]]\nvariants = ['padding/*', 'padding/coords1d']",
       "s.toml:2: variants: 'padding/coords1d' names padding/coords1d a second time"},
      {"[[sweep]]\nvariants = ['padding/coords1d', 'vertical_shift/fused']\naxes.ny = 3",
       "s.toml:3: axes.ny: vertical_shift/fused has no axis 'ny'"},
      {"[[sweep]]\nvariants = ['vertical_shift/fused']\naxes.shift = 'a/b'",
       "s.toml:3: axes.shift: axis 'shift': the word"},
      {"[[sweep]]\nvariants = 'padding/coords1d'\n[[sweep]]\nvariants = 'padding/coords1d'",
       "s.toml:3: sweep: gives the case padding/coords1d/auto a second time; the first time is at s.toml:1"},
      {"[[sweep]\n", "s.toml:1: "},
      {"a = \n", "s.toml:1: "},
      {"a = 1\na = 2\n", "s.toml:2: "},
      {"\xff\xfe", "s.toml:1: "},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string message = message_of(mistake.text);
    EXPECT_TRUE(message.starts_with(mistake.message))
        << mistake.text << "\n  says      " << message << "\n  should be " << mistake.message;
  }
}

TEST(SuiteMistake, TooManyCasesAreSaidAtOnce) {
  const std::string thousand = "{ from = 1, to = 1000 }";
  EXPECT_EQ(
      message_of(kPadding + "axes.n = " + thousand + "\naxes.ny = " + thousand + "\naxes.nx = " + thousand),
      "s.toml:1: sweep: the sweep has more than 2000000 cases");
  // Each sweep alone is within the limit; none is expanded before the sum is looked at.
  const std::string many = kPadding + "axes.n = 1\n" + kPadding + "axes.ny = " + thousand +
                           "\naxes.nx = { from = 1, to = 2000 }\n";
  EXPECT_EQ(message_of(many), "s.toml:4: sweep: the suite has more than 2000000 cases");
}

}  // namespace
}  // namespace peakmark
