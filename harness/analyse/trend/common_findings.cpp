#include "analyse/trend/common_findings.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace peakmark::trend {
namespace {

/// Verdict, state, metric, last good commit and first bad commit.
using CauseKey = std::tuple<Verdict, std::optional<State>, std::string, std::string, std::string>;

/// Returns the keys of all changes, because times with one cause may change between different pairs of
/// commits. Leaves out changes with an unknown commit or with one commit on both sides.
std::set<CauseKey> cause_keys(const DeviceFinding& part) {
  std::set<CauseKey> keys;
  for (const Change* const change : part.finding.changes) {
    const std::string& before = part.device->history->runs[change->last_before].commit;
    const std::string& after = part.device->history->runs[change->first].commit;
    if (before.empty() || after.empty() || before == after) continue;
    keys.emplace(change->verdict, change->state, change->metric, before, after);
  }
  return keys;
}

/// Returns the variants (false) of a finding and the names of changed allocations (true). Without their
/// kinds, because `buffer` of one backend is `device` of another.
std::set<std::pair<bool, std::string>> marks(const Finding& finding) {
  std::set<std::pair<bool, std::string>> found;
  for (const std::string& variant : finding.variants) found.emplace(false, variant);
  for (const Change* const change : finding.changes) {
    if (!change->allocations) continue;
    for (const MovedAllocations& moved : *change->allocations) {
      if (!moved.name.empty()) found.emplace(true, moved.name);
    }
  }
  return found;
}

/// Parts that belong to one finding.
struct Group {
  std::vector<DeviceFinding> parts;
  std::set<std::pair<bool, std::string>> marks;

  [[nodiscard]] bool has_device(const DeviceTrends* device) const {
    return std::ranges::find(parts, device, &DeviceFinding::device) != parts.end();
  }
  [[nodiscard]] bool is_news() const { return parts.front().finding.worst().is_news; }
};

/// Adds parts to the groups that they belong to.
class Groups {
 public:
  void add(DeviceFinding part) {
    const std::set<CauseKey> keys = cause_keys(part);
    std::set<std::pair<bool, std::string>> part_marks = marks(part.finding);
    const std::size_t at = find(part, keys, part_marks).value_or(groups_.size());
    if (at == groups_.size()) groups_.emplace_back();
    for (const CauseKey& key : keys) groups_of_cause_[key].insert(at);
    groups_[at].marks.merge(part_marks);
    groups_[at].parts.push_back(std::move(part));
  }

  std::vector<Group> take() { return std::move(groups_); }

 private:
  /// Returns the group with this cause on other devices; if there are several, one that is equally new.
  [[nodiscard]] std::optional<std::size_t> find(
      const DeviceFinding& part, const std::set<CauseKey>& keys,
      const std::set<std::pair<bool, std::string>>& part_marks) const {
    std::optional<std::size_t> found;
    for (const CauseKey& key : keys) {
      const auto candidates = groups_of_cause_.find(key);
      if (candidates == groups_of_cause_.end()) continue;
      for (const std::size_t at : candidates->second) {
        const Group& group = groups_[at];
        if (group.has_device(part.device)) continue;
        if (std::ranges::none_of(part_marks, [&](const auto& mark) { return group.marks.contains(mark); }))
          continue;
        if (group.is_news() == part.finding.worst().is_news) return at;
        if (!found) found = at;
      }
    }
    return found;
  }

  std::vector<Group> groups_;
  std::map<CauseKey, std::set<std::size_t>> groups_of_cause_;
};

}  // namespace

bool CommonFinding::is_new() const {
  return std::ranges::all_of(parts, [](const DeviceFinding& part) { return part.finding.worst().is_news; });
}

CommonFinding join_findings(std::vector<DeviceFinding> parts) {
  std::ranges::stable_sort(parts, is_larger,
                           [](const DeviceFinding& part) -> const Change& { return part.finding.worst(); });
  CommonFinding joined{parts.front().device, parts.front().finding, {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Finding& part = parts[i].finding;
    for (const std::string& variant : part.variants) {
      std::vector<std::string>& variants = joined.finding.variants;
      if (std::ranges::find(variants, variant) == variants.end()) variants.push_back(variant);
    }
    joined.finding.changes.insert(joined.finding.changes.end(), part.changes.begin(), part.changes.end());
    joined.finding.with_it.insert(joined.finding.with_it.end(), part.with_it.begin(), part.with_it.end());
  }
  std::ranges::stable_sort(joined.finding.changes, is_larger,
                           [](const Change* change) -> const Change& { return *change; });
  joined.parts = std::move(parts);
  return joined;
}

std::vector<CommonFinding> find_common_findings(const std::vector<DeviceTrends>& devices,
                                                const std::function<bool(const Change&)>& selects) {
  Groups groups;
  for (const DeviceTrends& device : devices) {
    std::vector<const Change*> changes;
    for (const Change& change : device.trends.changes) {
      if (selects(change)) changes.push_back(&change);
    }
    for (Finding& finding : find_findings(changes)) groups.add({&device, std::move(finding)});
  }
  std::vector<CommonFinding> findings;
  for (Group& group : groups.take()) findings.push_back(join_findings(std::move(group.parts)));
  std::ranges::stable_sort(findings, is_shown_before, &CommonFinding::finding);
  return findings;
}

}  // namespace peakmark::trend
