#include "analyse/explain/report/emit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<VariantFormulas> formulas(const Run& run) {
  return explain_cases(group_cases(run));
}

Run padding_and_filter_run() {
  Run run = padding_run({"edge", "constant", "wrap"}, {4, 8});
  for (Observation& observation : filter_run().observations)
    run.observations.push_back(std::move(observation));
  return run;
}

// Runs the emitted module, then `check`, with the system's Python; returns what it prints.
std::string python(const std::string& module, const std::string& check) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "estimator.py") << module;
  std::ofstream(folder.path() / "check.py") << check;
  const std::string output = folder.path() / "output";
  const std::string command = "cd '" + folder.path().string() + "' && python3 check.py > output 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_text_file(output);
  return read_text_file(output);
}

// A replacement of numpy's dtype, because Python may have no numpy, and the arguments for emitted modules.
constexpr const char* kNumpy = R"(
import sys, types
class dtype:
    def __init__(self, name): self.name = getattr(name, "name", name)
    def __eq__(self, other): return self.name == other.name
numpy = types.ModuleType("numpy")
numpy.dtype = dtype
sys.modules["numpy"] = numpy
import estimator
from estimator import *
def raises(kind, call):
    try:
        call()
    except kind as error:
        print(error)
    else:
        raise AssertionError("no " + kind.__name__)
)";

// Returns a line of Python that compares the emitted bytes with those of a case that was never recorded.
std::string assertion(const Observation& observation, const std::string& variant = "") {
  std::string axes;
  for (const auto& [axis, value] : observation.axes.values()) {
    const bool is_word = std::holds_alternative<std::string>(value);
    axes += ", " + axis + "=" + (is_word ? "'" + to_text(value) + "'" : to_text(value));
  }
  axes = variant.empty() ? axes.substr(2) : "'" + variant + "'" + axes;
  return "assert peak_bytes(" + axes + ") == " + std::to_string(*observation.requested_peak_bytes) +
         ", peak_bytes(" + axes + ")\n";
}

const std::vector<SampleAxes>& unseen_shapes() {
  static const std::vector<SampleAxes> shapes{
      {1, 4096, 4096, 2048, 2048}, {20, 1801, 2560, 3, 800}, {7, 100, 99, 0, 0}, {900, 43, 16385, 1, 2}};
  return shapes;
}

// Returns a case whose bytes do not fit into 64 bits.
Observation too_large(Observation unseen) {
  for (const char* const axis : {"n", "ny", "nx"}) unseen.axes.set(axis, Size{1} << 31);
  return unseen;
}

TEST(EmitPython, IsExactAtShapesThatWereNotRecorded) {
  const auto run = padding_run({"edge", "constant", "wrap"}, {4, 8});
  std::string check = "from estimator import peak_bytes\n";
  for (const SampleAxes& shape : unseen_shapes()) {
    for (const char* const mode : {"edge", "constant", "wrap"}) {
      for (const Size item_size : {4, 8}) check += assertion(padding_observation(shape, mode, item_size));
    }
  }
  python(emit(formulas(run), run.context, {}), check + "print('ran')\n");
}

TEST(EmitPython, NumbersBeyond64BitsAreExact) {
  const auto run = filter_run();
  python(emit(formulas(run), run.context, {}), R"(from estimator import peak_bytes
k = 2**31
assert peak_bytes(n=k, ny=k, nx=k, pad_y=7, pad_x=9) == 8 * k**3 + 12 * k**2 + 8 * k**2
)");
}

TEST(Emit, FloatingPointNumbersChooseAFormula) {
  const auto run = blur_run();
  std::string check = "from estimator import peak_bytes\n";
  for (const double sigma : {0.5, 0.6, 1.0}) check += assertion(blur_observation(unseen_shapes()[0], sigma));
  python(emit(formulas(run), run.context, {}), check + std::string(kNumpy) + R"(
raises(ValueError, lambda: peak_bytes(n=1, ny=2, nx=3, pad_y=0, pad_x=0, sigma=0.7))
)");
  EmitOptions options;
  options.form = EmitForm::toml;
  EXPECT_THAT(emit(formulas(run), run.context, options),
              HasSubstr("when = { variant = \"blur/one\", sigma = [0.5, 0.6] }"));
  options.form = EmitForm::cpp;
  EXPECT_THAT(emit(formulas(run), run.context, options),
              HasSubstr("if (is_one_of(c.real(\"sigma\"), {0.5, 0.6})) {"));
}

TEST(EmitPython, TakesTheVariantWhereThereAreSeveral) {
  auto run = padding_run({"edge"});
  for (Observation& observation : filter_run().observations)
    run.observations.push_back(std::move(observation));
  std::string check = "from estimator import peak_bytes\n";
  for (const SampleAxes& shape : unseen_shapes()) {
    check += assertion(padding_observation(shape, "edge"), "padding/nabu");
    check += assertion(filter_observation(shape), "filter/stripes");
  }
  python(emit(formulas(run), run.context, {}), check);
}

TEST(EmitPython, RefusesWordsAndDtypesThatWereNotRecorded) {
  const auto run = padding_run({"edge", "wrap"}, {4, 8});
  const std::string output = python(emit(formulas(run), run.context, {}), std::string(kNumpy) + R"(
shape = dict(n=1, ny=2, nx=3, pad_y=1, pad_x=1)
raises(ValueError, lambda: peak_bytes(mode="constant", dtype="f32", **shape))
raises(ValueError, lambda: peak_bytes(mode="edge", dtype="uint8", **shape))
raises(TypeError, lambda: peak_bytes(mode="edge", **shape))
raises(TypeError, lambda: peak_bytes(mode="edge", dtype="f32", n=1))
raises(ValueError, lambda: calc_max_slices(0, (2, 3), dtype("int16"), 1 << 30, mode="edge", pad_y=1, pad_x=1))
)");
  EXPECT_EQ(output,
            "padding/nabu: no formula for mode=constant: it was not recorded; recorded: edge, wrap\n"
            "padding/nabu: no formula for dtype=u8: it was not recorded; recorded: f32, f64\n"
            "padding/nabu: no value for dtype; recorded: f32, f64\n"
            "padding/nabu: no value for ny, nx, pad_y, pad_x\n"
            "padding/nabu: no formula for dtype=i16: it was not recorded; recorded: f32, f64\n");
}

// Returns lines of Python that ask an emitted module in httomo's forms about a case that was never recorded.
std::string in_httomos_forms(const Observation& unseen, Size item_size, const std::string& parameters,
                             const std::string& method, const std::string& variant = "") {
  const std::string dims = fmt::format("({}, {})", unseen.axes.integer("ny"), unseen.axes.integer("nx"));
  const std::string dtype = fmt::format("dtype('float{}')", 8 * item_size);
  const std::string pads = fmt::format("pad_y={}, pad_x={}{}", unseen.axes.integer("pad_y"),
                                       unseen.axes.integer("pad_x"), parameters);
  const Size n = unseen.axes.integer("n");
  const Size peak = *unseen.requested_peak_bytes;
  const std::string of_variant = variant.empty() ? "" : ", variant='" + variant + "'";
  return fmt::format(
      "assert calc_max_slices(0, {0}, {1}, {2}, {3}{4}) == ({5}, {1})\n"
      "assert calc_max_slices(1, {0}, {1}, {2} - 1, {3}{4}) == ({5} - 1, {1})\n"
      "assert calc_max_slices(0, {0}, {1}, 10, {3}{4}) == (0, {1})\n"
      "assert estimator._calc_memory_bytes_for_slices_{6}(({5}, *{0}), {1}, {3}, other='ignored') == {2}\n"
      "per_slice, fixed = estimator._calc_memory_bytes_{6}({0}, {1}, {3}, other='ignored')\n"
      "assert {5} * per_slice + fixed == {2}, (per_slice, fixed)\n",
      dims, dtype, peak, pads, of_variant, n, method);
}

TEST(EmitPython, AnswersInHttomosFormsForEachDtype) {
  const auto run = padding_run({"edge", "constant"}, {4, 8});
  std::string check = kNumpy;
  for (const SampleAxes& shape : unseen_shapes()) {
    for (const char* const mode : {"edge", "constant"}) {
      for (const Size item_size : {4, 8})
        check += in_httomos_forms(padding_observation(shape, mode, item_size), item_size,
                                  fmt::format(", mode='{}'", mode), "padding");
    }
  }
  python(emit(formulas(run), run.context, {}), check);
}

TEST(EmitPython, AnswersInHttomosFormsForEachVariant) {
  auto run = padding_run({"edge"});
  for (Observation& observation : filter_run().observations)
    run.observations.push_back(std::move(observation));
  std::string check = kNumpy;
  for (const SampleAxes& shape : unseen_shapes()) {
    check += in_httomos_forms(padding_observation(shape, "edge"), 4, "", "padding", "padding/nabu");
    check += in_httomos_forms(filter_observation(shape), 4, "", "filter", "filter/stripes");
  }
  python(emit(formulas(run), run.context, {}), check);
}

TEST(EmitPython, WithoutAnAxisTheDtypeIsTheStatedOne) {
  const auto run = filter_run();
  const auto refused = [&](const char* dtype) {
    return std::string(kNumpy) + "raises(ValueError, lambda: calc_max_slices(0, (101, 53), dtype('" + dtype +
           "'), 1 << 30, pad_y=7, pad_x=9))\n";
  };
  EXPECT_EQ(python(emit(formulas(run), run.context, {}), refused("uint16")),
            "filter/stripes: no formula for dtype=u16: it was not recorded; recorded: f32\n");
  EmitOptions options;
  options.dtype = DType::u16;
  EXPECT_EQ(python(emit(formulas(run), run.context, options), refused("float32")),
            "filter/stripes: no formula for dtype=f32: it was not recorded; recorded: u16\n");
}

TEST(EmitPython, TheDtypeOfTheOutputIsTheRecordedOne) {
  auto run = padding_run({"edge"}, {4, 8});
  for (Observation& observation : run.observations) observation.output_dtype = "f32";
  python(emit(formulas(run), run.context, {}), std::string(kNumpy) + R"(
for name in ("float32", "float64"):
    assert calc_max_slices(0, (10, 20), dtype(name), 1 << 30, mode="edge", pad_y=1, pad_x=1)[1] == dtype("float32")
)");
}

// Every pad was 64, so the formula contains this number, and another pad is an error.
TEST(Emit, AnAxisThatHadOneValueIsRightForItAlone) {
  auto run = filter_run();
  std::erase_if(run.observations, [](const Observation& one) { return one.axes.integer("pad_y") != 7; });
  const auto variants = formulas(run);
  const std::string output = python(emit(variants, run.context, {}), std::string(kNumpy) + R"(
shape = dict(n=5, ny=31, nx=40, pad_x=9)
assert peak_bytes(**shape) == peak_bytes(pad_y=7, **shape) == 2 * 4 * 5 * 31 * 40 + 12 * 31 * 40 // 512 * 512 + 512 + 8 * 5 * 40
raises(ValueError, lambda: peak_bytes(pad_y=8, **shape))
raises(ValueError, lambda: estimator._calc_memory_bytes_filter((31, 40), dtype("float32"), pad_y=8))
)");
  const std::string line = "filter/stripes: no formula for pad_y=8: it was not recorded; recorded: 7\n";
  EXPECT_EQ(output, line + line);
  EmitOptions options;
  options.form = EmitForm::toml;
  EXPECT_THAT(emit(variants, run.context, options),
              HasSubstr("when = { variant = \"filter/stripes\", pad_y = 7 }"));
  options.form = EmitForm::cpp;
  EXPECT_THAT(emit(variants, run.context, options), HasSubstr("if (c[\"pad_y\"] == 7) {"));
}

// The sum is rounded as a whole, so no number of bytes per slice is right.
TEST(EmitPython, WritesBytesPerSliceOnlyWhereTheyAreExact) {
  auto run = filter_run();
  for (Observation& observation : run.observations) {
    SequenceRecorder recorder;
    recorder.allocate(
        "pages", "inputs", "filter.py:1",
        (4 * observation.axes.integer("n") * observation.axes.integer("ny") * observation.axes.integer("nx") +
         511) /
            512 * 512);
    recorder.finish(observation);
  }
  const std::string module = emit(formulas(run), run.context, {});
  EXPECT_THAT(module, HasSubstr("\n# No _calc_memory_bytes_filter: "));
  python(module, std::string(kNumpy) + R"(
assert estimator._calc_memory_bytes_for_slices_filter((1, 3, 43), dtype("float32")) == 1024
assert not hasattr(estimator, "_calc_memory_bytes_filter")
)");
}

// The peak is first that of the tables, later that of the stack. The bytes per slice are those of the stack.
TEST(EmitPython, BytesPerSliceAreAtLeastThePeakWhereTheyGrow) {
  auto run = filter_run();
  for (Observation& observation : run.observations) {
    SequenceRecorder recorder;
    const Size ny = observation.axes.integer("ny");
    recorder.release(recorder.allocate("tables", "setup", "filter.py:1", 40 * ny * ny));
    recorder.allocate("stack", "inputs", "filter.py:2",
                      4 * observation.axes.integer("n") * ny * observation.axes.integer("nx"));
    recorder.finish(observation);
  }
  python(emit(formulas(run), run.context, {}), std::string(kNumpy) + R"(
for ny, nx in ((100, 30), (30, 100), (31, 41), (1, 1000)):
    per_slice, fixed = estimator._calc_memory_bytes_filter((ny, nx), dtype("float32"))
    for n in (1, 2, 5, 33, 34, 35, 1000):
        peak = max(40 * ny * ny, 4 * n * ny * nx)
        assert estimator._calc_memory_bytes_for_slices_filter((n, ny, nx), dtype("float32")) == peak
        assert n * per_slice + fixed >= peak, (ny, nx, n)
    assert per_slice == 4 * ny * nx
    assert fixed == max(0, 40 * ny * ny - per_slice)
)");
}

TEST(EmitPython, OtherDimensionsAreNamed) {
  const auto run = filter_run();
  EmitOptions options;
  options.other_dimensions = {"nx", "nx"};
  const std::string output = python(emit(formulas(run), run.context, options), std::string(kNumpy) + R"(
shape = dict(ny=31, pad_y=7, pad_x=9)
assert estimator._calc_memory_bytes_for_slices_filter((5, 40, 40), dtype("float32"), **shape) == peak_bytes(n=5, nx=40, **shape)
raises(ValueError, lambda: estimator._calc_memory_bytes_for_slices_filter((5, 40, 41), dtype("float32"), **shape))
)");
  EXPECT_EQ(output, "filter/stripes: nx is both 40 and 41\n");
  options.other_dimensions = {"nx", "2*nx"};
  EXPECT_THAT([&] { emit(formulas(run), run.context, options); },
              ThrowsMessage<UsageError>(HasSubstr("no integer axis '2*nx'")));
}

TEST(EmitPython, TheSearchEndsWhereSlicesNeedNoMemory) {
  auto run = filter_run();
  for (Observation& observation : run.observations) {
    SequenceRecorder recorder;
    recorder.allocate("table", "setup", "filter.py:1",
                      4 * observation.axes.integer("ny") * observation.axes.integer("nx"));
    recorder.finish(observation);
  }
  python(emit(formulas(run), run.context, {}), std::string(kNumpy) + R"(
assert calc_max_slices(0, (101, 53), dtype("float32"), 4 * 101 * 53)[0] >= 2**31
assert calc_max_slices(0, (101, 53), dtype("float32"), 4 * 101 * 53 - 1)[0] == 0
assert estimator._calc_memory_bytes_filter((101, 53), dtype("float32")) == (0, 4 * 101 * 53)
)");
}

TEST(EmitPython, WarnsBeyondTheRecordedValuesAndRaisesIfStrict) {
  const auto run = filter_run();
  const Size longest = std::ranges::max(tested_shapes(formulas(run).front()).axis("nx")->values);
  const std::string output = python(emit(formulas(run), run.context, {}),
                                    std::string(kNumpy) + "LONGEST = " + std::to_string(longest) + R"(
import warnings
warnings.simplefilter("error")
slices = (0, (31, 41), dtype("float32"), 10**9)
pads = dict(pad_y=7, pad_x=9)
peak_bytes(n=5, ny=31, nx=LONGEST, strict=True, **pads)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    peak_bytes(n=5, ny=31, nx=LONGEST + 1, **pads)
    assert len(seen) == 1 and seen[0].filename.endswith("check.py"), seen
    # One warning, not one of each number of slices that is tried.
    assert calc_max_slices(*slices, **pads)[0] > 100
    assert len(seen) == 2 and "n=" in str(seen[1].message), seen
raises(ValueError, lambda: peak_bytes(n=5, ny=31, nx=LONGEST + 1, strict=True, **pads))
raises(ValueError, lambda: calc_max_slices(*slices, strict=True, **pads))
)");
  EXPECT_THAT(output,
              HasSubstr(fmt::format("the formula was not tested at nx={} (recorded to {}); record such",
                                    longest + 1, longest)));
}

TEST(EmitPython, AddsAMargin) {
  const auto run = padding_run({"edge"});
  EmitOptions options;
  options.margin_percent = 2;
  const Observation unseen = padding_observation({1, 100, 100, 7, 9}, "edge");
  const Size bytes = *unseen.requested_peak_bytes;
  Observation with_margin = unseen;
  with_margin.requested_peak_bytes = bytes + (2 * bytes + 99) / 100;
  const std::string module = emit(formulas(run), run.context, options);
  EXPECT_THAT(module, HasSubstr("A margin of 2 % is added to each peak."));
  python(module, std::string(kNumpy) + assertion(with_margin) + R"(
per_slice, fixed = estimator._calc_memory_bytes_padding((100, 100), dtype("float32"), pad_y=7, pad_x=9)
assert 0 <= per_slice + fixed - peak_bytes(n=1, ny=100, nx=100, pad_y=7, pad_x=9) <= 1
)");
}

TEST(EmitPython, SaysWhereItComesFrom) {
  const auto run = padding_run({"edge"});
  EmitOptions options;
  options.source = "run.json";
  const std::string module = emit(formulas(run), run.context, options);
  for (const char* const text :
       {"peakmark explain run.json", "20260131T020000Z", "suite nightly; device pocl (opencl 3.1)",
        "worker peakmark-bench 0.1.0", "27 shapes fitted, 9 held out, 0 bytes off", "ny 31 to 55"})
    EXPECT_THAT(module, HasSubstr(text));
}

TEST(Emit, WritesNothingThatMissesARecordedPeak) {
  auto run = padding_run({"edge"});
  *run.observations[5].requested_peak_bytes += 1;
  const auto variants = formulas(run);
  EXPECT_THAT([&] { emit(variants, run.context, {}); },
              ThrowsMessage<UsageError>(HasSubstr("no estimator is written")));
}

TEST(Emit, WritesNothingOfTwoBackendsWhoseFormulasDiffer) {
  auto run = filter_run();
  const std::size_t count = run.observations.size();
  for (std::size_t i = 0; i < count; ++i) {
    Observation other = run.observations[i];
    other.backend = "cuda";
    SequenceRecorder recorder;
    recorder.allocate("stack", "inputs", "filter.py:1",
                      4 * other.axes.integer("n") * other.axes.integer("nx"));
    recorder.finish(other);
    run.observations.push_back(std::move(other));
  }
  EXPECT_THAT([&] { emit(formulas(run), run.context, {}); },
              ThrowsMessage<UsageError>(HasSubstr("its formulas on opencl and cuda differ")));
}

// A suite can read what is written, and gives the bytes of cases that were never recorded.
TEST(EmitToml, IsExactAtShapesThatWereNotRecorded) {
  const auto run = padding_and_filter_run();
  EmitOptions options;
  options.form = EmitForm::toml;
  const auto emitted = [&] {
    const std::string text = emit(formulas(run), run.context, options);
    const auto suite =
        parse_suite_document(text + "\n[[sweep]]\nvariants = \"padding/nabu\"\n", "explained.toml");
    return *suite.estimators.at(0);
  };
  const auto bytes = [](const ExternalEstimator& estimator, const Observation& unseen) {
    EstimatorQuestion question;
    question.variant = unseen.variant;
    question.axes = unseen.axes;
    question.slice_axis = "n";
    return formula_bytes(estimator, question, unseen.axes.integer("n"));
  };
  const ExternalEstimator estimator = emitted();
  EXPECT_EQ(estimator.name, "explained");
  for (const SampleAxes& shape : unseen_shapes()) {
    EXPECT_EQ(bytes(estimator, filter_observation(shape)), filter_observation(shape).requested_peak_bytes);
    for (const char* const mode : {"edge", "constant", "wrap"}) {
      for (const Size item_size : {4, 8}) {
        const Observation unseen = padding_observation(shape, mode, item_size);
        EXPECT_EQ(bytes(estimator, unseen), unseen.requested_peak_bytes) << unseen.case_name;
      }
    }
  }
  const Observation other_dtype =
      sample_observation("padding/nabu", unseen_shapes()[0], {{"mode", "edge"}, {"dtype", "u8"}});
  EXPECT_THAT([&] { bytes(estimator, other_dtype); },
              ThrowsMessage<UsageError>(HasSubstr("no formula applies to")));
  EXPECT_THROW(bytes(estimator, too_large(filter_observation(unseen_shapes()[0]))), OverflowError);
  options.margin_percent = 2;
  const Observation unseen = filter_observation(unseen_shapes()[1]);
  const Size peak = *unseen.requested_peak_bytes;
  EXPECT_EQ(bytes(emitted(), unseen), peak + (2 * peak + 99) / 100);
}

// The emitted C++ is compiled against the public headers, and asked about cases that were never recorded.
TEST(EmitCpp, IsExactAtShapesThatWereNotRecorded) {
  const auto run = padding_and_filter_run();
  EmitOptions options;
  options.form = EmitForm::cpp;
  const std::string header = emit(formulas(run), run.context, options);
  EXPECT_THAT(header, HasSubstr("Estimator::of_parts"));
  EXPECT_THAT(header, HasSubstr("{\"image\", Size(ny * nx * itemsize), 0},"));
  EXPECT_THAT(header, HasSubstr("Estimator::of_bytes"));
  EXPECT_THAT(header, HasSubstr("check_range(\"ny\", c[\"ny\"], 55, strict);"));
  std::string checks;
  const auto check = [&](const Observation& unseen, int estimator, const char* bytes) {
    std::string values;
    for (const auto& [axis, value] : unseen.axes.values()) {
      const bool is_word = std::holds_alternative<std::string>(value);
      values += fmt::format("{{\"{}\", {}}}, ", axis,
                            is_word ? "\"" + to_text(value) + "\"" : "Size{" + to_text(value) + "}");
    }
    checks += fmt::format("  check(explained_{}(), Case({{{}}}), {});\n", estimator, values, bytes);
  };
  for (const SampleAxes& shape : unseen_shapes()) {
    check(filter_observation(shape), 2,
          std::to_string(*filter_observation(shape).requested_peak_bytes).c_str());
    for (const char* const mode : {"edge", "constant", "wrap"}) {
      for (const Size item_size : {4, 8}) {
        const Observation unseen = padding_observation(shape, mode, item_size);
        check(unseen, 1, std::to_string(*unseen.requested_peak_bytes).c_str());
      }
    }
  }
  const SampleAxes shape{5, 31, 41, 7, 9};
  check(padding_observation(shape, "mean"), 1, "-1");
  check(sample_observation("padding/nabu", shape, {{"mode", "edge"}, {"dtype", "u8"}}), 1, "-1");
  check(too_large(sample_observation("padding/nabu", shape, {{"mode", "edge"}, {"dtype", "f32"}})), 1, "-2");
  check(too_large(sample_observation("filter/stripes", shape, {})), 2, "-2");
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "estimators.hpp") << header;
  std::ofstream(folder.path() / "use.cpp") << R"(#include "estimators.hpp"
#include <cstdio>
using namespace explained;
int wrong = 0;
void check(const Estimator& estimator, const Case& c, Size expected) {
  Size bytes = 0;
  try {
    if (estimator.bytes) bytes = estimator.bytes(c);
    else for (const Part& part : estimator.parts(c)) bytes += part.per_slice_bytes * c["n"] + part.fixed_bytes;
  } catch (const std::invalid_argument&) {
    bytes = -1;
  } catch (const std::overflow_error&) {
    bytes = -2;
  }
  if (bytes == expected) return;
  ++wrong;
  std::printf("%lld instead of %lld\n", static_cast<long long>(bytes), static_cast<long long>(expected));
}
int main() {
)" << checks << "  return wrong == 0 ? 0 : 1;\n}\n";
  const std::string output = folder.path() / "output";
  const std::string command = "cd '" + folder.path().string() +
                              "' && '" PEAKMARK_COMPILER
                              "' -std=c++20 -Wall -Wextra -Werror -I '" PEAKMARK_API_HEADERS
                              "' use.cpp -o use > output 2>&1 && ./use >> output 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_text_file(output);
}

}  // namespace
}  // namespace peakmark
