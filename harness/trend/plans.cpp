#include "trend/plans.hpp"

#include <algorithm>
#include <string_view>

#include "base/error.hpp"

namespace peakmark::trend {
namespace {

/// Of operation/variant/BACKEND/axis:value/…: the last part without a value.
std::string_view backend_of(std::string_view case_name) {
  const std::string_view path = case_name.substr(0, case_name.find(':'));
  const std::string_view head = path.size() == case_name.size() ? path : path.substr(0, path.rfind('/'));
  return head.substr(head.rfind('/') + 1);
}

}  // namespace

Plans::Plans(const DeviceHistory& history) : history_(history) {
  for (const HistoryRun& run : history.runs) {
    if (!run.filter || filters_.contains(*run.filter)) continue;
    try {
      filters_.emplace(*run.filter, std::regex(*run.filter, std::regex::ECMAScript | std::regex::optimize));
    } catch (const std::regex_error& error) {
      throw UsageError("the history of " + history.device + " is damaged: run " + run.id +
                       " has a filter that is no regular expression: " + error.what());
    }
  }
}

bool Plans::is_left_out(const CaseOutcomes& of, const HistoryRun& run) const {
  const std::string& case_name = of.case_name;
  if (run.filter && !std::regex_search(case_name, filters_.at(*run.filter))) return true;
  if (run.asked_backend && backend_of(case_name) != *run.asked_backend) return true;
  if (!run.asked_backend && is_of_asked_backends(of)) return true;
  return !run.variants.empty() && std::ranges::none_of(run.variants, [&](const std::string& variant) {
    return case_name.starts_with(variant + "/");
  });
}

bool Plans::is_of_asked_backends(const CaseOutcomes& of) const {
  for (std::size_t run = 0; run < of.outcomes.size(); ++run) {
    if (of.outcomes[run] && !history_.runs[run].asked_backend) return false;
  }
  return true;
}

bool Plans::can_tell(const CaseOutcomes& of, std::size_t run) const {
  if (of.outcomes[run]) return true;
  const HistoryRun& night = history_.runs[run];
  if (is_left_out(of, night)) return false;
  if (night.fingerprint.empty()) return true;
  for (std::size_t other = 0; other < of.outcomes.size(); ++other) {
    const HistoryRun& one = history_.runs[other];
    if (of.outcomes[other] && one.suite == night.suite && one.fingerprint == night.fingerprint) return false;
  }
  return true;
}

bool Plans::is_last(const std::string& case_name, std::size_t run) const {
  const auto of = std::ranges::lower_bound(history_.outcomes, case_name, {}, &CaseOutcomes::case_name);
  const bool is_known = of != history_.outcomes.end() && of->case_name == case_name;
  for (std::size_t later = run + 1; later < history_.runs.size(); ++later) {
    if (history_.runs[later].suite != history_.runs[run].suite) continue;
    if (!is_known || can_tell(*of, later)) return false;
  }
  return true;
}

std::size_t Plans::last(const CaseOutcomes& of, const std::string& suite) const {
  std::size_t run = history_.runs.size() - 1;
  while (history_.runs[run].suite != suite || !can_tell(of, run)) --run;
  return run;
}

}  // namespace peakmark::trend
