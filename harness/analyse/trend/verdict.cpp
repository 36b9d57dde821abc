#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/trend/branches.hpp"
#include "analyse/trend/case_findings.hpp"
#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/reports.hpp"
#include "base/text.hpp"
#include "measure/runfile/merge.hpp"

namespace peakmark::trend {
namespace {

/// What a finding is, in the order of the headline.
enum class Kind : std::uint8_t { regression, suspicious, failed, estimator, rule };
constexpr std::size_t kKinds = 5;

std::string count_text(Kind kind, std::size_t count) {
  switch (kind) {
    case Kind::regression:
      return quantity(count, "regression");
    case Kind::suspicious:
      return quantity(count, "suspicious change");
    case Kind::failed:
      return quantity(count, "failed measurement");
    case Kind::estimator:
      return quantity(count, "estimator");
    case Kind::rule:
      break;
  }
  return quantity(count, "failed rule");
}

/// Returns the number of findings of each kind. Cases that need action without a change are one finding for
/// each variant and device.
std::array<std::size_t, kKinds> count_findings(const std::vector<DeviceTrends>& devices) {
  std::array<std::size_t, kKinds> counts{};
  const auto count = [&](Kind kind) -> std::size_t& { return counts.at(static_cast<std::size_t>(kind)); };
  for (const CommonFinding& one : find_common_findings(devices, needs_action))
    ++count(one.finding.worst().verdict == Verdict::regression ? Kind::regression : Kind::suspicious);
  for (const CaseFinding& one : find_case_findings(devices)) {
    if (one.section > FindingSection::open) continue;
    ++count(one.is_estimator ? Kind::estimator : one.state == CaseState::failed ? Kind::failed : Kind::rule);
  }
  return counts;
}

/// Returns `3 findings: 2 regressions, 1 estimator`; empty if there is none.
std::string findings_text(const std::vector<DeviceTrends>& devices) {
  std::size_t all = 0;
  std::string list;
  const std::array<std::size_t, kKinds> counts = count_findings(devices);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (counts.at(kind) == 0) continue;
    all += counts.at(kind);
    list += (list.empty() ? ": " : ", ") + count_text(static_cast<Kind>(kind), counts.at(kind));
  }
  return all == 0 ? "" : quantity(all, "finding") + list;
}

/// Returns the headline of what was judged.
std::string judged_headline(const std::vector<DeviceTrends>& devices) {
  std::size_t runs = 0;
  std::size_t not_compared = 0;
  for (const DeviceTrends& device : devices) {
    runs += device.history->runs.size();
    not_compared += uncompared(*device.history).size();
  }
  if (runs == 0) return "nothing was compared: the history is empty";
  std::string findings = findings_text(devices);
  if (not_compared == 0) return findings.empty() ? "nothing to do" : findings;
  const bool is_first_run = std::ranges::all_of(devices, [](const DeviceTrends& device) {
    return device.history->base_runs.empty() && !uncompared(*device.history).empty();
  });
  const bool has_new_series = std::ranges::any_of(devices, [](const DeviceTrends& device) {
    return !device.history->runs.empty() && device.history->runs.back().begins_new_series;
  });
  const std::string reason = is_first_run ? std::string("nothing was compared: first run of each device") +
                                                (has_new_series ? ", or of a new version" : "")
                                          : quantity(not_compared, "run was", "runs were") + " not compared";
  return findings.empty() ? reason : findings + "; " + reason;
}

}  // namespace

std::string headline(const std::vector<DeviceTrends>& devices) {
  const std::size_t stale = count_stale_suites(devices);
  std::string judged = judged_headline(devices);
  if (stale == 0) return judged;
  return quantity(stale, "suite was", "suites were") + " not measured lately; " + judged;
}

std::size_t count_stale_suites(const std::vector<DeviceTrends>& devices) {
  std::size_t count = 0;
  for (const DeviceTrends& device : devices)
    count += static_cast<std::size_t>(std::ranges::count_if(device.newest, &NewestRun::is_stale));
  return count;
}

ExitCode exit_code_of(const std::vector<DeviceTrends>& devices, bool allow_uncompared) {
  const auto is_uncompared = [](const DeviceTrends& device) { return !uncompared(*device.history).empty(); };
  const bool of_branch =
      std::ranges::any_of(devices, [](const DeviceTrends& one) { return !one.history->base_runs.empty(); });
  const bool lacks =
      of_branch ? std::ranges::any_of(devices, is_uncompared) : std::ranges::all_of(devices, is_uncompared);
  if ((!allow_uncompared && lacks) || count_stale_suites(devices) > 0) return ExitCode::nothing;
  const auto fails = [&](const DeviceTrends& device) {
    return has_open_regression(device.trends) ||
           std::ranges::any_of(device.newest,
                               [](const NewestRun& one) { return !one.run.partial.empty(); }) ||
           std::ranges::any_of(device.history->base_runs,
                               [](const BaseRun& one) { return !one.partial.empty(); }) ||
           (of_branch && std::ranges::any_of(device.statuses, [](const CaseStatus& status) {
              return status.needs_action() && status.judgement >= Judgement::fail;
            }));
  };
  return std::ranges::any_of(devices, fails) ? ExitCode::verdict : ExitCode::clean;
}

std::size_t count_cases_needing_action(const std::vector<DeviceTrends>& devices) {
  std::size_t cases = 0;
  for (const DeviceTrends& device : devices) {
    cases += static_cast<std::size_t>(std::ranges::count_if(device.statuses, &CaseStatus::needs_action));
  }
  return cases;
}

std::string tally(const std::vector<DeviceTrends>& devices) {
  Tally all;
  for (const DeviceTrends& device : devices) {
    for (const CaseStatus& one : device.statuses) all.add(one.judgement, one.reason);
  }
  return peakmark::headline(all);
}

}  // namespace peakmark::trend
