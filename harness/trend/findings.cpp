#include "trend/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace peakmark::trend {
namespace {

/// Because of noise, one change of times is found some runs later in one shape than in another.
constexpr std::size_t kSameTimeChangeRuns = 3;

std::size_t metric_order(const std::string& metric) {
  return static_cast<std::size_t>(std::ranges::find(metric::all, metric) - metric::all.begin());
}

double step_size(const Change& change) {
  return std::abs(change.relative().value_or(1));
}

/// The changes of one case in one run.
struct CaseChanges {
  const Change* main = nullptr;  ///< the first metric in the order of metric::all
  std::vector<const Change*> with_it;
};

std::vector<CaseChanges> changes_by_case(std::vector<const Change*> changes) {
  std::ranges::stable_sort(changes, {}, [](const Change* change) { return metric_order(change->metric); });
  const auto key = [](const Change& change) {
    return std::tuple(change.case_name, change.first, change.metric == metric::gpu_time_ns, change.verdict,
                      change.state, change.is_news);
  };
  std::map<decltype(key(*changes[0])), CaseChanges> cases;
  for (const Change* const change : changes) {
    CaseChanges& one = cases[key(*change)];
    if (one.main == nullptr) {
      one.main = change;
    } else {
      one.with_it.push_back(change);
    }
  }
  std::vector<CaseChanges> all;
  all.reserve(cases.size());
  for (auto& [key, one] : cases) all.push_back(std::move(one));
  return all;
}

Finding make_finding(const std::string& variant, std::vector<CaseChanges> cases) {
  std::ranges::stable_sort(cases, [](const CaseChanges& a, const CaseChanges& b) {
    return std::pair(-step_size(*a.main), a.main->case_name) <
           std::pair(-step_size(*b.main), b.main->case_name);
  });
  Finding finding{variant, {}, {}};
  for (const CaseChanges& one : cases) {
    finding.changes.push_back(one.main);
    finding.with_it.insert(finding.with_it.end(), one.with_it.begin(), one.with_it.end());
  }
  return finding;
}

}  // namespace

bool Finding::has_case(const std::string& name) const {
  return std::ranges::find(changes, name, [](const Change* change) { return change->case_name; }) !=
         changes.end();
}

std::vector<Finding> find_findings(const std::vector<const Change*>& changes) {
  const auto key = [](const Change& change) {
    const bool is_time = change.metric == metric::gpu_time_ns;
    return std::tuple(variant_name(change.case_name), change.metric, change.verdict, change.state,
                      change.is_news, is_time ? 0 : change.last_before, is_time ? 0 : change.first);
  };
  if (changes.empty()) return {};
  std::map<decltype(key(*changes[0])), std::vector<CaseChanges>> groups;
  for (CaseChanges& one : changes_by_case(changes)) groups[key(*one.main)].push_back(std::move(one));
  std::vector<Finding> findings;
  for (auto& [key, cases] : groups) {
    std::ranges::stable_sort(cases, {}, [](const CaseChanges& one) { return one.main->first; });
    std::vector<CaseChanges> part;
    for (CaseChanges& one : cases) {
      if (!part.empty() && one.main->first - part.back().main->first > kSameTimeChangeRuns) {
        findings.push_back(make_finding(std::get<0>(key), std::exchange(part, {})));
      }
      part.push_back(std::move(one));
    }
    findings.push_back(make_finding(std::get<0>(key), std::move(part)));
  }
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    const auto key = [](const Finding& finding) {
      return std::pair(!needs_action(finding.worst()), -step_size(finding.worst()));
    };
    return key(a) < key(b);
  });
  return findings;
}

std::string variant_name(const std::string& case_name) {
  const std::size_t colon = case_name.find(':');
  const std::size_t axes = colon == std::string::npos ? case_name.size() : case_name.rfind('/', colon);
  const std::string head = case_name.substr(0, axes);
  const std::size_t backend = head.rfind('/');
  return backend == std::string::npos ? head : head.substr(0, backend);
}

std::vector<AcceptedFinding> group_acceptances(const std::vector<Acceptance>& acceptances) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, AcceptedFinding> groups;
  for (const Acceptance& one : acceptances) {
    std::string variant = variant_name(one.case_name);
    AcceptedFinding& group = groups[{one.when, variant, one.from_run, one.who, one.reason}];
    group.variant = std::move(variant);
    group.acceptances.push_back(&one);
  }
  std::vector<AcceptedFinding> all;
  all.reserve(groups.size());
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

std::string cases_text(const AcceptedFinding& finding) {
  std::set<std::string_view> cases;
  for (const Acceptance* const one : finding.acceptances) cases.insert(one->case_name);
  if (cases.size() == 1) return finding.acceptances.front()->case_name;
  return fmt::format("{}, {} cases", finding.variant, cases.size());
}

std::string metrics_text(const AcceptedFinding& finding) {
  std::set<std::string_view> metrics;
  for (const Acceptance* const one : finding.acceptances) {
    if (!one->metric.empty()) metrics.insert(one->metric);
  }
  return fmt::format("{}", fmt::join(metrics, ", "));
}

std::string to_text(const AcceptedFinding& finding) {
  const Acceptance& first = *finding.acceptances.front();
  const std::string metrics = metrics_text(finding);
  return fmt::format("{}{}{}, from run {} on{}{}", cases_text(finding), metrics.empty() ? "" : ", ", metrics,
                     first.from_run, first.who.empty() ? "" : ", by " + first.who,
                     first.reason.empty() ? "" : ": " + first.reason);
}

}  // namespace peakmark::trend
