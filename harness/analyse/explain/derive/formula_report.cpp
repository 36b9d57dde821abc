#include "analyse/explain/derive/formula_report.hpp"

#include <algorithm>
#include <utility>

namespace peakmark {

std::set<std::string> answered_estimators(const Run& run, const std::string& variant) {
  std::set<std::string> names;
  for (const Observation& observation : run.observations) {
    if (!variant.empty() && observation.variant != variant) continue;
    if (observation.estimate) names.insert(observation.estimate->estimator);
    for (const EstimateObservation& one : observation.other_estimates) names.insert(one.estimator);
  }
  return names;
}

FormulaReport explain_estimators(const Run& run, const std::vector<VariantEstimator>& wrong) {
  FormulaReport report;
  const auto has_sequence = [](const Observation& one) { return one.allocation_sequence.has_value(); };
  if (std::ranges::none_of(run.observations, has_sequence)) return report;
  std::vector<RecordedCases> groups = group_cases(run);
  std::erase_if(groups, [&](const RecordedCases& group) {
    return std::ranges::find(wrong, group.variant, &VariantEstimator::variant) == wrong.end();
  });
  report.variants = explain_cases(std::move(groups));
  std::erase_if(report.variants,
                [](const VariantFormulas& one) { return !one.explanation.has_enough_shapes(); });
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    for (const auto& [variant, estimator] : wrong) {
      if (variant == report.variants[i].variant) add_findings(report, i, estimator);
    }
  }
  return report;
}

void add_findings(FormulaReport& report, std::size_t index, const std::string& estimator) {
  const VariantFormulas& variant = report.variants.at(index);
  std::vector<EstimatedCases> estimated;
  estimated.reserve(variant.cases.size());
  for (const RecordedCases& cases : variant.cases) estimated.push_back(recorded_estimates(cases, estimator));
  report.findings.push_back(compare_estimator(variant, estimator.empty() ? "own" : estimator, estimated));
  report.findings.back().variant = index;
}

}  // namespace peakmark
