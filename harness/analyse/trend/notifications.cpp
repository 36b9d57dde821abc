#include "analyse/trend/notifications.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyse/trend/changes.hpp"
#include "analyse/trend/finding_json.hpp"
#include "analyse/trend/finding_text.hpp"
#include "base/error.hpp"
#include "base/fingerprint.hpp"

namespace peakmark::trend {
namespace {

using json_fields::Json;

constexpr std::array<std::string_view, 4> kStates{"opening", "open", "closing", "closed"};
constexpr std::size_t kIdDigits = 12;

using Key = std::tuple<std::string, std::string, std::string>;  // Notified::key()
using KeyView = std::tuple<std::string_view, std::string_view, std::string_view>;

/// Returns the row of a change that was not sent.
Notified unsent_row(const DeviceHistory& history, const Change& change) {
  return {change.case_name, change.metric, history.runs[change.first].id, "", std::nullopt, ""};
}

std::vector<const Change*> all_changes(const Finding& finding) {
  std::vector<const Change*> all = finding.changes;
  all.insert(all.end(), finding.with_it.begin(), finding.with_it.end());
  return all;
}

/// Returns a hash of all changes on the device that had the finding first. So two findings of one run differ,
/// and the id stays when further devices get the finding.
std::string new_id(const CommonFinding& finding) {
  const DeviceFinding& first = *std::ranges::min_element(finding.parts, {}, [](const DeviceFinding& part) {
    const DeviceHistory& history = *part.device->history;
    return std::tie(history.runs[part.finding.worst().first].date, history.device, history.backend);
  });
  Fingerprint fingerprint;
  for (const Change* const change : all_changes(first.finding)) {
    const Notified row = unsent_row(*first.device->history, *change);
    for (const std::string& part : {row.case_name, row.metric, row.from_run}) fingerprint.add(part);
  }
  return fingerprint.text().substr(0, kIdDigits);
}

Json begin_document(const char* event, const std::string& finding, const std::string& text) {
  Json json = json_fields::begin(format::kNotification);
  json["event"] = event;
  json["finding"] = finding;
  json["text"] = text;
  return json;
}

/// Adds all keys of a finding except its id, because the finding may keep the id of an earlier part of it.
void add_finding(Json& json, const CommonFinding& finding) {
  Json keys = finding_json(finding);
  keys.erase("finding");
  json.update(keys);
}

class Search {
 public:
  Search(const std::vector<DeviceTrends>& devices, const std::vector<Notified>& notified, std::string now,
         std::string stale_before)
      : devices_(devices), now_(std::move(now)), stale_before_(std::move(stale_before)) {
    for (const Notified& row : notified) rows_.emplace(row.key(), row);
    if (rows_.empty()) return;
    for (const DeviceTrends& device : devices_) {
      for (const Change& change : device.trends.changes)
        changes_.emplace(unsent_row(*device.history, change).key(), std::pair(&device, &change));
    }
  }

  Notices find() {
    for (const CommonFinding& finding : find_common_findings(devices_, is_open)) find_opened(finding);
    find_closed();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_sending(const Notified& row) const { return row.changed_at > stale_before_; }

  /// True if the finding was sent as open, or is being sent.
  [[nodiscard]] bool is_known(const Notified& row) const {
    switch (*row.state) {
      case NotifiedState::open:
      case NotifiedState::closing:
        return true;
      case NotifiedState::opening:
        return is_sending(row);
      case NotifiedState::closed:
        break;
    }
    return false;
  }

  /// Which changes of a device were sent (`rows`), which not (`missing`), and one that is known as open
  /// (`known`).
  struct Sent {
    std::vector<Notified> rows;
    std::vector<Notified> missing;
    const Notified* known = nullptr;
  };

  Sent find_sent(const DeviceFinding& part) {
    Sent sent;
    for (const Change* const change : all_changes(part.finding)) {
      Notified unsent = unsent_row(*part.device->history, *change);
      const auto row = rows_.find(unsent.key());
      if (row == rows_.end()) {
        sent.missing.push_back(std::move(unsent));
        continue;
      }
      still_open_.insert(row->second.finding);
      sent.rows.push_back(row->second);
      if (is_known(row->second)) sent.known = &row->second;
    }
    return sent;
  }

  void find_opened(const CommonFinding& finding) {
    const Notified* known = nullptr;
    std::vector<Sent> unsent;  // for devices without a sent change
    for (const DeviceFinding& part : finding.parts) {
      Sent sent = find_sent(part);
      if (sent.known == nullptr) {
        unsent.push_back(std::move(sent));
        continue;
      }
      known = sent.known;
      // One case was sent before nearly all others took the same step.
      if (part.finding.worst().shared && sent.missing.size() > sent.rows.size()) {
        sent.rows.clear();
        unsent.push_back(std::move(sent));
        continue;
      }
      for (const Notified& one : sent.missing) {
        found_.joined.push_back(
            {one.case_name, one.metric, one.from_run, known->finding, known->state, known->changed_at});
      }
    }
    if (unsent.empty()) return;
    Notice notice;
    for (Sent& sent : unsent) {
      if (!sent.rows.empty()) notice.finding = sent.rows.back().finding;
      std::ranges::copy(sent.rows, std::back_inserter(notice.expected));
    }
    if (known != nullptr) notice.finding = known->finding;
    if (notice.finding.empty()) notice.finding = new_id(finding);
    notice.failed = notice.expected;
    for (const Sent& sent : unsent) std::ranges::copy(sent.missing, std::back_inserter(notice.failed));
    notice.sending = with_state(notice.failed, notice.finding, NotifiedState::opening);
    notice.sent = with_state(notice.failed, notice.finding, NotifiedState::open);
    Json json =
        begin_document(known == nullptr ? "opened" : "updated", notice.finding, summary_text(finding));
    add_finding(json, finding);
    notice.document = json_fields::pretty(json);
    found_.notices.push_back(std::move(notice));
  }

  void find_closed() {
    std::map<std::string, std::vector<Notified>> findings;
    for (const auto& [key, row] : rows_) {
      const bool is_closing = row.state == NotifiedState::closing && !is_sending(row);
      if (row.state == NotifiedState::open || is_closing) findings[row.finding].push_back(row);
    }
    for (auto& [id, rows] : findings) {
      if (!still_open_.contains(id)) add_closed(id, std::move(rows));
    }
  }

  void add_closed(const std::string& id, std::vector<Notified> rows) {
    std::vector<std::pair<const DeviceTrends*, std::vector<const Change*>>> devices;
    for (const Notified& row : rows) {
      const auto found = changes_.find(row.key());
      if (found == changes_.end()) continue;
      const auto [device, change] = found->second;
      const DeviceTrends* const wanted = device;
      auto place = std::ranges::find_if(devices, [&](const auto& one) { return one.first == wanted; });
      if (place == devices.end()) place = devices.insert(place, {device, {}});
      place->second.push_back(change);
    }
    std::vector<DeviceFinding> parts;
    parts.reserve(devices.size());
    for (const auto& [device, changes] : devices) parts.push_back({device, find_findings(changes).front()});
    Notice notice;
    notice.is_closed = true;
    notice.finding = id;
    notice.expected = rows;
    notice.sending = with_state(rows, id, NotifiedState::closing);
    notice.sent = with_state(rows, id, NotifiedState::closed);
    notice.failed = with_state(rows, id, NotifiedState::open);
    notice.document = json_fields::pretty(closed_document(id, std::move(parts), rows));
    found_.notices.push_back(std::move(notice));
  }

  static Json closed_document(const std::string& id, std::vector<DeviceFinding> parts,
                              const std::vector<Notified>& rows) {
    if (parts.empty()) {
      Json json =
          begin_document("closed", id,
                         fmt::format("removed: {}: {}: its runs are no longer in the history, or its suite "
                                     "began a new series",
                                     rows.front().case_name, rows.front().metric));
      json["reason"] = "removed";
      json["accepted"] = nullptr;
      json["case"] = rows.front().case_name;
      json["metric"] = rows.front().metric;
      return json;
    }
    const CommonFinding finding = join_findings(std::move(parts));
    const Change& worst = finding.finding.worst();
    const State state = worst.state.value_or(State::past);
    std::string text = fmt::format("{}: {}", to_string(state), summary_text(finding));
    if (const std::string resolution = resolution_text(*finding.device->history, worst); !resolution.empty())
      text += "; " + resolution;
    Json json = begin_document("closed", id, text);
    json["reason"] = to_string(state);
    json["accepted"] = accepted_json(*finding.device->history, worst);
    add_finding(json, finding);
    return json;
  }

  [[nodiscard]] std::vector<Notified> with_state(std::vector<Notified> rows, const std::string& finding,
                                                 NotifiedState state) const {
    for (Notified& row : rows) {
      row.finding = finding;
      row.state = state;
      row.changed_at = now_;
    }
    return rows;
  }

  const std::vector<DeviceTrends>& devices_;
  std::string now_;
  std::string stale_before_;
  std::map<Key, Notified> rows_;
  std::map<Key, std::pair<const DeviceTrends*, const Change*>> changes_;
  std::set<std::string> still_open_;  ///< ids
  Notices found_;
};

}  // namespace

std::string_view to_string(NotifiedState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

std::string finding_id(const CommonFinding& finding, const std::vector<Notified>& notified) {
  if (notified.empty()) return new_id(finding);
  std::map<KeyView, std::size_t>
      places;  // of the changes; a map, because both lists may have an entry for each case of a suite
  for (const DeviceFinding& part : finding.parts) {
    for (const Change* const change : all_changes(part.finding))
      places.emplace(KeyView(change->case_name, change->metric, part.device->history->runs[change->first].id),
                     places.size());
  }
  const Notified* first = nullptr;
  std::size_t first_place = places.size();
  for (const Notified& row : notified) {
    const auto place = places.find(KeyView(row.case_name, row.metric, row.from_run));
    if (place == places.end() || place->second >= first_place) continue;
    first = &row;
    first_place = place->second;
  }
  return first == nullptr ? new_id(finding) : first->finding;
}

NotifiedState parse_notified_state(const std::string& text) {
  const auto found = std::ranges::find(kStates, text);
  if (found == kStates.end())
    throw UsageError("the history is damaged: notification in state '" + text + "'");
  return static_cast<NotifiedState>(found - kStates.begin());
}

Notices find_notices(const std::vector<DeviceTrends>& devices, const std::vector<Notified>& notified,
                     const std::string& now, const std::string& stale_before) {
  return Search(devices, notified, now, stale_before).find();
}

}  // namespace peakmark::trend
