#include "run/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace peakmark {
namespace {

using Property = bool(const PlannedCase&, const Observation&);

/// Of the cases planned.
bool any_of(const Run& run, Property* property) {
  std::unordered_map<std::string_view, const PlannedCase*> planned;
  for (const PlannedCase& one : run.context.planned) planned.emplace(one.name, &one);
  return std::any_of(run.observations.begin(), run.observations.end(), [&](const Observation& observation) {
    const auto found = planned.find(observation.case_name);
    return found != planned.end() && property(*found->second, observation);
  });
}

}  // namespace

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

bool has_measurement(const Run& run) {
  return any_of(run, [](const PlannedCase& planned, const Observation& observation) {
    return observation.outcome == Outcome::ok || planned.expected_outcome == name_of(observation.outcome) ||
           is_failure(planned, observation);
  });
}

ExitCode exit_code_of(const Run& run) {
  if (!has_measurement(run)) return ExitCode::nothing;
  return any_of(run, is_failure) ? ExitCode::measurement : ExitCode::clean;
}

}  // namespace peakmark
