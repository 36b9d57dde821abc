#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "analyse/trend/findings.hpp"
#include "analyse/trend/reports.hpp"

namespace peakmark::trend {

/// The part of a finding that one device has.
struct DeviceFinding {
  const DeviceTrends* device = nullptr;
  Finding finding;
};

/// A finding of one device, or findings of several devices with presumably one cause: they have one verdict,
/// state and metric, lie between the same two commits, and have a variant or the name of a changed allocation
/// in common. If a commit is unknown, each device has a separate finding.
struct CommonFinding {
  const DeviceTrends* device = nullptr;  ///< of the worst case
  Finding finding;                       ///< the changes of all devices, the largest step first
  std::vector<DeviceFinding> parts;      ///< one for each device, that of the worst case first

  /// Returns true if the last run of each device reported it first: a finding that reaches another device is
  /// not new.
  [[nodiscard]] bool is_new() const;
};

/// Groups the changes that `selects` into findings across devices. Those that need action come first, then
/// the largest steps. Points into `devices`.
std::vector<CommonFinding> find_common_findings(const std::vector<DeviceTrends>& devices,
                                                const std::function<bool(const Change&)>& selects);

/// Returns the findings of `parts`, one for each device, as one.
CommonFinding join_findings(std::vector<DeviceFinding> parts);

}  // namespace peakmark::trend
