#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "history/inside.hpp"
#include "history/rows.hpp"
#include "history/run_record.hpp"

namespace peakmark::history {
namespace {

/// Numbers of things that have names: those that are there, and new ones after them.
class Numbers {
 public:
  Numbers(soci::session& sql, const std::string& table)
      : next_(ask<std::int64_t>(sql, "SELECT max(number) FROM " + table).value_or(0) + 1) {}
  std::int64_t take() { return next_++; }

 private:
  std::int64_t next_;
};

/// Adds one run; the transaction is its caller's.
class Addition {
  using enum ColumnType;

 public:
  Addition(Database& database, const RunRecord& record)
      : database_(database), sql_(database.sql()), record_(record) {}

  void write() {
    const std::int64_t run = Numbers(sql_, "runs").take();
    write_run(run);
    const auto cases = case_numbers();
    const auto facts = facts_numbers(cases);
    RowWriter rows(database_, "observations",
                   {{"run_number", integer},
                    {"case_number", integer},
                    {"facts_number", integer},
                    {"gpu_time_ns", real},
                    {"median_ns", real},
                    {"min_ns", real},
                    {"max_ns", real},
                    {"kernel_ns", text},
                    {"again_ns", real}});
    for (const ObservationRecord& one : record_.observations) {
      const std::int64_t sweep_case = cases.at(one.case_name);
      rows.add({run, sweep_case, facts.at({sweep_case, one.facts_hash}), null_or(one.gpu_time_ns),
                null_or(one.median_ns), null_or(one.min_ns), null_or(one.max_ns), null_or(one.kernel_ns),
                null_or(one.again_ns)});
    }
    rows.finish();
  }

 private:
  void write_run(std::int64_t number) {
    RowWriter rows(database_, "runs",
                   {{"number", integer},
                    {"id", text},
                    {"date", text},
                    {"suite", text},
                    {"commit_id", text},
                    {"device", text},
                    {"backend", text},
                    {"driver", text},
                    {"build", text},
                    {"host_name", text},
                    {"cases", integer},
                    {"ok", integer},
                    {"plan_number", integer},
                    {"context", text},
                    {"digest", text}});
    rows.add({number, record_.id, record_.date, record_.suite, record_.commit, record_.device,
              record_.backend, record_.driver, record_.build, record_.host_name,
              static_cast<std::int64_t>(record_.observations.size()), record_.ok(), plan_number(),
              record_.context, record_.digest});
    rows.finish();
  }

  std::int64_t plan_number() {
    const auto known =
        ask<std::int64_t>(sql_, "SELECT number FROM plans WHERE hash = :hash", record_.planned_hash);
    if (known) return *known;
    const std::int64_t number = Numbers(sql_, "plans").take();
    RowWriter rows(database_, "plans", {{"number", integer}, {"hash", integer}, {"planned", text}});
    rows.add({number, record_.planned_hash, record_.planned});
    rows.finish();
    return number;
  }

  std::unordered_map<std::string, std::int64_t> case_numbers() {
    std::unordered_map<std::string, std::int64_t> numbers;
    std::string name;
    std::int64_t number = 0;
    each_row(
        sql_, "SELECT name, number FROM cases", [&] { numbers.emplace(name, number); }, soci::into(name),
        soci::into(number));
    Numbers next(sql_, "cases");
    RowWriter rows(database_, "cases", {{"number", integer}, {"name", text}});
    for (const ObservationRecord& one : record_.observations) {
      if (numbers.contains(one.case_name)) continue;
      const std::int64_t taken = next.take();
      numbers.emplace(one.case_name, taken);
      rows.add({taken, one.case_name});
    }
    rows.finish();
    return numbers;
  }

  using FactsNumbers = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;
  FactsNumbers facts_numbers(const std::unordered_map<std::string, std::int64_t>& cases) {
    FactsNumbers numbers;
    std::int64_t number = 0;
    std::int64_t sweep_case = 0;
    std::int64_t hash = 0;
    each_row(
        sql_, "SELECT number, case_number, hash FROM facts",
        [&] { numbers.emplace(std::pair(sweep_case, hash), number); }, soci::into(number),
        soci::into(sweep_case), soci::into(hash));
    Numbers next(sql_, "facts");
    RowWriter rows(database_, "facts",
                   {{"number", integer},
                    {"case_number", integer},
                    {"hash", integer},
                    {"outcome", text},
                    {"requested_peak_bytes", integer},
                    {"setup_bytes", integer},
                    {"leaked_bytes", integer},
                    {"bytes_estimated", integer},
                    {"observation", text}});
    for (const ObservationRecord& one : record_.observations) {
      const std::pair key(cases.at(one.case_name), one.facts_hash);
      if (numbers.contains(key)) continue;
      const std::int64_t taken = next.take();
      numbers.emplace(key, taken);
      rows.add({taken, key.first, key.second, one.outcome, null_or(one.requested_peak_bytes),
                null_or(one.setup_bytes), null_or(one.leaked_bytes), null_or(one.bytes_estimated),
                one.facts});
    }
    rows.finish();
    return numbers;
  }

  Database& database_;
  soci::session& sql_;
  const RunRecord& record_;
};

/// What the user may want to know of a run that comes to these.
std::vector<std::string> notes_on(const RunRecord& record, const std::string& device,
                                  const std::vector<LoggedRun>& runs) {
  std::vector<std::string> notes;
  std::set<std::string> others;
  const LoggedRun* newest = nullptr;
  const LoggedRun* same_commit = nullptr;
  for (const LoggedRun& run : runs) {
    if (run.backend == record.backend && run.device != device) others.insert(run.device);
    if (run.backend != record.backend || run.device != device) continue;
    newest = &run;
    if (!record.commit.empty() && run.commit == record.commit) same_commit = &run;
  }
  if (newest == nullptr && !others.empty()) {
    std::string known;
    for (const std::string& other : others) known += (known.empty() ? "'" : "', '") + other;
    notes.push_back(
        fmt::format("'{}' is a device that this history did not know: its series begin now (known: {}'). "
                    "Is it another name of one of them? `peakmark history rename-device '{}' KNOWN`",
                    device, known, device));
  }
  if (newest != nullptr && record.date < newest->date) {
    notes.push_back(fmt::format(
        "its date, {}, is before that of the newest run of this device, {}: it is sorted in by date; if a "
        "clock went wrong, set it",
        record.date, newest->date));
  }
  if (const std::string now = utc_date(); record.date > now) {
    notes.push_back(fmt::format("its date, {}, is in the future (now is {}): if a clock went wrong, set it",
                                record.date, now));
  }
  if (same_commit != nullptr) {
    notes.push_back(fmt::format("commit {} has a run on this device already, of {}: both are nights",
                                record.commit, same_commit->date));
  }
  return notes;
}

}  // namespace

Added History::add(const Run& run) {
  const RunRecord record = to_record(run);
  return inside_->database.told([&] {
    Transaction transaction(inside_->database, Access::write);
    Added added;
    const auto digest = ask<std::string>(inside_->sql(), "SELECT digest FROM runs WHERE id = :id", record.id);
    const auto was_cleaned = [&] {
      return *digest == kRedactedDigest ||
             holds_private_facts(
                 *ask<std::string>(inside_->sql(), "SELECT context FROM runs WHERE id = :id", record.id));
    };
    if (digest && *digest != record.digest && !was_cleaned()) {
      inside_->database.fail(fmt::format(
          "has a run {} already, with other contents: was a run file changed by hand? Nothing was added",
          record.id));
    }
    const std::string device = name_now(inside_->device_names(), record.device);
    const std::vector<LoggedRun> runs = log();
    added.was_there = digest.has_value();
    added.runs_of_device = std::ranges::count_if(
        runs, [&](const LoggedRun& one) { return one.device == device && one.backend == record.backend; });
    if (added.was_there) return added;
    added.notes = notes_on(record, device, runs);
    Addition(inside_->database, record).write();
    ++added.runs_of_device;
    transaction.commit();
    return added;
  });
}

}  // namespace peakmark::history
