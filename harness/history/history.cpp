#include "history/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "history/inside.hpp"
#include "history/run_record.hpp"

namespace peakmark::history {

std::map<std::string, std::string> History::Inside::device_names() {
  std::map<std::string, std::string> names;
  std::string device;
  std::string is_device;
  each_row(
      sql(), "SELECT device, is_device FROM device_names", [&] { names[device] = is_device; },
      soci::into(device), soci::into(is_device));
  return names;
}

std::vector<History::Inside::NumberedRun> History::Inside::runs() {
  const auto names = device_names();
  std::vector<NumberedRun> runs;
  NumberedRun row;
  LoggedRun& run = row.run;
  each_row(
      sql(),
      "SELECT number, id, date, suite, commit_id, device, backend, driver, build, host_name, cases, ok FROM "
      "runs ORDER BY date, number",
      [&] {
        runs.push_back(row);
        runs.back().run.device = name_now(names, run.device);
      },
      soci::into(row.number), soci::into(run.id), soci::into(run.date), soci::into(run.suite),
      soci::into(run.commit), soci::into(run.device), soci::into(run.backend), soci::into(run.driver),
      soci::into(run.build), soci::into(run.host_name), soci::into(run.cases), soci::into(run.ok));
  return runs;
}

std::int64_t History::Inside::number_of(const std::string& run_id) {
  const auto number = ask<std::int64_t>(sql(), "SELECT number FROM runs WHERE id = :id", run_id);
  if (!number) {
    database.fail(fmt::format("has no run '{}'; `peakmark history log` shows those that it has", run_id));
  }
  return *number;
}

std::vector<trend::Acceptance> History::Inside::acceptances() {
  std::vector<trend::Acceptance> all;
  trend::Acceptance row;
  each_row(
      sql(),
      "SELECT case_name, metric, from_run, accepted_by, accepted_at, reason FROM acceptances ORDER BY "
      "accepted_at, case_name, metric, from_run",
      [&] { all.push_back(row); }, soci::into(row.case_name), soci::into(row.metric),
      soci::into(row.from_run), soci::into(row.who), soci::into(row.when), soci::into(row.reason));
  return all;
}

namespace {

Access access_for(History::Purpose purpose) {
  switch (purpose) {
    case History::Purpose::read:
      return Access::read;
    case History::Purpose::change:
      return Access::change;
    case History::Purpose::write:
      break;
  }
  return Access::write;
}

}  // namespace

History::History(const Place& place, Purpose purpose, std::chrono::milliseconds patience)
    : inside_(std::make_unique<Inside>(place, access_for(purpose), patience)) {}

History::~History() = default;

const Place& History::place() const {
  return inside_->database.place();
}

std::optional<int> History::migrated_from() const {
  const int from = inside_->migration.from;
  return from == 0 || from == kSchemaVersion ? std::nullopt : std::optional<int>(from);
}

std::vector<LoggedRun> History::log() {
  return inside_->database.told([&] {
    std::vector<Inside::NumberedRun> numbered = inside_->runs();
    std::vector<LoggedRun> runs;
    runs.reserve(numbered.size());
    for (Inside::NumberedRun& run : numbered) runs.push_back(std::move(run.run));
    return runs;
  });
}

std::vector<std::string> History::latest() {
  const std::vector<LoggedRun> runs = log();
  std::map<std::tuple<std::string, std::string, std::string>, std::string> newest;
  for (const LoggedRun& run : runs) newest[{run.device, run.backend, run.suite}] = run.id;
  std::vector<std::string> ids;
  for (const LoggedRun& run : runs) {
    if (newest.at({run.device, run.backend, run.suite}) == run.id) ids.push_back(run.id);
  }
  return ids;
}

Run History::run(const std::string& id) {
  return inside_->database.told([&] {
    const Transaction transaction(inside_->database, Access::read);
    const std::int64_t number = inside_->number_of(id);
    RunRecord record;
    inside_->sql() << "SELECT r.context, p.planned FROM runs r JOIN plans p ON p.number = r.plan_number "
                      "WHERE r.number = :number",
        soci::use(number), soci::into(record.context), soci::into(record.planned);
    ObservationRecord row;
    double median = 0;
    double least = 0;
    double most = 0;
    std::string kernels;
    soci::indicator has_times = soci::i_null;
    soci::indicator has_min = soci::i_null;
    soci::indicator has_max = soci::i_null;
    soci::indicator has_kernels = soci::i_null;
    double again = 0;
    soci::indicator has_again = soci::i_null;
    each_row(
        inside_->sql(),
        "SELECT f.observation, o.median_ns, o.min_ns, o.max_ns, o.kernel_ns, o.again_ns FROM observations o "
        "JOIN facts f "
        "ON f.number = o.facts_number WHERE o.run_number = :number ORDER BY o.case_number",
        [&] {
          ObservationRecord& observation = record.observations.emplace_back();
          observation.facts = row.facts;
          if (has_times == soci::i_ok) observation.median_ns = median;
          if (has_min == soci::i_ok) observation.min_ns = least;
          if (has_max == soci::i_ok) observation.max_ns = most;
          if (has_kernels == soci::i_ok) observation.kernel_ns = kernels;
          if (has_again == soci::i_ok) observation.again_ns = again;
        },
        soci::use(number), soci::into(row.facts), soci::into(median, has_times), soci::into(least, has_min),
        soci::into(most, has_max), soci::into(kernels, has_kernels), soci::into(again, has_again));
    Run run = to_run(record);
    std::unordered_map<std::string_view, std::size_t> place;
    for (const PlannedCase& planned : run.context.planned) place.emplace(planned.name, place.size());
    std::ranges::stable_sort(run.observations, {}, [&](const Observation& observation) {
      const auto found = place.find(observation.case_name);
      return found == place.end() ? place.size() : found->second;
    });
    return run;
  });
}

namespace {

void remove(soci::session& sql, const trend::Acceptance& acceptance) {
  sql << "DELETE FROM acceptances WHERE case_name = :c AND metric = :m AND from_run = :r",
      soci::use(acceptance.case_name), soci::use(acceptance.metric), soci::use(acceptance.from_run);
}

}  // namespace

void History::add_acceptances(const std::vector<trend::Acceptance>& acceptances) {
  inside_->database.told([&] {
    Transaction transaction(inside_->database, Access::write);
    soci::session& sql = inside_->sql();
    for (const trend::Acceptance& acceptance : acceptances) {
      inside_->number_of(acceptance.from_run);
      if (!ask<std::int64_t>(sql, "SELECT number FROM cases WHERE name = :name", acceptance.case_name)) {
        inside_->database.fail(fmt::format("has no case '{}'", acceptance.case_name));
      }
      remove(sql, acceptance);
      sql << "INSERT INTO acceptances (case_name, metric, from_run, accepted_by, accepted_at, reason) VALUES "
             "(:c, :m, :r, :w, :a, :reason)",
          soci::use(acceptance.case_name), soci::use(acceptance.metric), soci::use(acceptance.from_run),
          soci::use(acceptance.who), soci::use(acceptance.when), soci::use(acceptance.reason);
    }
    transaction.commit();
  });
}

void History::remove_acceptances(const std::vector<trend::Acceptance>& acceptances) {
  inside_->database.told([&] {
    Transaction transaction(inside_->database, Access::write);
    for (const trend::Acceptance& acceptance : acceptances) remove(inside_->sql(), acceptance);
    transaction.commit();
  });
}

std::vector<trend::Acceptance> History::acceptances() {
  return inside_->database.told([&] { return inside_->acceptances(); });
}

std::string History::device_name(const std::string& device) {
  return inside_->database.told([&] { return name_now(inside_->device_names(), device); });
}

void History::rename_device(const std::string& device, const std::string& is_device) {
  inside_->database.told([&] {
    Transaction transaction(inside_->database, Access::write);
    soci::session& sql = inside_->sql();
    const std::string target = name_now(inside_->device_names(), is_device);
    if (target == device) {
      inside_->database.fail(fmt::format("'{}' is '{}' already the other way round", is_device, device));
    }
    for (const std::string& name : {device, target}) {
      if (ask<std::int64_t>(sql, "SELECT min(number) FROM runs WHERE device = :device", name)) continue;
      inside_->database.fail(
          fmt::format("has no device '{}'; `peakmark history log` shows those that it has", name));
    }
    sql << "DELETE FROM device_names WHERE device = :device", soci::use(device);
    sql << "INSERT INTO device_names (device, is_device) VALUES (:device, :is_device)", soci::use(device),
        soci::use(target);
    sql << "UPDATE device_names SET is_device = :is_device WHERE is_device = :device", soci::use(target),
        soci::use(device);
    transaction.commit();
  });
}

}  // namespace peakmark::history
