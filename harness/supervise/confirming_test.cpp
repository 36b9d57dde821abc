#include "supervise/confirming.hpp"

#include <gmock/gmock.h>

#include "base/files_testing.hpp"
#include "runfile/run_file.hpp"

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

TEST(Confirming, BothTimesStandInTheRunFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.json";
  RunJournal journal(path);
  RunContext context;
  context.id = "one";
  context.planned = {case_planned("a"), case_planned("b")};
  journal.start(context);
  journal.add(case_observed("a", 10));
  journal.add(case_observed("b", 20));
  Confirming confirming(journal, 2);
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

}  // namespace
}  // namespace peakmark
