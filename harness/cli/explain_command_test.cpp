#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "cli/command_testing.hpp"
#include "record/profile/profile_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ExplainCommand : public CommandTest {
 protected:
  ExplainCommand() {
    peakmark::Run run = filter_run();
    for (Observation& observation : run.observations) {
      // One estimator forgets the temporary of odd widths, and one is right.
      const Size peak = *observation.requested_peak_bytes;
      const Parameters& axes = observation.axes;
      const Size nx = axes.integer("nx");
      const Size copy = nx % 2 == 1 ? 4 * axes.integer("n") * axes.integer("ny") * (nx + 1) : 0;
      observation.estimate =
          EstimateObservation{"own", "module", axes.integer("n"), axes.integer("n"), peak, {}, {}};
      PlannedCase planned;
      planned.name = observation.case_name;
      planned.sweep_case.variant = observation.variant;
      planned.sweep_case.parameters = axes;
      planned.judged_estimators = {"theirs"};
      run.context.planned.push_back(planned);
      observation.other_estimates = {
          {"theirs", "module", axes.integer("n"), axes.integer("n"), peak - copy, {}, {}}};
    }
    write_run(run, run_file_);
    for (Observation& observation : run.observations) observation.allocation_sequence.reset();
    write_run(run, plain_);
  }
  Answer explain(std::vector<std::string> words) const {
    words.insert(words.begin(), "explain");
    return peakmark(std::move(words));
  }
  const std::filesystem::path plain_ = folder_.path() / "plain.json";
};

TEST_F(ExplainCommand, PrintsTheFormulasOfARun) {
  const Answer answer = explain({run_file_.string()});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("27 shapes fitted, 9 held out: 0 bytes off"),
                                   HasSubstr("8·n·nx"), HasSubstr("the peak when nx is odd")));
}

TEST_F(ExplainCommand, NamesTheCauseOfAWrongEstimator) {
  const Answer answer = explain({run_file_.string(), "--against", "theirs"});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40"));
  const Answer json = explain({run_file_.string(), "--against", "theirs", "--json"});
  EXPECT_EQ(json.end.exit_code, 1);
  const auto cause = nlohmann::json::parse(json.output)["causes"][0];
  EXPECT_EQ(cause["kind"], "missing");
  EXPECT_EQ(cause["allocation"], "even copy");
  EXPECT_EQ(cause["where"], "tomolib.py:40");
  EXPECT_EQ(cause["bytes"], "4 * n * ny * (nx + 1)");
  EXPECT_EQ(cause["condition"], "nx is odd");
  EXPECT_EQ(cause["text"], "missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40");
  EXPECT_EQ(explain({run_file_.string(), "--against", "own"}).end.exit_code, 0);
}

// The most common mistakes of estimators of GPU memory. Each is named with its allocation, line and
// condition.
TEST_F(ExplainCommand, NamesEachPlantedMistake) {
  struct Planted {
    const char* estimator;
    Size (*lacks)(Size n, Size ny, Size nx);  ///< bytes less than the peak
    const char* cause;                        ///< as printed
    const char* kind;
    const char* allocation;
    const char* where;
    const char* bytes;
  };
  const std::vector<Planted> all{
      {"forgets the copy of odd widths",
       [](Size n, Size ny, Size nx) { return nx % 2 == 1 ? 4 * n * ny * (nx + 1) : 0; },
       "missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40", "missing", "even copy",
       "tomolib.py:40", "4 * n * ny * (nx + 1)"},
      {"counts float64 as float32", [](Size n, Size /*ny*/, Size nx) { return 4 * n * nx; },
       "wrong: 4·n·nx too few, weights, tomolib.py:30: counted with 1/2 of its element size", "wrong",
       "weights", "tomolib.py:30", "4 * n * nx"},
      {"counts each slice's weights once", [](Size n, Size /*ny*/, Size nx) { return 8 * nx * (n - 1); },
       "wrong: 8·nx·(n - 1) too few, weights, tomolib.py:30: counted once instead of n times", "wrong",
       "weights", "tomolib.py:30", "8 * nx * (n - 1)"},
      {"forgets rounding to 512",
       [](Size /*n*/, Size ny, Size nx) { return (12 * ny * nx + 511) / 512 * 512 - 12 * ny * nx; },
       "wrong: 512·⌈12·ny·nx/512⌉ - 12·ny·nx too few", "wrong", "plan", "tomolib.py:20", nullptr}};
  peakmark::Run run = filter_run();
  for (Observation& observation : run.observations) {
    const Size n = observation.axes.integer("n");
    for (const Planted& one : all) {
      const Size bytes = *observation.requested_peak_bytes -
                         one.lacks(n, observation.axes.integer("ny"), observation.axes.integer("nx"));
      observation.other_estimates.push_back({one.estimator, "module", n, n, bytes, {}, {}});
    }
  }
  write_run(run, run_file_);
  for (const Planted& one : all) {
    const Answer answer = explain({run_file_.string(), "--against", one.estimator});
    EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
    EXPECT_THAT(answer.output, HasSubstr(one.cause));
    const auto json =
        nlohmann::json::parse(explain({run_file_.string(), "--against", one.estimator, "--json"}).output);
    ASSERT_EQ(json["causes"].size(), 1U) << one.estimator;
    const auto& cause = json["causes"][0];
    EXPECT_EQ(cause["kind"], one.kind);
    EXPECT_EQ(cause["allocation"], one.allocation);
    EXPECT_EQ(cause["where"], one.where);
    if (one.bytes != nullptr) {
      EXPECT_EQ(cause["bytes"], one.bytes);
    }
  }
}

TEST_F(ExplainCommand, AsksAnEstimatorThatTheRunDoesNotHave) {
  const auto program = folder_.path() / "estimate";
  std::ofstream(program) << "#!/bin/sh\nwhile read line; do\n"
                            "  echo '{\"slices\": 7, \"bytes\": 900, \"dtype\": null}'\ndone\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Answer answer = explain({run_file_.string(), "--against", "command:" + program.string()});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("wrong at 36 of 36 shapes"));
  const Answer broken = explain({run_file_.string(), "--against", "command:/bin/false"});
  EXPECT_EQ(broken.end.exit_code, 1) << broken.errors;
  EXPECT_THAT(broken.output, HasSubstr("not compared: it failed on 36 shapes; the first: died: "));
  const Answer unknown = explain({run_file_.string(), "--against", "their"});
  EXPECT_EQ(unknown.end.exit_code, 2);
  EXPECT_THAT(unknown.errors,
              HasSubstr("no answers of an estimator 'their' in this run; did you mean 'theirs'?"));
}

TEST_F(ExplainCommand, CheckSaysWhyEstimatesAreWrong) {
  const Answer answer = peakmark({"check", run_file_.string(), "--window", "1:1"});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40"));
  EXPECT_THAT(answer.output, testing::Not(HasSubstr("own: ")));
  const std::string junit = (folder_.path() / "junit.xml").string();
  const Answer json = peakmark({"check", run_file_.string(), "--window", "1:1", "--json", "--junit", junit});
  EXPECT_THAT(read_text_file(junit),
              HasSubstr("missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40"));
  EXPECT_EQ(nlohmann::json::parse(json.output).at("causes").at(0).at("allocation"), "even copy");
  const Answer plain = peakmark({"check", plain_.string(), "--window", "1:1"});
  EXPECT_EQ(plain.end.exit_code, 1) << plain.errors;
  EXPECT_THAT(plain.output, testing::Not(HasSubstr("why estimates are wrong")));
}

TEST_F(ExplainCommand, PlotPassesCurvesToPython) {
  const std::filesystem::path python = folder_.path() / "python";
  std::ofstream(python) << "#!/bin/sh\nshift 2\necho \"$@\"\ncat\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  environment_.push_back("PEAKMARK_PYTHON=" + python.string());
  const std::string picture = (folder_.path() / "p.svg").string();
  const Answer answer = explain({run_file_.string(), "--plot", picture, "--axis", "n", "--budget", "16GiB"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const std::size_t end = answer.output.find('\n');
  EXPECT_EQ(answer.output.substr(0, end), "formulas --output=" + picture);
  const auto json = nlohmann::json::parse(answer.output.substr(end));
  EXPECT_EQ(json.at("run").at("device"), "pocl");
  const auto& curve = json.at("variants").at(0).at("curve");
  EXPECT_EQ(curve.at("axis"), "n");
  EXPECT_EQ(curve.at("budget_bytes"), Size{16} << 30);
  EXPECT_GT(curve.at("within_budget").at("axes").at("n"), 100000);
}

TEST_F(ExplainCommand, EmitsAnEstimator) {
  const Answer answer = explain({run_file_.string(), "--emit", "python", "--margin", "2%"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("def peak_bytes(*, strict=False, **axes) -> int:"),
                                   HasSubstr("margin of 2 %")));
}

TEST_F(ExplainCommand, EmitsAnEstimatorForSuitesThatCheckAccepts) {
  const Answer emitted = explain({run_file_.string(), "--emit", "toml"});
  EXPECT_EQ(emitted.end.exit_code, 0) << emitted.errors;
  const auto suite = folder_.path() / "filter.toml";
  std::ofstream(suite) << emitted.output
                       << "[[program]]\nvariant = \"filter/stripes\"\ncommand = [\"true\"]\n"
                          "slice_axis = \"n\"\naxes.n = 1\naxes.ny = 1\naxes.nx = 1\n"
                          "axes.pad_y = 0\naxes.pad_x = 0\n[[sweep]]\nvariants = \"filter/stripes\"\n";
  const std::vector<std::string> judged{run_file_.string(), "--suite", suite.string(), "--worker",
                                        PEAKMARK_FAKE_WORKER};
  std::vector<std::string> check{"check", "--estimator", "explained", "--window", "1:1"};
  check.insert(check.end(), judged.begin(), judged.end());
  const Answer checked = peakmark(check);
  EXPECT_EQ(checked.end.exit_code, 0) << checked.output << checked.errors;
  EXPECT_THAT(checked.output, HasSubstr("36 cases: 36 pass, 0 fail"));
  std::vector<std::string> against{"--against", "explained"};
  against.insert(against.end(), judged.begin(), judged.end());
  const Answer compared = explain(against);
  EXPECT_EQ(compared.end.exit_code, 0) << compared.output << compared.errors;
  EXPECT_THAT(compared.output, HasSubstr("explained: exact at all 36 shapes"));
}

TEST_F(ExplainCommand, ComparesTwoRuns) {
  const Answer answer = explain({run_file_.string(), run_file_.string()});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(answer.output, "no formula changed\n");

  peakmark::Run run = filter_run();
  for (Observation& observation : run.observations) {
    SequencedAllocation& weights = observation.allocation_sequence->at(3);
    *observation.requested_peak_bytes -= weights.bytes / 2;
    weights.bytes /= 2;
  }
  const auto next = folder_.path() / "next.json";
  write_run(run, next);
  const Answer changed = explain({run_file_.string(), next.string(), "--json"});
  EXPECT_EQ(changed.end.exit_code, 1) << changed.errors;
  const auto change = nlohmann::json::parse(changed.output)["changes"][0];
  EXPECT_EQ(change["allocation"], "weights");
  EXPECT_EQ(change["base"], "8 * n * nx");
  EXPECT_EQ(change["new"], "4 * n * nx");
}

/// Writes what a recorder would write for a program that pads `ny` × `nx` floats.
void write_profile(const std::filesystem::path& path, std::int64_t ny, std::int64_t nx) {
  const int status = in_child([&] {
    ProfileWriter& writer = new_writer();
    if (!writer.open(path.c_str(), "opencl-layer 1")) _exit(1);
    writer.phase("inputs");
    writer.allocation(1, 4 * ny * nx, MemoryKind::buffer);
    writer.name(1, "image");
    writer.phase("call");
    writer.allocation(2, 8 * (ny + 3), MemoryKind::buffer);
    writer.name(2, "rows");
    writer.release(2);
    writer.close();
  });
  ASSERT_EQ(status, 0);
}

TEST_F(ExplainCommand, TakesProfilesEachWithItsShape) {
  std::vector<std::string> words;
  for (const auto& [ny, nx] : std::vector<std::pair<int, int>>{
           {31, 41}, {32, 41}, {37, 41}, {53, 41}, {31, 44}, {31, 60}, {36, 53}, {47, 59}}) {
    words.push_back(folder_.path() / fmt::format("{}x{}.profile", ny, nx));
    write_profile(words.back(), ny, nx);
    words.push_back(fmt::format("ny={}", ny));
    words.push_back(fmt::format("nx={}", nx));
  }
  const Answer answer = explain(words);
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("6 shapes fitted, 2 held out: 0 bytes off"),
                                   HasSubstr("peak = 4·ny·nx + 8·(ny + 3)")));
  words.insert(words.begin(), {"--emit", "python", "--slice-axis", "ny"});
  EXPECT_THAT(explain(words).output, HasSubstr("def peak_bytes(*, strict=False, **axes) -> int:"));

  const std::string one = folder_.path() / "31x41.profile";
  const auto error = [&](std::vector<std::string> wrong) {
    const Answer refused = explain(std::move(wrong));
    EXPECT_EQ(refused.end.exit_code, 2);
    return refused.errors;
  };
  EXPECT_THAT(error({one}), HasSubstr("its shape is missing: write the values of axes after it"));
  EXPECT_THAT(error({one, "ny=31", one, "nx=41"}), HasSubstr("other axes than"));
  EXPECT_THAT(error({one, "ny=31", run_file_.string()}),
              HasSubstr("profiles cannot be combined with run files"));
}

TEST_F(ExplainCommand, SaysWhyNoShapeWasRecorded) {
  const Answer answer =
      explain({"fake/case", "does=unsupported", "--backend", "dry", "--worker", PEAKMARK_FAKE_WORKER});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.errors, HasSubstr("no shape was recorded; fake/case: unsupported"));
}

TEST_F(ExplainCommand, ARunIsExplainedInPart) {
  const nlohmann::json all = nlohmann::json::parse(explain({run_file_.string(), "--json"}).output);
  ASSERT_EQ(all.at("variants").size(), 1U);
  const std::string variant = all.at("variants").at(0).at("variant");
  EXPECT_EQ(nlohmann::json::parse(explain({run_file_.string(), variant, "--json"}).output).at("variants"),
            all.at("variants"));
  const nlohmann::json part = nlohmann::json::parse(
      explain({run_file_.string(), "--filter", "/nx:[0-9]*[02468](/|$)", "--json"}).output);
  EXPECT_LT(part.at("variants").at(0).at("fitted"), all.at("variants").at(0).at("fitted"));
  // When two run files are compared, the same variants are chosen in both.
  const std::string run = run_file_.string();
  EXPECT_EQ(explain({run, run, "--filter", "nothing"}).end.exit_code, 2);
  EXPECT_EQ(explain({run, run, variant}).end.exit_code, 0);
}

TEST_F(ExplainCommand, RefusesWrongInput) {
  const auto expect_usage = [&](const std::vector<std::string>& words, const std::string& text) {
    const Answer answer = explain(words);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, HasSubstr(text));
  };
  expect_usage({"vertical_shift/*"}, "vertical_shift/*: neither a file nor the name of a variant");
  expect_usage({run_file_.string(), "--at", "nq=3"}, "--at nq=3: no such axis; the axes are n, nx, ny");
  expect_usage({plain_.string()}, "--sequences");
  expect_usage({run_file_.string(), "nx=7"}, "correct AXIS=VALUE");
  expect_usage({run_file_.string(), "--emit", "fortran"}, "fortran");
  expect_usage({run_file_.string(), "--emit", "python", "--margin", "lots"}, "is not a margin");
  expect_usage({run_file_.string(), "--at", "ny"}, "write AXIS=VALUE");
  expect_usage({run_file_.string(), "filter/stripe"},
               "the run has no cases of the variant 'filter/stripe'; did you mean 'filter/stripes'?");
  expect_usage({run_file_.string(), "suite.toml"}, "a run file cannot be combined with a suite");
  expect_usage({run_file_.string(), "--filter", "nothing"}, "--filter 'nothing' leaves none of 36 cases");
  expect_usage({run_file_.string(), "--plot", "p.gif"}, "ends with .png, .svg or .pdf");
  expect_usage({run_file_.string(), "--plot", "p.png", "--json"}, "leave out --json");
  expect_usage({run_file_.string(), "--budget", "16GiB"}, "only with --plot or --json");
  expect_usage({run_file_.string(), "--plot", "p.png", "--axis", "nyy"}, "no integer axis 'nyy'");
}

}  // namespace
}  // namespace peakmark
