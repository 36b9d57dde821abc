#include "analyse/trend/newest_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/date.hpp"
#include "base/text.hpp"
#include "measure/runfile/merge.hpp"

namespace peakmark::trend {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::string age_text(seconds age) {
  const auto count = [](auto value) { return static_cast<std::size_t>(value.count()); };
  if (age < minutes(2)) return "now";
  if (age < hours(2)) return quantity(count(std::chrono::floor<minutes>(age)), "minute") + " ago";
  if (age < hours(48)) return quantity(count(std::chrono::floor<hours>(age)), "hour") + " ago";
  return quantity(count(std::chrono::floor<std::chrono::days>(age)), "day") + " ago";
}

std::optional<seconds> age_of(const HistoryRun& run, std::chrono::system_clock::time_point now) {
  const auto date = parse_date(run.date);
  if (!date || date->moment > now + std::chrono::days(1)) return std::nullopt;
  return std::max(seconds(0), std::chrono::floor<seconds>(now - date->moment));
}

}  // namespace

std::vector<NewestRun> find_newest_runs(const DeviceHistory& history,
                                        std::chrono::system_clock::time_point now,
                                        std::optional<seconds> max_age) {
  std::map<std::string_view, std::size_t> newest;
  for (std::size_t run = 0; run < history.runs.size(); ++run) newest[history.runs[run].suite] = run;
  std::vector<NewestRun> all;
  all.reserve(newest.size());
  for (const auto& [suite, place] : newest) {
    const HistoryRun& run = history.runs[place];
    const std::optional<seconds> age = age_of(run, now);
    all.push_back({run, age, is_current(history, place), max_age && (!age || *age > *max_age)});
  }
  return all;
}

std::string to_text(const NewestRun& newest) {
  const HistoryRun& run = newest.run;
  const std::string part = run.filter ? "; of a part of the cases: --filter " + *run.filter : "";
  return fmt::format("newest run of {}: {}, {}{}{}{}", run.suite, run.date.substr(0, 10),
                     newest.age ? age_text(*newest.age) : "later than tomorrow: its clock was wrong",
                     run.commit.empty() ? "" : ", commit " + short_commit(run.commit),
                     run.partial.empty() ? "" : "; partial: " + run.partial, part);
}

}  // namespace peakmark::trend
