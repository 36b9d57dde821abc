#include "measure/supervise/case_listeners.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <regex>

#include "base/files_testing.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PlannedCase case_planned(const std::string& name) {
  PlannedCase planned;
  planned.name = name;
  planned.sweep_case = {"op/variant", "opencl", {}};
  return planned;
}

Observation case_observed(const std::string& name, std::optional<double> ns) {
  Observation observation;
  observation.case_name = name;
  observation.variant = "op/variant";
  observation.backend = "opencl";
  if (ns) observation.gpu_time = summarise_blocks({{*ns}});
  return observation;
}

std::vector<std::string> names_of_planned(const std::vector<PlannedCase>& cases) {
  std::vector<std::string> names;
  for (const PlannedCase& one : cases) names.push_back(one.name);
  return names;
}

TEST(CasesToConfirm, HaveATimeAndNoSecondOne) {
  peakmark::Run run;
  run.context.planned = {case_planned("a"), case_planned("b"), case_planned("c"), case_planned("d")};
  run.observations = {case_observed("a", 10), case_observed("b", std::nullopt), case_observed("c", 10),
                      case_observed("d", 10)};
  run.observations[2].gpu_time_again = run.observations[2].gpu_time;
  EXPECT_THAT(names_of_planned(cases_to_confirm(run, {"d", "c", "b", "a", "unknown"})),
              ElementsAre("a", "d"));
  EXPECT_THAT(cases_to_confirm(run, {}), IsEmpty());
}

TEST(ConfirmationListener, BothTimesAreInTheRunFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.json";
  RunJournal journal(path);
  RunContext context;
  context.id = "one";
  context.planned = {case_planned("a"), case_planned("b")};
  journal.start(context);
  journal.add(case_observed("a", 10));
  journal.add(case_observed("b", 20));
  const DeviceInfo device;
  ConfirmationListener confirming(journal, device, 2);
  confirming.finished(case_planned("a"), case_observed("a", 12));
  Observation crashed = case_observed("b", std::nullopt);
  crashed.outcome = Outcome::crashed;
  confirming.finished(case_planned("b"), crashed);
  journal.finish();

  const peakmark::Run run = read_run(path);
  EXPECT_TRUE(run.context.complete);
  EXPECT_EQ(run.observations.at(0).gpu_time->median_ns, 10);
  EXPECT_EQ(run.observations.at(0).gpu_time_again->median_ns, 12);
  EXPECT_EQ(run.observations.at(1).outcome, Outcome::ok);
  EXPECT_FALSE(run.observations.at(1).gpu_time_again);
}

class WorkerLinesTest : public testing::Test {
 protected:
  std::string printed_of(const PlannedCase& planned, int lines, bool failed) {
    testing::internal::CaptureStderr();
    lines_.started(planned);
    for (int i = 1; i <= lines; ++i) lines_.said(fmt::format("line {}", i));
    lines_.finished(failed);
    return testing::internal::GetCapturedStderr();
  }

  Progress progress_{stderr, false, 0, 0};
  WorkerLines lines_{progress_};
};

TEST_F(WorkerLinesTest, TheFirstOfACaseArePrintedAndTheOthersCounted) {
  EXPECT_EQ(printed_of(case_planned("a"), 2, false), "worker: line 1\nworker: line 2\n");
  EXPECT_EQ(printed_of(case_planned("b"), 5000, false),
            "worker: line 3\nworker: line 4\nworker: line 5\nworker: (4995 more lines of b left out)\n");
  EXPECT_EQ(printed_of(case_planned("c"), 5000, false), "") << "the variant has printed these lines before";
  EXPECT_EQ(
      printed_of(case_planned("d"), 5000, true),
      "worker: (4990 more lines of d left out)\nworker: line 4996\nworker: line 4997\nworker: line 4998\n"
      "worker: line 4999\nworker: line 5000\n");
}

PlannedCase case_on(const std::string& name, const std::string& backend) {
  PlannedCase planned;
  planned.name = name;
  planned.sweep_case.backend = backend;
  return planned;
}

TEST(ReproduceCommand, NamesEverythingThatMatters) {
  SweepOptions options;
  options.selection.suites = {"suites/smoke.toml", "it's mine.toml"};
  options.selection.backend = "opencl";
  options.memory_only = true;
  options.repetitions = 3;
  options.worker = "/opt/bench";
  DeviceInfo device;
  device.backend = Backend::opencl;
  device.index = 2;
  EXPECT_EQ(
      reproduce_command(options, device, case_on("mul_add/whole/opencl/n:1", "opencl")),
      R"(peakmark run suites/smoke.toml 'it'\''s mine.toml' --filter '^mul_add/whole/opencl/n:1$' --device 2 )"
      "--backend opencl --worker /opt/bench --memory-only --repetitions 3 -o alone.json");
  options.guard = true;  // implies --memory-only
  EXPECT_THAT(reproduce_command(options, device, case_on("mul_add/whole/opencl/n:1", "opencl")),
              testing::HasSubstr(" --worker /opt/bench --guard --repetitions 3 "));
  options = {};
  options.selection.suites = {"a.toml"};
  options.selection.device = "EPYC";  // found by its name, and reported by its index
  EXPECT_EQ(reproduce_command(options, device, case_on("a/b/opencl", "opencl")),
            "peakmark run a.toml --filter '^a/b/opencl$' --device 2 --backend opencl -o alone.json");
  options.case_limit = {std::chrono::milliseconds(2500), std::chrono::milliseconds(0)};
  EXPECT_EQ(
      reproduce_command(options, device, case_on("a/b/opencl", "opencl")),
      "peakmark run a.toml --filter '^a/b/opencl$' --device 2 --backend opencl --timeout 2.5 -o alone.json");
  options.case_limit = {};
  // A `dry` case of a run on another device keeps its backend.
  EXPECT_EQ(reproduce_command(options, device, case_on("a/b/dry", "dry")),
            "peakmark run a.toml --filter '^a/b/dry$' -o alone.json");
  options.selection.backend = "dry";
  EXPECT_EQ(reproduce_command(options, device, case_on("a/b/dry", "dry")),
            "peakmark run a.toml --filter '^a/b/dry$' --backend dry -o alone.json");
  options.selection.named_variants = {"a/*"};
  options.selection.axes = {"n=1..4"};
  EXPECT_EQ(reproduce_command(options, device, case_on("a/b/dry", "dry")),
            "peakmark run a.toml 'a/*' n=1..4 --filter '^a/b/dry$' --backend dry -o alone.json");
}

TEST(ReproduceCommand, TheFilterFindsExactlyTheCase) {
  const std::string name = "a/b+c/dry/x:1.5(2)";
  EXPECT_TRUE(std::regex_search(name, std::regex(exactly(name))));
  EXPECT_FALSE(std::regex_search("a/b+c/dry/x:105(2)", std::regex(exactly(name))));
  EXPECT_FALSE(std::regex_search(name + "/y:1", std::regex(exactly(name))));
}

}  // namespace
}  // namespace peakmark
