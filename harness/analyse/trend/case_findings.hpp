#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trend/case_status.hpp"
#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/reports.hpp"

namespace peakmark::trend {

/// Where reports show a finding, in their order.
enum class FindingSection : std::uint8_t {
  is_new,  ///< needs action, and the last run reported it first
  open,    ///< needs action
  recent,  ///< a recent improvement or recovery; cases that left their suite in the last run
  closed,  ///< older, accepted, or recovered since; cases that fail as on the base branch
};
std::string_view to_string(FindingSection section);
FindingSection find_section(const DeviceHistory& history, const Change& change);
/// Returns the section of the worst change; `is_new` only if the finding is new on each of its devices.
FindingSection find_section(const CommonFinding& finding);

/// Cases of one variant and device whose state is not due to a change, with presumably one cause.
struct CaseFinding {
  const DeviceTrends* device = nullptr;
  CaseState state{};  ///< the worst of the cases: failed, window, rule, left_suite or as_on_base
  bool is_estimator = false;
  FindingSection section{};
  std::string variant;
  std::vector<const CaseStatus*> cases;
};

/// Returns the findings without a change. Points into `devices`.
std::vector<CaseFinding> find_case_findings(const std::vector<DeviceTrends>& devices);

}  // namespace peakmark::trend
