#include <set>

#include "history/inside.hpp"

namespace peakmark::history {
namespace {

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

Pruned History::prune(const std::string& date, const RunsToKeep& runs_to_keep, bool dry) {
  return inside_->database.told([&] {
    // Before anything is read: a run that another process adds meanwhile may be one of a change.
    Transaction transaction(inside_->database, Access::write);
    std::set<std::string> kept;
    for (const trend::DeviceHistory& device : inside_->read()) kept.merge(runs_to_keep(device));
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
