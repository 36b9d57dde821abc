#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// What `trends --notify` has sent, and what is left to send.
namespace peakmark::trend {

struct CommonFinding;
struct DeviceTrends;

/// `opening`, `closing`: a process is sending it, or ended before it was sent.
enum class NotifiedState : std::uint8_t { opening, open, closing, closed };
std::string_view to_string(NotifiedState state);
/// Throws UsageError for another text: the history is damaged.
NotifiedState parse_notified_state(const std::string& text);

/// A change whose finding was sent.
struct Notified {
  std::string case_name;
  std::string metric;
  std::string from_run;                ///< the first run of the new level
  std::string finding;                 ///< id; the same for all changes of a finding, and when it opens again
  std::optional<NotifiedState> state;  ///< null: not sent
  std::string changed_at;              ///< ISO 8601, UTC

  [[nodiscard]] auto key() const { return std::tie(case_name, metric, from_run); }
  bool operator==(const Notified&) const = default;
};

/// A finding to send.
struct Notice {
  bool is_closed = false;
  std::string finding;
  std::string document;            ///< JSON (docs/formats.md, "Notifications")
  std::vector<Notified> expected;  ///< its rows as they are
  std::vector<Notified> sending;   ///< its rows while it is sent
  std::vector<Notified> sent;      ///< and then
  std::vector<Notified> failed;    ///< or when it could not be sent
};

/// The notices to send, and further rows to write before they are sent.
struct Notices {
  std::vector<Notice> notices;
  /// Rows of further cases of findings that were sent for their device: they are not sent again.
  std::vector<Notified> joined;
};

/// Returns the id under which a finding was sent or would be. It stays when further devices have the finding.
std::string finding_id(const CommonFinding& finding, const std::vector<Notified>& notified);

/// Returns the findings to send: open regressions without a sent change, sent findings that another device
/// now has, too, and sent findings without an open change. Skips those that another process began to send
/// after `stale_before`. `now`: as `changed_at`.
Notices find_notices(const std::vector<DeviceTrends>& devices, const std::vector<Notified>& notified,
                     const std::string& now, const std::string& stale_before);

}  // namespace peakmark::trend
