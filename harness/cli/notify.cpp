#include "cli/notify.hpp"

#include <chrono>
#include <cstdio>
#include <optional>

#include "analyse/trend/notifications.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark::cli {
namespace {

constexpr std::chrono::seconds kNotifyLimit{60};
/// If a process has been sending a finding for longer, it has ended.
constexpr std::chrono::minutes kSendingLimit{15};

/// Returns why a finding could not be sent; null if it was sent.
std::optional<std::string> send(const std::string& command, const std::string& document) {
  try {
    const Answer answer =
        ask({"/bin/sh", {"-c", command}, current_environment(), document + "\n"}, kNotifyLimit);
    if (answer.end.exit_code == 0) return std::nullopt;
    return answer.how_it_ended();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

void notify(history::History& history, const std::vector<trend::DeviceTrends>& trends,
            const std::string& command) {
  const auto now = std::chrono::system_clock::now();
  const trend::Notices found =
      trend::find_notices(trends, history.notified(), utc_date(now), utc_date(now - kSendingLimit));
  if (!found.joined.empty()) history.update_notified({}, found.joined);
  for (const trend::Notice& notice : found.notices) {
    if (!history.update_notified(notice.expected, notice.sending)) continue;  // another process is sending it
    const std::optional<std::string> failure = send(command, notice.document);
    history.update_notified(notice.sending, failure ? notice.failed : notice.sent);
    if (failure) {
      print_message(stderr,
                    "warning: --notify: finding {} was not sent: {}; the next `trends --notify` sends it\n",
                    notice.finding, one_line(*failure));
    }
  }
}

}  // namespace peakmark::cli
