#include <nlohmann/json.hpp>

#include "cli/command_testing.hpp"
#include "explain/sample_explained_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ExplainCommand : public CommandTest {
 protected:
  ExplainCommand() {
    peakmark::Run run = filter_run();
    for (Observation& observation : run.observations) {
      // An estimator that forgets the temporary of odd widths, and one that is right.
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
  EXPECT_EQ(explain({run_file_.string(), "--against", "own"}).end.exit_code, 0);
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
  EXPECT_THAT(answer.output, AllOf(HasSubstr("def peak_bytes(**axes) -> int:"), HasSubstr("margin of 2 %")));
}

TEST_F(ExplainCommand, ComparesTwoRuns) {
  const Answer answer = explain({run_file_.string(), run_file_.string()});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(answer.output, "no formula changed\n");
}

TEST_F(ExplainCommand, RefusesWrongInput) {
  const auto expect_usage = [&](const std::vector<std::string>& words, const std::string& text) {
    const Answer answer = explain(words);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, HasSubstr(text));
  };
  expect_usage({plain_.string()}, "--sequences");
  expect_usage({run_file_.string(), "nx=7"}, "correct AXIS=VALUE");
  expect_usage({run_file_.string(), "--emit", "fortran"}, "fortran");
  expect_usage({run_file_.string(), "--emit", "python", "--margin", "lots"}, "is no margin");
  expect_usage({run_file_.string(), "--at", "ny"}, "write AXIS=VALUE");
  expect_usage({run_file_.string(), "filter/stripes"}, "a run file is explained alone");
  expect_usage({run_file_.string(), "--plot", "p.gif"}, "ends with .png, .svg or .pdf");
  expect_usage({run_file_.string(), "--plot", "p.png", "--json"}, "leave out --json");
  expect_usage({run_file_.string(), "--budget", "16GiB"}, "add --plot FILE");
  expect_usage({run_file_.string(), "--plot", "p.png", "--axis", "nyy"}, "no integer axis 'nyy'");
}

}  // namespace
}  // namespace peakmark
