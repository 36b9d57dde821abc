#include "analyse/trend/case_findings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyse/trend/findings.hpp"

namespace peakmark::trend {
namespace {

/// Returns the section of a case whose state is not due to a change; null if the case is not a finding.
std::optional<FindingSection> find_section(const CaseStatus& status) {
  switch (status.state) {
    case CaseState::failed:
    case CaseState::window:
    case CaseState::rule:
      return FindingSection::open;
    case CaseState::left_suite:
      return status.is_news ? std::optional(FindingSection::recent) : std::nullopt;
    case CaseState::as_on_base:
      return FindingSection::closed;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string_view to_string(FindingSection section) {
  constexpr std::array<std::string_view, 4> names{"new", "open", "recent", "closed"};
  return names.at(static_cast<std::size_t>(section));
}

FindingSection find_section(const DeviceHistory& history, const Change& change) {
  if (needs_action(change)) return change.is_news ? FindingSection::is_new : FindingSection::open;
  return is_recent_improvement(history, change) ? FindingSection::recent : FindingSection::closed;
}

FindingSection find_section(const CommonFinding& finding) {
  const FindingSection section = find_section(*finding.device->history, finding.finding.worst());
  return section == FindingSection::is_new && !finding.is_new() ? FindingSection::open : section;
}

std::vector<CaseFinding> find_case_findings(const std::vector<DeviceTrends>& devices) {
  std::vector<CaseFinding> all;
  for (const DeviceTrends& device : devices) {
    std::map<std::tuple<FindingSection, CaseState, std::string>, CaseFinding> findings;
    for (const CaseStatus& one : device.statuses) {
      const std::optional<FindingSection> section = find_section(one);
      if (!section) continue;
      const bool is_estimator = one.state == CaseState::window ||
                                (one.state == CaseState::rule && one.reason == to_string(Rule::estimator));
      const CaseState kind = is_estimator ? CaseState::window : one.state;
      const std::string variant = variant_name(one.case_name);
      CaseFinding& finding =
          findings
              .try_emplace({*section, kind, variant},
                           CaseFinding{&device, one.state, is_estimator, *section, variant, {}})
              .first->second;
      finding.state = std::min(finding.state, one.state);
      finding.cases.push_back(&one);
    }
    for (auto& [key, finding] : findings) all.push_back(std::move(finding));
  }
  return all;
}

}  // namespace peakmark::trend
