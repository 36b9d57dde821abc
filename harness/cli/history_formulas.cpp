#include "cli/history_formulas.hpp"

#include <algorithm>
#include <set>

#include "analyse/explain/report/causes_text.hpp"

namespace peakmark::cli {
namespace {

std::vector<std::string> find_causes(const Run& run, const std::string& variant) {
  const std::set<std::string> estimators = answered_estimators(run, variant);
  std::vector<VariantEstimator> asked;
  asked.reserve(estimators.size());
  for (const std::string& estimator : estimators) asked.push_back({variant, estimator});
  FormulaReport report = explain_estimators(run, asked);
  std::ranges::stable_sort(report.findings, {}, &EstimatorFindings::estimator);
  std::vector<std::string> lines;
  for (const EstimatorFindings& one : report.findings) {
    for (const EstimateCause& cause : one.causes)
      lines.push_back(one.estimator + ": " + cause_line(report.variants[one.variant], cause));
  }
  return lines;
}

}  // namespace

const HistoryFormulas::IndexedRun& HistoryFormulas::run(const std::string& id) {
  const auto [found, is_new] = runs_.try_emplace(id);
  IndexedRun& indexed = found->second;
  if (is_new) {
    indexed.run = history_.run(id);
    for (const Observation& one : indexed.run.observations) indexed.by_case.emplace(one.case_name, &one);
  }
  return indexed;
}

const Observation* HistoryFormulas::find_case(const std::string& run_id, std::string_view case_name) {
  const IndexedRun& indexed = run(run_id);
  const auto found = indexed.by_case.find(case_name);
  return found == indexed.by_case.end() ? nullptr : found->second;
}

const std::vector<VariantFormulas>& HistoryFormulas::formulas(const std::string& run_id,
                                                              const std::string& variant) {
  const auto [found, is_new] = explained_.try_emplace({run_id, variant});
  Explained& explained = found->second;
  if (!is_new) return explained.formulas;
  for (const Observation& observation : run(run_id).run.observations) {
    if (observation.variant == variant && observation.allocation_sequence)
      explained.cases.observations.push_back(observation);
  }
  if (!explained.cases.observations.empty()) explained.formulas = explain_cases(group_cases(explained.cases));
  return explained.formulas;
}

const std::vector<std::string>& HistoryFormulas::causes(const std::string& run_id,
                                                        const std::string& variant) {
  const auto [found, is_new] = causes_.try_emplace({run_id, variant});
  if (is_new) found->second = find_causes(run(run_id).run, variant);
  return found->second;
}

}  // namespace peakmark::cli
