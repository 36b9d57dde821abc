#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite_document.hpp"

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

// Lines 1 and 2 of each sweep below.
const std::string kPadding = "[[sweep]]\nvariants = 'padding/coords1d'\n";

TEST(SuiteMistake, OfASweepNamesFileLineAndKey) {
  const Mistake mistakes[] = {
      {"tolerance = 1e-5", "s.toml:3: tolerance: suites cannot set a tolerance: it follows"},
      {"axis.nx = 3", "s.toml:3: axis: unknown key; did you mean 'axes'?"},
      {"axes.nxx = 3", "s.toml:3: axes.nxx: padding/coords1d has no axis 'nxx'; did you mean 'nx'?"},
      {"axes.mode = 'egde'",
       "s.toml:3: axes.mode: unknown word of axis 'mode': 'egde'; did you mean 'edge'?"},
      {"axes.mode = [\n'edge',\n'warp']",
       "s.toml:5: axes.mode: unknown word of axis 'mode': 'warp'; did you mean 'wrap'"},
      {"axes.mode = 3", "s.toml:3: axes.mode: axis 'mode' is a word: '3' is not"},
      {"axes.nx = 51.5", "s.toml:3: axes.nx: axis 'nx' is an integer: '51.5' is not"},
      {"axes.nx = 'wide'", "s.toml:3: axes.nx: axis 'nx' is an integer: 'wide' is not"},
      {"axes.nx = -1", "s.toml:3: axes.nx: axis 'nx' must be at least 1, not -1"},
      {"axes.pad_y0 = [0, -1]", "s.toml:3: axes.pad_y0: axis 'pad_y0' must be at least 0, not -1"},
      {"axes.nx = 9223372036854775808", "s.toml:3:30: Error while parsing decimal integer"},
      {"axes.nx = [1, # = 1\n\n9223372036854775808]", "s.toml:5:20: Error while parsing decimal integer"},
      {"zip = [{ nx = [1], 'pad y' = [9223372036854775808] }]", "s.toml:3:50: Error while"},
      {"[[sweep.rule]]\nwhen = { n = 9223372036854775808 }", "s.toml:4:33: Error while parsing"},
      {"mode = 'a=\nnx = 1", "s.toml:3:11: Error while parsing literal string"},
      {"[[sweep", "s.toml:3:8: Error while parsing table header"},
      {"nx", "s.toml:3:3: Error while parsing key-value pair"},
      {"axes.nx = []", "s.toml:3: axes.nx: empty list"},
      {"axes.nx = [[1]]", "s.toml:3: axes.nx: must be a number or a quoted string"},
      {"axes.nx = true", "s.toml:3: axes.nx: must be a number or a quoted string"},
      {"axes.nx = 2026-01-01", "s.toml:3: axes.nx: must be a number or a quoted string"},
      {"axes.nx = [4, 4]", "s.toml:1: sweep: duplicate case padding/coords1d/auto/nx:4: it is already in"},
      {"axes = 3", "s.toml:3: axes: must be a table of axes"},
      {"axes.nx = { from = 1 }", "s.toml:3: axes.nx: must be a list, { from, to, step }"},
      {"axes.nx = { from = 5, to = 1 }", "s.toml:3: axes.nx: empty range: 5 to 1"},
      {"axes.nx = { from = 1, to = 5, step = 0 }", "s.toml:3: axes.nx: step must be at least 1, not 0"},
      {"axes.nx = { from = 1, to = 5, stp = 2 }", "s.toml:3: axes.nx.stp: unknown key; did you mean 'step'?"},
      {"axes.nx = { from = 1, to = 5, pow2 = [1, 2] }",
       "s.toml:3: axes.nx.from: cannot be combined with 'pow2'"},
      {"axes.nx = { from = 1, to = 'x' }", "s.toml:3: axes.nx: 'x' is not an integer"},
      {"axes.nx = { from = 1, to = 9000000000000000000 }",
       "s.toml:3: axes.nx: range of more than 2000000 values"},
      {"axes.nx = { pow2 = 3 }", "s.toml:3: axes.nx: must be [MIN, MAX]"},
      {"axes.nx = { pow2 = [3, 63] }", "s.toml:3: axes.nx: pow2 = [3, 63]: must be 0 ≤ MIN ≤ MAX ≤ 62"},
      {"axes.nx = { formula = 'ny +' }", "s.toml:3: axes.nx: formula 'ny +', column 5: unexpected end"},
      {"axes.nx = { formula = 'ny', step = 2 }", "s.toml:3: axes.nx.step: unknown key"},
      {"axes.nx = { formula = 3 }", "s.toml:3: axes.nx: must be a quoted string"},
      {"axes.nx = { formula = 'nz' }", "s.toml:3: axes.nx: padding/coords1d has no axis 'nz'; did you mean"},
      {"axes.nx = { formula = 'mode' }", "s.toml:3: axes.nx: axis 'mode' of padding/coords1d is a word"},
      {"axes.mode = { formula = 'ny' }", "s.toml:3: axes.mode: axis 'mode' of padding/coords1d is a word"},
      {"axes.nx = { formula = 'nx + 1' }", "s.toml:3: axes.nx: circular formula 'nx + 1'"},
      {"axes.nx = { formula = 'ny' }\naxes.ny = { formula = 'nx' }",
       "s.toml:3: axes.nx: circular formula 'ny'"},
      {"axes.nx = { formula = 'ny * 9223372036854775807' }",
       "s.toml:3: axes.nx: formula 'ny * 9223372036854775807', column 4: 512 * 9223372036854775807 does not "
       "fit"},
      {"axes.nx = { formula = 'ny - 512' }",
       "s.toml:3: axes.nx: axis 'nx' must be at least 1, not 0 (formula 'ny - 512' with ny = 512)"},
      {"axes.nx = { formula = 'ny / (n - 20)' }",
       "s.toml:3: axes.nx: formula 'ny / (n - 20)', column 4: 512 / 0"},
      {"zip = [{ nx = [1, 2], ny = [1] }]", "s.toml:3: zip.ny: 1 values, but the zipped axis 'nx' has 2"},
      {"zip = { nx = [1, 2] }", "s.toml:3: zip: must be written as an array of tables"},
      {"zip = [{}]", "s.toml:3: zip: empty group"},
      {"zip = [{ nx = { formula = 'ny' } }]", "s.toml:3: zip.nx: formulas cannot be zipped"},
      {"axes.nx = 3\nzip = [{ nx = [1, 2] }]",
       "s.toml:4: zip.nx: duplicate axis 'nx': it is already in s.toml:3"},
      {"backend = 'opncl'", "s.toml:3: backend: unknown backend 'opncl'; did you mean 'opencl'?"},
      {"backend = [1]", "s.toml:3: backend: 1 is not a quoted string"},
      {"backend = ['dry', 'dry']", "s.toml:1: sweep: duplicate case padding/coords1d/dry: it is"},
      {"window = '1.0:0.8'", "s.toml:3: window: malformed window '1.0:0.8': 1 is more than 0.8"},
      {"window = 'wide'", "s.toml:3: window: malformed window 'wide'"},
      {"window = 0.8", "s.toml:3: window: must be a quoted string"},
      {"expect = 'out_of_memry'",
       "s.toml:3: expect: unknown outcome 'out_of_memry'; did you mean 'out_of_memory'?"},
      {"max_peak = 3000", "s.toml:3: max_peak: a number has no unit: write a string such as \"3 GiB\""},
      {"max_peak = '3000'", "s.toml:3: max_peak: '3000' has no unit"},
      {"max_peak = true", "s.toml:3: max_peak: must be a quoted string"},
      {"max_time = 2.5", "s.toml:3: max_time: a number has no unit"},
      {"max_time = '2 minutes'", "s.toml:3: max_time: '2 minutes' is not a time"},
      {"max_peak_over_floor = 0", "s.toml:3: max_peak_over_floor: must be a number above 0"},
      {"max_peak_over_floor = nan", "s.toml:3: max_peak_over_floor: must be a number above 0"},
      {"max_peak_over_floor = '1.05'", "s.toml:3: max_peak_over_floor: must be a number above 0"},
      {"allow_growth = 5", "s.toml:3: allow_growth: a number has no unit: write a string such as \"5 %\""},
      {"allow_growth = '5'", "s.toml:3: allow_growth: '5' has no unit: write a percentage or a size"},
      {"allow_shrinking = '101 %'", "s.toml:3: allow_shrinking: '101 %' is not a percentage"},
      {"allow_shrinking = true", "s.toml:3: allow_shrinking: must be a quoted string"},
      {"max_metric = 3",
       "s.toml:3: max_metric: must be a table of metrics: max_metric = { iterations = 30 }"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nmax_metric = 3",
       "s.toml:5: rule.max_metric: must be a table of metrics: max_metric = { iterations = 30 }"},
      {"min_metric = {}", "s.toml:3: min_metric: must be a table of metrics"},
      {"max_metric = { iterations = '3' }", "s.toml:3: max_metric.iterations: must be a number"},
      {"max_metric = { iterations = nan }", "s.toml:3: max_metric.iterations: must be a number"},
      {"max_metric = { 'a b' = 3 }", "s.toml:3: max_metric.a b: 'a b' is not the name of a metric"},
      {"min_metric = { peak = 3 }", "s.toml:3: min_metric.peak: a metric cannot be called 'peak'"},
      {"version = 0", "s.toml:3: version: version 0: must be 1 or more"},
      {"version = '2'", "s.toml:3: version: "},
      {"version = 1.5", "s.toml:3: version: "},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nversion = -2",
       "s.toml:5: rule.version: version -2: must be 1 or more"},
      {"estimators = ['padding/documentd']",
       "s.toml:3: estimators: padding/coords1d has no estimator 'padding/documentd'; did you mean "
       "'padding/documented'"},
      {"rule = 3", "s.toml:3: rule: must be written as [[sweep.rule]]"},
      {"[[sweep.rule]]\nexpect = 'ok'", "s.toml:3: rule: no condition: add when"},
      {"[[sweep.rule]]\nwhen = 3", "s.toml:4: rule.when: must be a table"},
      {"[[sweep.rule]]\nwhen = { n = 3 }", "s.toml:3: rule: the rule matches no case of its sweep"},
      {"[[sweep.rule]]\nwhen = { nz = 3 }",
       "s.toml:4: rule.when.nz: padding/coords1d has no axis 'nz'; did you mean"},
      {"[[sweep.rule]]\nwhen = { mode = 'egde' }",
       "s.toml:4: rule.when.mode: unknown word of axis 'mode': 'egde'; did you"},
      {"[[sweep.rule]]\nwhen = { variant = 'pading/*' }",
       "s.toml:4: rule.when.variant: unknown variant 'pading/*'; did you mean 'padding/*'?"},
      {"[[sweep.rule]]\nwhen = { backend = 'cud' }",
       "s.toml:4: rule.when.backend: unknown backend 'cud'; did you mean 'cuda'"},
      {"[[sweep.rule]]\nwhen = { backend = 'auto' }",
       "s.toml:4: rule.when.backend: rules apply to resolved backends"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nskip = 1", "s.toml:5: rule.skip: must be true or false"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nskp = true",
       "s.toml:5: rule.skp: unknown key; did you mean 'skip'?"},
      {"[[sweep.rule]]\nwhen = { n = 20 }\nskip = true", "s.toml:1: sweep: empty sweep"},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string message = message_of(kPadding + mistake.text + "\n");
    EXPECT_TRUE(message.starts_with(mistake.message))
        << mistake.text << "\n  says      " << message << "\n  should be " << mistake.message;
  }
}

TEST(SuiteMistake, OfAFileNamesFileLineAndKey) {
  const Mistake mistakes[] = {
      {"", "s.toml:1: sweep: no [[sweep]] in the suite"},
      {"sweep = []", "s.toml:1: sweep: no [[sweep]] in the suite"},
      {"sweep = 3", "s.toml:1: sweep: must be written as [[sweep]]"},
      {"\nnmae = 'x'", "s.toml:2: nmae: unknown key; did you mean 'name'?"},
      {"name = ''", "s.toml:1: name: empty name"},
      {"name = 3", "s.toml:1: name: must be a quoted string"},
      {"\n[[sweep]]\naxes.nx = 3", "s.toml:2: variants: no variants in the sweep"},
      {"[[sweep]]\nvariants = []", "s.toml:2: variants: empty list"},
      {"[[sweep]]\nvariants = 'padding/coord1d'",
       "s.toml:2: variants: unknown variant 'padding/coord1d'; did you mean"},
      {"[[sweep]]\nvariants = 'fbp/*'", "s.toml:2: variants: unknown variant 'fbp/*'"},
      {"[[sweep]]\nvariants = 'scale/one'",
       "s.toml:2: variants: unknown variant 'scale/one'; known: padding/coords2d, padding/coords1d, "
       "padding/computed, vertical_shift/fused; name your own worker with --worker PROGRAM"},
      {"[[sweep]]\nvariants = ['padding/*', 'padding/coords1d']",
       "s.toml:2: variants: duplicate variant: 'padding/coords1d' names padding/coords1d"},
      {"[[sweep]]\nvariants = ['padding/coords1d', 'vertical_shift/fused']\naxes.ny = 3",
       "s.toml:3: axes.ny: vertical_shift/fused has no axis 'ny'"},
      {"[[sweep]]\nvariants = ['vertical_shift/fused']\naxes.shift = 'a/b'",
       "s.toml:3: axes.shift: axis 'shift': 'a/b' contains '/'"},
      {"[[sweep]]\nvariants = 'padding/coords1d'\n[[sweep]]\nvariants = 'padding/coords1d'",
       "s.toml:3: sweep: duplicate case padding/coords1d/auto: it is already in s.toml:1"},
      {"[[sweep]\n", "s.toml:1:9: "},
      {"a = \n", "s.toml:1:5: "},
      {"a = 1\na = 2\n", "s.toml:2:5: "},
      {"\xff\xfe", "s.toml:1:1: "},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string message = message_of(mistake.text);
    EXPECT_TRUE(message.starts_with(mistake.message))
        << mistake.text << "\n  says      " << message << "\n  should be " << mistake.message;
  }
}

TEST(SuiteMistake, TooManyCasesAreReportedAtOnce) {
  const std::string thousand = "{ from = 1, to = 1000 }";
  EXPECT_EQ(
      message_of(kPadding + "axes.n = " + thousand + "\naxes.ny = " + thousand + "\naxes.nx = " + thousand),
      "s.toml:1: sweep: more than 2000000 cases in the sweep");
  // Each sweep is within the limit, but not their sum, which is checked before any sweep is expanded.
  const std::string many = kPadding + "axes.n = 1\n" + kPadding + "axes.ny = " + thousand +
                           "\naxes.nx = { from = 1, to = 2000 }\n";
  EXPECT_EQ(message_of(many), "s.toml:4: sweep: more than 2000000 cases in the suite");
}

}  // namespace
}  // namespace peakmark
