#include <algorithm>
#include <cmath>

#include "trend/change_finders.hpp"

namespace peakmark::trend {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::regression:
      return "regression";
    case Verdict::suspicious:
      return "suspicious";
    case Verdict::improvement:
      return "improvement";
    case Verdict::recovery:
      return "recovery";
  }
  return "";
}

std::string_view to_string(State state) {
  switch (state) {
    case State::open:
      return "open";
    case State::accepted:
      return "accepted";
    case State::recovered:
      return "recovered";
    case State::past:
      return "past";
  }
  return "";
}

std::string_view to_string(Evidence evidence) {
  switch (evidence) {
    case Evidence::exact:
      return "exact";
    case Evidence::measured_again:
      return "measured_again";
    case Evidence::next_night:
      return "next_night";
  }
  return "";
}

std::optional<double> Change::relative() const {
  if (before == 0) return std::nullopt;
  return (after - before) / before;
}

void OpenRegressions::judge(Change& change, std::vector<Change>& earlier, double tolerance,
                            const GrowthAllowance& allowed) {
  const double after = badness_(change.after);
  if (after > badness_(change.before)) {
    change.verdict = Verdict::regression;
    change.state = State::open;
    open_.push_back(earlier.size());
    return;
  }
  change.verdict = Verdict::improvement;
  change.state = State::past;
  while (!open_.empty()) {
    Change& regression = earlier[open_.back()];
    const double good = badness_(regression.before);
    const bool is_near =
        !allowed.is_zero() && allowed.covers(static_cast<Size>(good), static_cast<Size>(after));
    if (after > good + tolerance * std::abs(good) && !is_near) break;  // not back yet
    regression.state = State::recovered;
    const bool is_back = after >= good - tolerance * std::abs(good);
    change.verdict = is_back ? Verdict::recovery : Verdict::improvement;
    open_.pop_back();
  }
}

std::optional<std::size_t> find_run(const DeviceHistory& history, const std::string& id) {
  const auto found = std::ranges::find(history.runs, id, &HistoryRun::id);
  if (found == history.runs.end()) return std::nullopt;
  return static_cast<std::size_t>(found - history.runs.begin());
}

bool accepts(const Acceptance& acceptance, std::size_t from, const Change& change) {
  return acceptance.case_name == change.case_name &&
         (acceptance.metric.empty() || acceptance.metric == change.metric) && change.last_before < from &&
         from <= change.raised;
}

void apply_acceptances(const DeviceHistory& history, std::vector<Change>& changes) {
  for (const Acceptance& acceptance : history.acceptances) {
    const std::optional<std::size_t> from = find_run(history, acceptance.from_run);
    if (!from) continue;
    for (Change& change : changes) {
      if (is_open(change) && accepts(acceptance, *from, change)) change.state = State::accepted;
    }
  }
}

}  // namespace peakmark::trend
