#include "run/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace peakmark {

bool is_failure(const PlannedCase& planned, const Observation& observation) {
  const bool failed = observation.outcome == Outcome::crashed || observation.outcome == Outcome::timeout ||
                      observation.outcome == Outcome::wrong_answer;
  return failed && planned.expected_outcome != name_of(observation.outcome);
}

std::string summary(const Run& run) {
  std::map<Outcome, int> counts;
  for (const Observation& observation : run.observations) ++counts[observation.outcome];
  std::string text = fmt::format("{} cases: ", run.observations.size());
  bool first = true;
  for (const auto& [outcome, count] : counts) {
    text += fmt::format("{}{} {}", first ? "" : ", ", count, name_of(outcome));
    first = false;
  }
  return text;
}

ExitCode exit_code_of(const Run& run) {
  const bool measured =
      std::any_of(run.observations.begin(), run.observations.end(),
                  [](const Observation& observation) { return observation.outcome != Outcome::unsupported; });
  if (!measured) return ExitCode::nothing;
  std::unordered_map<std::string, const PlannedCase*> planned;
  for (const PlannedCase& one : run.context.planned) planned.emplace(one.name, &one);
  const bool failed =
      std::any_of(run.observations.begin(), run.observations.end(), [&](const Observation& observation) {
        return is_failure(*planned.at(observation.case_name), observation);
      });
  return failed ? ExitCode::measurement : ExitCode::clean;
}

}  // namespace peakmark
