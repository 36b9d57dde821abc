#include "analyse/trend/series.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace peakmark::trend {
namespace {

/// Keeps the elements at these places, in this order. An empty list stays empty.
template <typename T>
void choose(std::vector<T>& list, const std::vector<std::size_t>& places) {
  if (list.empty()) return;
  std::vector<T> chosen;
  chosen.reserve(places.size());
  for (const std::size_t place : places) chosen.push_back(std::move(list[place]));
  list = std::move(chosen);
}

template <typename T>
bool has_value(const std::vector<std::optional<T>>& list) {
  return std::ranges::any_of(list, [](const std::optional<T>& one) { return one.has_value(); });
}

bool begins_new_series(const DeviceHistory& history, std::size_t run) {
  bool has_case = false;
  for (const CaseOutcomes& one : history.outcomes) {
    if (!one.outcomes[run]) continue;
    const auto end = one.outcomes.begin() + static_cast<std::ptrdiff_t>(run);
    const bool is_first =
        std::none_of(one.outcomes.begin(), end, [](const auto& outcome) { return outcome.has_value(); });
    if (!one.version_before || !is_first) return false;
    has_case = true;
  }
  return has_case;
}

}  // namespace

void mark_incomplete(const std::vector<HistoryRun>& runs, std::string_view metric,
                     const std::vector<std::optional<double>>& values,
                     std::vector<std::optional<std::string>>& outcomes) {
  bool was_measured = false;
  bool is_missing = false;
  for (std::size_t run = 0; run < values.size(); ++run) {
    const bool is_ok = outcomes[run] == to_string(OutcomeLevel::ok);
    if (!is_ok && outcomes[run] != to_string(OutcomeLevel::incomplete)) continue;
    was_measured = was_measured || values[run];
    const bool is_asked = metric != metric::gpu_time_ns || !runs[run].memory_only;
    if (values[run] || is_asked) is_missing = was_measured && !values[run];
    if (is_missing) outcomes[run] = to_string(OutcomeLevel::incomplete);
  }
}

OutcomeLevel CaseOutcomes::level(std::size_t run) const {
  const std::string& outcome = outcomes.at(run).value();
  if (!is_expected.empty() && is_expected.at(run)) return OutcomeLevel::as_expected;
  return parse_outcome_level(outcome);
}

std::optional<std::size_t> find_run(const DeviceHistory& history, const std::string& id) {
  const auto found = std::ranges::find(history.runs, id, &HistoryRun::id);
  if (found == history.runs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - history.runs.begin());
}

std::optional<std::size_t> CaseOutcomes::last_planned() const {
  const auto last = std::find_if(outcomes.rbegin(), outcomes.rend(),
                                 [](const auto& outcome) { return outcome.has_value(); });
  if (last == outcomes.rend()) return std::nullopt;
  return static_cast<std::size_t>(outcomes.rend() - last) - 1;
}

DeviceHistory with_runs(DeviceHistory history, const std::vector<std::size_t>& runs) {
  choose(history.runs, runs);
  for (Series& one : history.series) {
    choose(one.values, runs);
    choose(one.confirmations, runs);
  }
  for (CaseOutcomes& one : history.outcomes) {
    choose(one.outcomes, runs);
    choose(one.is_expected, runs);
    choose(one.versions, runs);
  }
  std::erase_if(history.series, [](const Series& one) { return !has_value(one.values); });
  std::erase_if(history.outcomes, [](const CaseOutcomes& one) { return !has_value(one.outcomes); });
  std::unordered_set<std::string_view> ids;
  for (const HistoryRun& run : history.runs) ids.insert(run.id);
  std::erase_if(history.acceptances, [&](const Acceptance& one) { return !ids.contains(one.from_run); });
  return history;
}

void keep_newest_version(DeviceHistory& history) {
  std::unordered_map<std::string_view, const CaseOutcomes*> changed;
  for (CaseOutcomes& one : history.outcomes) {
    const std::optional<std::size_t> newest = one.last_planned();
    if (one.versions.empty() || !newest) continue;
    one.version = one.versions[*newest];
    for (std::size_t run = 0; run < one.outcomes.size(); ++run) {
      if (one.versions[run] == one.version) continue;
      if (one.outcomes[run]) one.version_before = one.versions[run];
      one.outcomes[run].reset();
      if (!one.is_expected.empty()) one.is_expected[run] = false;
    }
    if (one.version_before) changed.emplace(one.case_name, &one);
  }
  if (changed.empty()) return;
  for (std::size_t run = 0; run < history.runs.size(); ++run)
    history.runs[run].begins_new_series = begins_new_series(history, run);
  for (Series& series : history.series) {
    const auto found = changed.find(series.case_name);
    if (found == changed.end()) continue;
    for (std::size_t run = 0; run < series.values.size(); ++run) {
      if (found->second->versions[run] == found->second->version) continue;
      series.values[run].reset();
      if (!series.confirmations.empty()) series.confirmations[run].reset();
    }
  }
  std::erase_if(history.series, [](const Series& one) { return !has_value(one.values); });
  std::erase_if(history.acceptances, [&](const Acceptance& one) {
    const auto found = changed.find(one.case_name);
    const std::optional<std::size_t> run = find_run(history, one.from_run);
    return found != changed.end() && run && found->second->versions[*run] != found->second->version;
  });
}

}  // namespace peakmark::trend
