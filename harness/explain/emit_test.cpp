#include "explain/emit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"
#include "explain/sample_explained_run.hpp"
#include "sweep/suite_document.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<VariantFormulas> formulas(const Run& run) {
  return explain_cases(group_cases(run));
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

// A line of Python that compares the emitted bytes with those of a case that was never recorded.
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

TEST(EmitPython, RefusesWordsThatWereNotRecorded) {
  const auto run = padding_run({"edge", "wrap"});
  const std::string output = python(emit(formulas(run), run.context, {}), R"(
from estimator import peak_bytes
try:
    peak_bytes(n=1, ny=2, nx=3, pad_y=1, pad_x=1, mode="constant", dtype="f32")
except ValueError as error:
    print(error)
)");
  EXPECT_THAT(output, HasSubstr("no formula for"));
}

TEST(EmitPython, CountsSlicesAsHttomoDoes) {
  const auto run = filter_run();
  const Observation seven = filter_observation({7, 101, 53, 7, 9});
  const std::string bytes = std::to_string(*seven.requested_peak_bytes);
  python(emit(formulas(run), run.context, {}), R"(
import sys, types
numpy = types.ModuleType("numpy")
numpy.dtype = lambda name: types.SimpleNamespace(name=str(name))
sys.modules["numpy"] = numpy
from estimator import calc_max_slices
assert calc_max_slices(0, (101, 53), "float32", )" +
                                                   bytes + R"(, pad_y=7, pad_x=9)[0] == 7
assert calc_max_slices(0, (101, 53), "float32", )" +
                                                   bytes + R"( - 1, pad_y=7, pad_x=9)[0] == 6
assert calc_max_slices(0, (101, 53), "float32", 10, pad_y=7, pad_x=9)[0] == 0
)");
}

TEST(EmitPython, TheSearchEndsWhereSlicesNeedNoMemory) {
  auto run = filter_run();
  for (Observation& observation : run.observations) {
    SequenceRecorder recorder;
    recorder.allocate("table", "setup", "filter.py:1",
                      4 * observation.axes.integer("ny") * observation.axes.integer("nx"));
    recorder.finish(observation);
  }
  python(emit(formulas(run), run.context, {}), R"(
import sys, types
numpy = types.ModuleType("numpy")
numpy.dtype = lambda name: types.SimpleNamespace(name=str(name))
sys.modules["numpy"] = numpy
from estimator import calc_max_slices
assert calc_max_slices(0, (101, 53), "float32", 4 * 101 * 53, pad_y=7, pad_x=9)[0] >= 2**31
assert calc_max_slices(0, (101, 53), "float32", 4 * 101 * 53 - 1, pad_y=7, pad_x=9)[0] == 0
)");
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
  python(module, "from estimator import peak_bytes\n" + assertion(with_margin));
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

// A suite reads what is written, and gives the bytes of cases that were never recorded.
TEST(EmitToml, IsExactAtShapesThatWereNotRecorded) {
  auto run = padding_run({"edge", "constant", "wrap"}, {4, 8});
  for (Observation& observation : filter_run().observations)
    run.observations.push_back(std::move(observation));
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
  options.margin_percent = 2;
  const Observation unseen = filter_observation(unseen_shapes()[1]);
  const Size peak = *unseen.requested_peak_bytes;
  EXPECT_EQ(bytes(emitted(), unseen), peak + (2 * peak + 99) / 100);
}

TEST(EmitPages, HoldTheFormulas) {
  const auto run = padding_run({"constant"});
  EmitOptions options;
  options.form = EmitForm::markdown;
  EXPECT_THAT(emit(formulas(run), run.context, options), HasSubstr("4·n·(ny + 2·pad\\_y)·(nx + 2·pad\\_x)"));
  options.form = EmitForm::latex;
  EXPECT_THAT(emit(formulas(run), run.context, options), HasSubstr("\\mathrm{pad\\_y}"));
}

// The emitted C++ is compiled against the public headers.
TEST(EmitCpp, Compiles) {
  auto run = padding_run({"edge", "constant"});
  for (Observation& observation : filter_run().observations)
    run.observations.push_back(std::move(observation));
  EmitOptions options;
  options.form = EmitForm::cpp;
  const std::string header = emit(formulas(run), run.context, options);
  EXPECT_THAT(header, HasSubstr("Estimator::of_parts"));
  EXPECT_THAT(header, HasSubstr("{\"image\", 4 * ny * nx, 0},"));
  EXPECT_THAT(header, HasSubstr("Estimator::of_bytes"));
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "estimators.hpp") << header;
  std::ofstream(folder.path() / "use.cpp") << "#include \"estimators.hpp\"\nint main() { return "
                                              "explained::explained_1().name.empty() ? 1 : 0; }\n";
  const std::string output = folder.path() / "output";
  const std::string command = "cd '" + folder.path().string() +
                              "' && '" PEAKMARK_COMPILER
                              "' -std=c++20 -fsyntax-only -I '" PEAKMARK_API_HEADERS
                              "' use.cpp > output 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_text_file(output);
}

}  // namespace
}  // namespace peakmark
