#include "analyse/trend/accepted_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyse/trend/changes.hpp"

namespace peakmark::trend {
namespace {

/// The acceptances of one case.
class AcceptedCase {
 public:
  AcceptedCase(const DeviceHistory& history, std::string_view case_name)
      : history_(history), case_name_(case_name) {}

  void add(const Acceptance& acceptance) { acceptances_.push_back(&acceptance); }

  /// Returns the newest acceptance of one of these metrics for which `is_within` is true; null if there is
  /// none.
  template <typename IsWithin>
  [[nodiscard]] const Acceptance* find(std::initializer_list<std::string_view> metrics,
                                       const IsWithin& is_within) const {
    const Acceptance* found = nullptr;
    for (const Acceptance* const one : acceptances_) {
      const bool is_of_metric =
          one->metric.empty() || std::ranges::find(metrics, one->metric) != metrics.end();
      if (is_of_metric && is_within(one->from_run)) found = one;
    }
    return found;
  }

  [[nodiscard]] bool is_of_version(Size version) const {
    const CaseOutcomes* const known = outcomes();
    return known == nullptr || known->version == version;
  }

  [[nodiscard]] bool has_outcome(const std::string& from_run, std::string_view outcome) const {
    const CaseOutcomes* const known = outcomes();
    const std::optional<std::size_t> run = find_run(history_, from_run);
    return run && known != nullptr && known->outcomes[*run] == outcome;
  }

  /// Returns true if the bytes are known, and are at most those of the first run with a value from `from_run`
  /// on.
  [[nodiscard]] bool is_within(const std::string& from_run, std::string_view metric,
                               const std::optional<Size>& bytes) const {
    const std::optional<double> level = value(metric, from_run);
    return bytes && level && static_cast<double>(*bytes) <= *level;
  }

  /// Returns the value of the first run from `from_run` on that has one.
  [[nodiscard]] std::optional<double> value(std::string_view metric, const std::string& from_run) const {
    const std::optional<std::size_t> from = find_run(history_, from_run);
    const auto key = [](const Series& one) {
      return std::pair<std::string_view, std::string_view>(one.case_name, one.metric);
    };
    const auto series = std::ranges::lower_bound(history_.series, std::pair(case_name_, metric), {}, key);
    if (!from || series == history_.series.end() || key(*series) != std::pair(case_name_, metric))
      return std::nullopt;
    const auto first = series->values.begin() + static_cast<std::ptrdiff_t>(*from);
    const auto found =
        std::find_if(first, series->values.end(), [](const auto& one) { return one.has_value(); });
    return found == series->values.end() ? std::nullopt : *found;
  }

 private:
  /// Returns null if the history has none.
  [[nodiscard]] const CaseOutcomes* outcomes() const {
    const auto of = std::ranges::lower_bound(history_.outcomes, case_name_, {}, &CaseOutcomes::case_name);
    return of == history_.outcomes.end() || of->case_name != case_name_ ? nullptr : &*of;
  }

  const DeviceHistory& history_;
  std::string_view case_name_;
  std::vector<const Acceptance*> acceptances_;
};

std::optional<double> number(const std::optional<Size>& bytes) {
  return bytes ? std::optional<double>(static_cast<double>(*bytes)) : std::nullopt;
}

const Acceptance* find_ratio(const AcceptedCase& accepted, const peakmark::Verdict& verdict,
                             const Observation& observation) {
  const auto& estimate = observation.estimate;
  if (!estimate || estimate->estimator != verdict.estimator) return nullptr;
  const std::optional<double> peak = number(observation.requested_peak_bytes);
  const std::optional<double> estimated = number(estimate->bytes_estimated);
  if (!peak || !estimated || *estimated <= 0) return nullptr;
  const double now = *peak / *estimated;
  return accepted.find({metric::estimate_ratio}, [&](const std::string& from_run) {
    const std::optional<double> level = accepted.value(metric::estimate_ratio, from_run);
    if (!level) return false;
    // Worse is farther from 1, on the same side.
    return *level >= 1 ? now >= 1 && now <= *level * (1 + kSameRatio)
                       : now <= 1 && now >= *level * (1 - kSameRatio);
  });
}

const Acceptance* find_acceptance(const AcceptedCase& accepted, const peakmark::Verdict& verdict,
                                  const Observation& observation) {
  switch (verdict.rule) {
    case Rule::outcome:
      return accepted.find({metric::outcome}, [&](const std::string& from_run) {
        return accepted.has_outcome(from_run, to_string(observation.outcome));
      });
    case Rule::window_slices:
    case Rule::window_bytes:
      return find_ratio(accepted, verdict, observation);
    case Rule::leak:
      return accepted.find({metric::leaked_bytes}, [&](const std::string& from_run) {
        return accepted.is_within(from_run, metric::leaked_bytes, observation.leaked_bytes);
      });
    case Rule::baseline:
      return accepted.find(
          {metric::requested_peak_bytes, metric::setup_bytes}, [&](const std::string& from_run) {
            return accepted.is_within(from_run, metric::requested_peak_bytes,
                                      observation.requested_peak_bytes) &&
                   (!observation.setup_bytes ||
                    accepted.is_within(from_run, metric::setup_bytes, observation.setup_bytes));
          });
    case Rule::present:
    case Rule::estimator:
    case Rule::dtype:
    case Rule::repeat:
    case Rule::kernel_time:
    case Rule::limit:  // it is changed in the suite
      break;
  }
  return nullptr;
}

}  // namespace

void accept_verdicts(const DeviceHistory& history, const Run& run, std::vector<peakmark::Verdict>& verdicts) {
  if (history.acceptances.empty()) return;
  std::unordered_map<std::string_view, AcceptedCase> accepted;
  for (const Acceptance& one : history.acceptances)
    accepted.try_emplace(one.case_name, history, one.case_name).first->second.add(one);
  std::unordered_map<std::string_view, const Observation*> observations;
  for (const Observation& one : run.observations) observations.emplace(one.case_name, &one);
  for (peakmark::Verdict& verdict : verdicts) {
    if (verdict.judgement < Judgement::fail) continue;
    const auto of_case = accepted.find(verdict.case_name);
    const auto observed = observations.find(verdict.case_name);
    if (of_case == accepted.end() || observed == observations.end()) continue;
    if (!of_case->second.is_of_version(observed->second->version)) continue;
    const Acceptance* const found = find_acceptance(of_case->second, verdict, *observed->second);
    if (found == nullptr) continue;
    verdict.judgement = verdict.rule == Rule::outcome ? Judgement::as_expected : Judgement::warning;
    verdict.advice = fmt::format("accepted: {}{}: {}{}{}", found->when.substr(0, 10),
                                 found->who.empty() ? "" : " by " + found->who, found->reason,
                                 verdict.advice.empty() ? "" : "; ", verdict.advice);
  }
}

}  // namespace peakmark::trend
