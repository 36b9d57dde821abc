#include "trend/notifications.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "trend/changes.hpp"
#include "trend/finding_json.hpp"
#include "trend/finding_text.hpp"

namespace peakmark::trend {
namespace {

using json_fields::Json;

constexpr std::array<std::string_view, 4> kStates{"opening", "open", "closing", "closed"};
constexpr std::size_t kIdDigits = 12;

using Key = std::array<std::string, 3>;  // case, metric, run
Key notified_key(const Notified& row) {
  return {row.case_name, row.metric, row.from_run};
}
Key notified_key(const DeviceHistory& history, const Change& change) {
  return {change.case_name, change.metric, history.runs[change.first].id};
}

/// Of all its changes, so that two findings of one run differ.
std::string new_id(const DeviceHistory& history, const std::vector<const Change*>& changes) {
  Fingerprint fingerprint;
  for (const Change* const change : changes) {
    for (const std::string& part : notified_key(history, *change)) fingerprint.add(part);
  }
  return fingerprint.text().substr(0, kIdDigits);
}

std::vector<const Change*> all_changes(const Finding& finding) {
  std::vector<const Change*> all = finding.changes;
  all.insert(all.end(), finding.with_it.begin(), finding.with_it.end());
  return all;
}

/// Returns one line for a mail's subject: `regression: padding/coords1d, 12 cases, largest: …:
/// requested_peak_bytes 15 MiB → 20 MiB (+5242880 B), commits 1a2b..3c4d`.
std::string summary(const DeviceTrends& device, const Finding& finding) {
  const Change& worst = finding.worst();
  std::string text = fmt::format(
      "{}: {}: {} {} → {} ({})", to_string(worst.verdict), cases_text(finding, console_style()), worst.metric,
      level_text(worst, worst.before), level_text(worst, worst.after), steps_text(finding));
  const std::string why = why_text(device, finding, console_style());
  if (!why.empty()) text += "; " + why;
  return text;
}

Json begin_document(const char* event, const std::string& finding, const std::string& text) {
  Json json = json_fields::begin(format::kNotification);
  json["event"] = event;
  json["finding"] = finding;
  json["text"] = text;
  return json;
}

/// Adds the keys of a finding but for its id, which may be that of an earlier part of it.
void add_finding(Json& json, const DeviceTrends& device, const Finding& finding) {
  Json keys = finding_json(device, finding);
  keys.erase("finding");
  json.update(keys);
}

class Search {
 public:
  Search(const std::vector<DeviceTrends>& devices, const std::vector<Notified>& notified, std::string now,
         std::string stale_before)
      : devices_(devices), now_(std::move(now)), stale_before_(std::move(stale_before)) {
    for (const Notified& row : notified) rows_.emplace(notified_key(row), row);
    if (rows_.empty()) return;
    for (const DeviceTrends& device : devices_) {
      for (const Change& change : device.trends.changes)
        changes_.emplace(notified_key(*device.history, change), std::pair(&device, &change));
    }
  }

  Notices find() {
    for (const DeviceTrends& device : devices_) {
      std::vector<const Change*> open;
      for (const Change& change : device.trends.changes) {
        if (is_open(change)) open.push_back(&change);
      }
      for (const Finding& finding : find_findings(open)) find_opened(device, finding);
    }
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

  void find_opened(const DeviceTrends& device, const Finding& finding) {
    const DeviceHistory& history = *device.history;
    const std::vector<const Change*> changes = all_changes(finding);
    Notice notice;
    std::vector<Key> missing;
    const Notified* known = nullptr;
    for (const Change* const change : changes) {
      const auto row = rows_.find(notified_key(history, *change));
      if (row == rows_.end()) {
        missing.push_back(notified_key(history, *change));
        continue;
      }
      still_open_.insert(row->second.finding);
      notice.expected.push_back(row->second);
      notice.finding = row->second.finding;
      if (is_known(row->second)) known = &row->second;
    }
    if (known != nullptr) {
      for (const Key& one : missing)
        found_.joined.push_back({one[0], one[1], one[2], known->finding, known->state, known->changed_at});
      return;
    }
    if (notice.finding.empty()) notice.finding = new_id(history, changes);
    notice.failed = notice.expected;
    for (const Key& one : missing) notice.failed.push_back({one[0], one[1], one[2], "", std::nullopt, ""});
    notice.sending = with_state(notice.failed, notice.finding, NotifiedState::opening);
    notice.sent = with_state(notice.failed, notice.finding, NotifiedState::open);
    Json json = begin_document("opened", notice.finding, summary(device, finding));
    add_finding(json, device, finding);
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
    const DeviceTrends* device = nullptr;
    std::vector<const Change*> changes;
    for (const Notified& row : rows) {
      const auto found = changes_.find(notified_key(row));
      if (found == changes_.end()) continue;
      device = found->second.first;
      changes.push_back(found->second.second);
    }
    Notice notice;
    notice.is_closed = true;
    notice.finding = id;
    notice.expected = rows;
    notice.sending = with_state(rows, id, NotifiedState::closing);
    notice.sent = with_state(rows, id, NotifiedState::closed);
    notice.failed = with_state(rows, id, NotifiedState::open);
    notice.document = json_fields::pretty(closed_document(id, device, changes, rows));
    found_.notices.push_back(std::move(notice));
  }

  static Json closed_document(const std::string& id, const DeviceTrends* device,
                              const std::vector<const Change*>& changes, const std::vector<Notified>& rows) {
    if (changes.empty()) {
      Json json = begin_document("closed", id,
                                 fmt::format("removed: {}: {}: its runs are no longer in the history",
                                             rows.front().case_name, rows.front().metric));
      json["reason"] = "removed";
      json["accepted"] = nullptr;
      json["case"] = rows.front().case_name;
      json["metric"] = rows.front().metric;
      return json;
    }
    const Finding finding = find_findings(changes).front();
    const State state = finding.worst().state.value_or(State::past);
    const Acceptance* const acceptance = find_acceptance(*device->history, finding.worst());
    std::string text = fmt::format("{}: {}", to_string(state), summary(*device, finding));
    Json accepted = nullptr;
    if (acceptance != nullptr) {
      accepted = {{"who", acceptance->who}, {"when", acceptance->when}, {"reason", acceptance->reason}};
      text += "; accepted: " + acceptance->reason;
    }
    Json json = begin_document("closed", id, text);
    json["reason"] = to_string(state);
    json["accepted"] = std::move(accepted);
    add_finding(json, *device, finding);
    return json;
  }

  static const Acceptance* find_acceptance(const DeviceHistory& history, const Change& change) {
    if (change.state != State::accepted) return nullptr;
    for (const Acceptance& one : history.acceptances) {
      const auto from = find_run(history, one.from_run);
      if (from && accepts(one, *from, change)) return &one;
    }
    return nullptr;
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

std::string finding_id(const DeviceHistory& history, const Finding& finding,
                       const std::vector<Notified>& notified) {
  const std::vector<const Change*> changes = all_changes(finding);
  for (const Change* const change : changes) {
    const auto row = std::ranges::find(notified, notified_key(history, *change),
                                       [](const Notified& one) { return notified_key(one); });
    if (row != notified.end()) return row->finding;
  }
  return new_id(history, changes);
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
