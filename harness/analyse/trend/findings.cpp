#include "analyse/trend/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.hpp"

namespace peakmark::trend {
namespace {

/// A finding with more variants gets a command without --filter, so that the command stays readable.
constexpr std::size_t kMaxFilteredVariants = 5;

std::size_t metric_order(const std::string& metric) {
  return static_cast<std::size_t>(std::ranges::find(metric::all, metric) - metric::all.begin());
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

Finding make_finding(std::vector<CaseChanges> cases) {
  std::ranges::stable_sort(cases, is_larger,
                           [](const CaseChanges& one) -> const Change& { return *one.main; });
  Finding finding{variant_name(cases.front().main->case_name), {}, {}, {}};
  for (const CaseChanges& one : cases) {
    std::string variant = variant_name(one.main->case_name);
    if (std::ranges::find(finding.variants, variant) == finding.variants.end())
      finding.variants.push_back(std::move(variant));
    finding.changes.push_back(one.main);
    finding.with_it.insert(finding.with_it.end(), one.with_it.begin(), one.with_it.end());
  }
  return finding;
}

/// Named allocations that were added, removed or resized at the peaks of some cases: name and kind.
using MovedNames = std::set<std::pair<std::string, std::string>>;

MovedNames moved_names(const std::vector<CaseChanges>& cases) {
  MovedNames names;
  for (const CaseChanges& one : cases) {
    if (!one.main->allocations) continue;
    for (const MovedAllocations& moved : *one.main->allocations) {
      if (!moved.name.empty()) names.emplace(moved.name, moved.kind);
    }
  }
  return names;
}

bool overlap(const MovedNames& one, const MovedNames& other) {
  return std::ranges::any_of(one, [&](const auto& name) { return other.contains(name); });
}

/// Joins groups that have a named allocation in common. All groups have one verdict, state and metric, and
/// changed between the same two runs.
std::vector<std::vector<CaseChanges>> joined_by_allocation(std::vector<std::vector<CaseChanges>> groups) {
  std::vector<std::pair<MovedNames, std::vector<CaseChanges>>> joined;
  for (std::vector<CaseChanges>& group : groups) {
    MovedNames names = moved_names(group);
    for (auto other = joined.begin(); other != joined.end();) {
      if (!overlap(names, other->first)) {
        ++other;
        continue;
      }
      names.merge(other->first);
      std::ranges::move(other->second, std::back_inserter(group));
      other = joined.erase(other);
    }
    joined.emplace_back(std::move(names), std::move(group));
  }
  std::vector<std::vector<CaseChanges>> all;
  all.reserve(joined.size());
  for (auto& [names, group] : joined) all.push_back(std::move(group));
  return all;
}

/// Splits changes of times that are too many runs apart.
std::vector<std::vector<CaseChanges>> split_by_runs(std::vector<CaseChanges> cases) {
  std::ranges::stable_sort(cases, {}, [](const CaseChanges& one) { return one.main->first; });
  std::vector<std::vector<CaseChanges>> parts;
  for (CaseChanges& one : cases) {
    if (parts.empty() || one.main->first - parts.back().back().main->first > kSameTimeChangeRuns)
      parts.emplace_back();
    parts.back().push_back(std::move(one));
  }
  return parts;
}

}  // namespace

bool is_larger(const Change& a, const Change& b) {
  const auto key = [](const Change& change) {
    return std::tuple(-std::abs(change.relative().value_or(1)), metric_order(change.metric),
                      -std::abs(change.after - change.before), -change.after,
                      std::string_view(change.case_name));
  };
  return key(a) < key(b);
}

bool is_shown_before(const Finding& a, const Finding& b) {
  const bool needs = needs_action(a.worst());
  return needs == needs_action(b.worst()) ? is_larger(a.worst(), b.worst()) : needs;
}

bool Finding::has_case(const std::string& name) const {
  return std::ranges::find(changes, name, [](const Change* change) { return change->case_name; }) !=
         changes.end();
}

std::vector<Finding> find_findings(const std::vector<const Change*>& changes) {
  const auto key = [](const Change& change) {
    const bool is_time = change.metric == metric::gpu_time_ns;
    // The first case of a shared step may have been found a run before the others.
    return std::tuple(change.metric, change.verdict, change.state, !change.shared && change.is_news,
                      is_time ? 0 : change.last_before, is_time ? 0 : change.first,
                      change.shared ? change.shared->number : 0);
  };
  if (changes.empty()) return {};
  using Variants = std::map<std::string, std::vector<CaseChanges>>;
  std::map<decltype(key(*changes[0])), Variants> groups;
  for (CaseChanges& one : changes_by_case(changes)) {
    const std::string variant = one.main->shared ? "" : variant_name(one.main->case_name);
    groups[key(*one.main)][variant].push_back(std::move(one));
  }
  std::vector<Finding> findings;
  for (auto& [key, variants] : groups) {
    std::vector<std::vector<CaseChanges>> parts;
    for (auto& [variant, cases] : variants) {
      std::ranges::move(split_by_runs(std::move(cases)), std::back_inserter(parts));
    }
    for (std::vector<CaseChanges>& part : joined_by_allocation(std::move(parts)))
      findings.push_back(make_finding(std::move(part)));
  }
  std::ranges::stable_sort(findings, is_shown_before);
  return findings;
}

namespace {

/// Returns the suite of a run as arguments. Its files are those of the newest run: a suite may have moved
/// since, and older runs may not name them.
std::string suite_arguments(const DeviceHistory& history, const HistoryRun& run) {
  const auto newest = std::find_if(history.runs.rbegin(), history.runs.rend(), [&](const HistoryRun& one) {
    return one.suite == run.suite && one.suite_files && !one.suite_files->empty();
  });
  if (newest == history.runs.rend()) return shell_word(run.suite.empty() ? "SUITE" : run.suite + ".toml");
  std::string arguments;
  for (const std::string& file : *newest->suite_files)
    arguments += (arguments.empty() ? "" : " ") + shell_word(file);
  return arguments;
}

}  // namespace

std::string compare_command(const DeviceHistory& history, std::size_t before_run, std::size_t after_run) {
  const HistoryRun& before = history.runs[before_run];
  const HistoryRun& after = history.runs[after_run];
  const auto is_known = [](const std::string& commit) { return !commit.empty() && !commit.ends_with('+'); };
  if (!is_known(before.commit) || !is_known(after.commit) || before.commit == after.commit) return {};
  return fmt::format("peakmark compare {} --commits {} {} --build-command BUILD",
                     suite_arguments(history, after), shell_word(short_commit(before.commit)),
                     shell_word(short_commit(after.commit)));
}

std::string compare_command(const DeviceHistory& history, const Finding& finding) {
  std::string command = compare_command(history, finding.worst().last_before, finding.worst().first);
  if (command.empty() || finding.variants.size() > kMaxFilteredVariants) return command;
  return command + " --filter " + shell_word(fmt::format("^({})/", fmt::join(finding.variants, "|")));
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
