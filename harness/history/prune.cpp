#include <optional>
#include <set>

#include "history/inside.hpp"

namespace peakmark::history {
namespace {

/// The runs of one device at which something changed, and those before them.
class Changes {
 public:
  explicit Changes(const trend::DeviceHistory& device) : device_(device) {
    // The newest of each suite is what the next night is held against.
    std::set<std::string> suites;
    for (std::size_t run = device.runs.size(); run-- > 0;) {
      if (suites.insert(device.runs[run].suite).second) keep(run);
    }
  }

  /// Where a value that is there differs from the one before, however long that is ago.
  template <typename T>
  void note(const std::vector<std::optional<T>>& values) {
    std::optional<std::size_t> before;
    for (std::size_t run = 0; run < values.size(); ++run) {
      if (!values[run]) continue;
      if (before && *values[run] != *values[*before]) {
        keep(*before);
        keep(run);
      }
      before = run;
    }
  }

  void note_run(const std::string& id) {
    const std::optional<std::size_t> run = trend::find_run(device_, id);
    if (!run) return;
    keep(*run);
    if (*run > 0) keep(*run - 1);
  }

  [[nodiscard]] const std::set<std::string>& kept() const { return kept_; }

 private:
  void keep(std::size_t run) { kept_.insert(device_.runs[run].id); }

  const trend::DeviceHistory& device_;
  std::set<std::string> kept_;
};

std::set<std::string> runs_to_keep(const trend::DeviceHistory& device, const ChangesOf& changes) {
  Changes here(device);
  for (const trend::Series& series : device.series) {
    if (series.metric != trend::metric::gpu_time_ns) here.note(series.values);
  }
  for (const trend::CaseOutcomes& the_case : device.outcomes) here.note(the_case.outcomes);
  for (const trend::Acceptance& acceptance : device.acceptances) here.note_run(acceptance.from_run);
  if (changes) {
    for (const std::string& run : changes(device)) here.note_run(run);
  }
  return here.kept();
}

void drop(Database& database, const std::vector<std::int64_t>& runs) {
  soci::session& sql = database.sql();
  for (const std::int64_t run : runs) {
    sql << "DELETE FROM observations WHERE run_number = :run", soci::use(run);
    sql << "DELETE FROM runs WHERE number = :run", soci::use(run);
  }
  if (runs.empty()) return;
  sql << "DELETE FROM facts WHERE number NOT IN (SELECT facts_number FROM observations)";
  sql << "DELETE FROM plans WHERE number NOT IN (SELECT plan_number FROM runs)";
  sql << "DELETE FROM cases WHERE number NOT IN (SELECT case_number FROM observations)";
}

}  // namespace

Pruned History::prune(const std::string& date, const ChangesOf& changes, bool dry) {
  return inside_->database.told([&] {
    // Before anything is read: a run that another process adds meanwhile may be one of a change.
    Transaction transaction(inside_->database, Access::write);
    std::set<std::string> kept;
    for (const trend::DeviceHistory& device : inside_->read()) kept.merge(runs_to_keep(device, changes));
    Pruned pruned;
    std::vector<std::int64_t> numbers;
    for (const Inside::NumberedRun& one : inside_->runs()) {
      if (one.run.date >= date) continue;
      if (kept.contains(one.run.id)) {
        ++pruned.kept;
        continue;
      }
      pruned.runs.push_back(one.run.id);
      numbers.push_back(one.number);
    }
    if (!dry) {
      drop(inside_->database, numbers);
      transaction.commit();
    }
    return pruned;
  });
}

}  // namespace peakmark::history
