#include "analyse/history/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "analyse/history/inside.hpp"
#include "analyse/history/run_record.hpp"
#include "analyse/trend/branches.hpp"
#include "base/device_name.hpp"
#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark::history {

const std::string& DeviceNames::shown(const std::string& device) const {
  const auto renamed_to = renamed.find(device);
  const std::string& name = renamed_to == renamed.end() ? device : renamed_to->second;
  const auto found = first.find(device_key(name));
  return found == first.end() ? name : found->second;
}

DeviceNames History::Implementation::device_names() {
  DeviceNames names;
  std::string device;
  std::string is_device;
  each_row(
      sql(), "SELECT device, is_device FROM device_names", [&] { names.renamed[device] = is_device; },
      soci::into(device), soci::into(is_device));
  each_row(
      sql(), "SELECT device FROM runs GROUP BY device ORDER BY min(number)",
      [&] {
        const auto renamed = names.renamed.find(device);
        names.first.emplace(device_key(device), renamed == names.renamed.end() ? device : renamed->second);
      },
      soci::into(device));
  return names;
}

std::vector<History::Implementation::NumberedRun> History::Implementation::runs() {
  const auto names = device_names();
  std::vector<NumberedRun> runs;
  NumberedRun row;
  LoggedRun& run = row.run;
  std::int64_t before = 0;
  soci::indicator is_placed = soci::i_null;
  each_row(
      sql(),
      "SELECT number, placed_before, id, date, suite, commit_id, branch, device, backend, driver, build, "
      "host_name, cases, ok FROM runs ORDER BY number",
      [&] {
        runs.push_back(row);
        if (is_placed == soci::i_ok) runs.back().place.before = before;
        runs.back().run.device = names.shown(run.device);
      },
      soci::into(row.place.number), soci::into(before, is_placed), soci::into(run.id), soci::into(run.date),
      soci::into(run.suite), soci::into(run.commit), soci::into(run.branch), soci::into(run.device),
      soci::into(run.backend), soci::into(run.driver), soci::into(run.build), soci::into(run.host_name),
      soci::into(run.cases), soci::into(run.ok));
  return in_order(std::move(runs));
}

std::int64_t History::Implementation::find_run_number(const std::string& run_id) {
  const auto number = ask<std::int64_t>(sql(), "SELECT number FROM runs WHERE id = :id", run_id);
  if (!number) {
    database.fail(fmt::format("no run '{}': `peakmark history log` lists them", run_id));
  }
  return *number;
}

std::vector<trend::Acceptance> History::Implementation::acceptances() {
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

Settings History::Implementation::settings() {
  Settings settings;
  sql() << "SELECT base_branch, commit_url FROM peakmark_history", soci::into(settings.base_branch),
      soci::into(settings.commit_url);
  return settings;
}

std::vector<trend::Notified> History::Implementation::notified() {
  std::vector<trend::Notified> all;
  trend::Notified row;
  std::string state;
  each_row(
      sql(),
      "SELECT case_name, metric, from_run, finding, state, changed_at FROM notifications ORDER BY case_name, "
      "metric, from_run",
      [&] {
        row.state = trend::parse_notified_state(state);
        all.push_back(row);
      },
      soci::into(row.case_name), soci::into(row.metric), soci::into(row.from_run), soci::into(row.finding),
      soci::into(state), soci::into(row.changed_at));
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

History::History(const Address& address, Purpose purpose, std::chrono::milliseconds patience)
    : implementation_(std::make_unique<Implementation>(address, access_for(purpose), patience)) {}

History::~History() = default;

const Address& History::address() const {
  return implementation_->database.address();
}

std::vector<LoggedRun> History::log() {
  return implementation_->database.guarded([&] {
    std::vector<Implementation::NumberedRun> numbered = implementation_->runs();
    std::vector<LoggedRun> runs;
    runs.reserve(numbered.size());
    for (Implementation::NumberedRun& run : numbered) runs.push_back(std::move(run.run));
    return runs;
  });
}

Settings History::settings() {
  return implementation_->database.guarded([&] { return implementation_->settings(); });
}

void History::set(const Settings& settings) {
  implementation_->in_transaction(Access::write, [&] {
    implementation_->sql() << "UPDATE peakmark_history SET base_branch = :b, commit_url = :u",
        soci::use(settings.base_branch), soci::use(settings.commit_url);
  });
}

std::vector<std::string> History::latest() {
  std::vector<LoggedRun> runs = log();
  const std::string base_branch = settings().base_branch;
  std::erase_if(runs, [&](const LoggedRun& run) { return !trend::is_of_base(run.branch, base_branch); });
  std::map<std::tuple<std::string, std::string, std::string>, std::string> newest;
  for (const LoggedRun& run : runs) newest[{run.device, run.backend, run.suite}] = run.id;
  std::vector<std::string> ids;
  for (const LoggedRun& run : runs) {
    if (newest.at({run.device, run.backend, run.suite}) == run.id) ids.push_back(run.id);
  }
  return ids;
}

Run History::run(const std::string& id) {
  return implementation_->in_transaction(Access::read, [&] {
    const std::int64_t number = implementation_->find_run_number(id);
    RunRecord record;
    implementation_->sql()
        << "SELECT r.context, p.planned FROM runs r JOIN plans p ON p.number = r.plan_number "
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
    std::string metrics;
    soci::indicator reports_metrics = soci::i_null;
    each_row(
        implementation_->sql(),
        fmt::format("SELECT f.observation, o.median_ns, o.min_ns, o.max_ns, o.kernel_ns, o.again_ns, {} FROM "
                    "observations o JOIN facts f ON f.number = o.facts_number WHERE o.run_number = :number "
                    "ORDER BY o.case_number",
                    has_metrics(implementation_->database) ? "o.metrics" : "CAST(NULL AS text)"),
        [&] {
          ObservationRecord& observation = record.observations.emplace_back();
          observation.facts = row.facts;
          if (has_times == soci::i_ok) observation.median_ns = median;
          if (has_min == soci::i_ok) observation.min_ns = least;
          if (has_max == soci::i_ok) observation.max_ns = most;
          if (has_kernels == soci::i_ok) observation.kernel_ns = kernels;
          if (has_again == soci::i_ok) observation.again_ns = again;
          if (reports_metrics == soci::i_ok) observation.metrics = metrics;
        },
        soci::use(number), soci::into(row.facts), soci::into(median, has_times), soci::into(least, has_min),
        soci::into(most, has_max), soci::into(kernels, has_kernels), soci::into(again, has_again),
        soci::into(metrics, reports_metrics));
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

void delete_row(soci::session& sql, const trend::Acceptance& acceptance) {
  sql << "DELETE FROM acceptances WHERE case_name = :c AND metric = :m AND from_run = :r",
      soci::use(acceptance.case_name), soci::use(acceptance.metric), soci::use(acceptance.from_run);
}

}  // namespace

void History::add_acceptances(const std::vector<trend::Acceptance>& acceptances) {
  implementation_->in_transaction(Access::write, [&] {
    soci::session& sql = implementation_->sql();
    for (const trend::Acceptance& acceptance : acceptances) {
      implementation_->find_run_number(acceptance.from_run);
      if (!ask<std::int64_t>(sql, "SELECT number FROM cases WHERE name = :name", acceptance.case_name)) {
        implementation_->database.fail(fmt::format("no case '{}'", acceptance.case_name));
      }
      delete_row(sql, acceptance);
      sql << "INSERT INTO acceptances (case_name, metric, from_run, accepted_by, accepted_at, reason) VALUES "
             "(:c, :m, :r, :w, :a, :reason)",
          soci::use(acceptance.case_name), soci::use(acceptance.metric), soci::use(acceptance.from_run),
          soci::use(acceptance.who), soci::use(acceptance.when), soci::use(acceptance.reason);
    }
  });
}

void History::remove_acceptances(const std::vector<trend::Acceptance>& acceptances) {
  implementation_->in_transaction(Access::write, [&] {
    for (const trend::Acceptance& acceptance : acceptances) delete_row(implementation_->sql(), acceptance);
  });
}

std::vector<trend::Acceptance> History::acceptances() {
  return implementation_->database.guarded([&] { return implementation_->acceptances(); });
}

std::vector<trend::Notified> History::notified() {
  return implementation_->database.guarded([&] { return implementation_->notified(); });
}

bool History::update_notified(const std::vector<trend::Notified>& expected,
                              const std::vector<trend::Notified>& rows) {
  return implementation_->in_transaction(Access::write, [&] {
    soci::session& sql = implementation_->sql();
    const auto find = [](const std::vector<trend::Notified>& all, const trend::Notified& key) {
      return std::ranges::find_if(all, [&](const trend::Notified& one) { return one.key() == key.key(); });
    };
    const std::vector<trend::Notified> stored = implementation_->notified();
    for (const trend::Notified& row : rows) {
      const auto is = find(stored, row);
      const auto was = find(expected, row);
      const bool is_same = is == stored.end() ? was == expected.end() : was != expected.end() && *is == *was;
      if (!is_same) return false;
    }
    for (const trend::Notified& row : rows) {
      sql << "DELETE FROM notifications WHERE case_name = :c AND metric = :m AND from_run = :r",
          soci::use(row.case_name), soci::use(row.metric), soci::use(row.from_run);
      if (!row.state) continue;
      const std::string state(to_string(*row.state));
      sql << "INSERT INTO notifications (case_name, metric, from_run, finding, state, changed_at) VALUES "
             "(:c, :m, :r, :f, :s, :a)",
          soci::use(row.case_name), soci::use(row.metric), soci::use(row.from_run), soci::use(row.finding),
          soci::use(state), soci::use(row.changed_at);
    }
    return true;
  });
}

std::string History::device_name(const std::string& device) {
  return implementation_->database.guarded([&] { return implementation_->device_names().shown(device); });
}

void History::rename_device(const std::string& device, const std::string& is_device) {
  implementation_->in_transaction(Access::write, [&] {
    soci::session& sql = implementation_->sql();
    const std::string target = implementation_->device_names().shown(is_device);
    if (target == device) {
      implementation_->database.fail(fmt::format("'{}' is already another name of '{}'", is_device, device));
    }
    for (const std::string& name : {device, target}) {
      if (ask<std::int64_t>(sql, "SELECT min(number) FROM runs WHERE device = :device", name)) continue;
      implementation_->database.fail(fmt::format("no device '{}': `peakmark history log` lists them", name));
    }
    sql << "DELETE FROM device_names WHERE device = :device", soci::use(device);
    sql << "INSERT INTO device_names (device, is_device) VALUES (:device, :is_device)", soci::use(device),
        soci::use(target);
    sql << "UPDATE device_names SET is_device = :is_device WHERE is_device = :device", soci::use(target),
        soci::use(device);
  });
}

void History::Implementation::drop(const std::set<std::int64_t>& numbers) {
  if (numbers.empty()) return;
  const std::vector<NumberedRun> all = runs();
  std::optional<std::int64_t> next;  // the next remaining run
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    const RunPlace& place = one->place;
    if (numbers.contains(place.number)) continue;
    if (place.before && numbers.contains(*place.before)) {
      soci::indicator has_next = next ? soci::i_ok : soci::i_null;
      std::int64_t before = next.value_or(0);
      sql() << "UPDATE runs SET placed_before = :b WHERE number = :n", soci::use(before, has_next),
          soci::use(place.number);
    }
    next = place.number;
  }
  for (const std::int64_t run : numbers) {
    sql() << "DELETE FROM observations WHERE run_number = :run", soci::use(run);
    sql() << "DELETE FROM runs WHERE number = :run", soci::use(run);
  }
  sql() << "DELETE FROM facts WHERE number NOT IN (SELECT facts_number FROM observations)";
  sql() << "DELETE FROM plans WHERE number NOT IN (SELECT plan_number FROM runs)";
  sql() << "DELETE FROM cases WHERE number NOT IN (SELECT case_number FROM observations)";
}

namespace {

/// Returns the ids in `known` that are nearest to a mistyped one: those that begin with it, else those with
/// the fewest typing errors.
std::vector<std::string> nearest_ids(const std::string& id, std::vector<std::string> known) {
  constexpr std::size_t kMaxNamed = 3;
  std::ranges::stable_sort(known, {}, [&](const std::string& one) {
    return std::pair(!one.starts_with(id), edit_distance(id, one));
  });
  if (known.size() > kMaxNamed) known.resize(kMaxNamed);
  return known;
}

}  // namespace

Removed History::remove(const std::vector<std::string>& ids, bool dry) {
  return implementation_->in_transaction(Access::write, [&] {
    const std::vector<Implementation::NumberedRun> runs = implementation_->runs();
    std::set<std::int64_t> numbers;
    for (const std::string& id : ids) {
      bool is_known = false;
      for (const Implementation::NumberedRun& one : runs) {
        if (!matches_pattern(id, one.run.id)) continue;
        numbers.insert(one.place.number);
        is_known = true;
      }
      if (is_known) continue;
      std::vector<std::string> known;
      known.reserve(runs.size());
      for (const Implementation::NumberedRun& one : runs) known.push_back(one.run.id);
      const std::string nearest = fmt::format("{}", fmt::join(nearest_ids(id, std::move(known)), ", "));
      implementation_->database.fail(
          fmt::format("no run '{}'{}; nothing was removed; `peakmark history log` "
                      "lists the runs",
                      id, nearest.empty() ? "" : "; nearest: " + nearest));
    }
    Removed removed;
    for (const Implementation::NumberedRun& one : runs) {
      if (numbers.contains(one.place.number)) removed.runs.push_back(one.run);
    }
    for (trend::Acceptance& one : implementation_->acceptances()) {
      if (std::ranges::find(removed.runs, one.from_run, &LoggedRun::id) != removed.runs.end())
        removed.acceptances.push_back(std::move(one));
    }
    if (dry) return removed;
    for (const trend::Acceptance& one : removed.acceptances) delete_row(implementation_->sql(), one);
    implementation_->drop(numbers);
    return removed;
  });
}

Pruned History::prune(const PruneChoice& choice, const RunsToKeep& runs_to_keep) {
  return implementation_->in_transaction(Access::write, [&] {
    // The lock is taken before reading, because a run that another process adds could belong to a change.
    const std::string base_branch = implementation_->settings().base_branch;
    if (!choice.branch.empty() && trend::is_of_base(choice.branch, base_branch)) {
      implementation_->database.fail(fmt::format(
          "'{}' is the base branch: remove its old runs with --older-than or --before", choice.branch));
    }
    const bool is_by_date = choice.branch.empty();
    std::set<std::string> kept;
    if (is_by_date && !choice.branches_only) {
      for (const DeviceBackend& device : implementation_->devices())
        kept.merge(runs_to_keep(implementation_->read_device(device)));
    }
    Pruned pruned;
    std::set<std::int64_t> numbers;
    for (const Implementation::NumberedRun& one : implementation_->runs()) {
      if (is_by_date ? one.run.date >= choice.date : one.run.branch != choice.branch) continue;
      const bool is_of_base = trend::is_of_base(one.run.branch, base_branch);
      if (is_of_base && choice.branches_only) continue;
      if (is_of_base && kept.contains(one.run.id)) {
        ++pruned.kept;
        continue;
      }
      pruned.runs.push_back(one.run.id);
      numbers.insert(one.place.number);
    }
    if (!is_by_date && numbers.empty()) {
      implementation_->database.fail(
          fmt::format("no run of branch '{}': `peakmark history log` lists them", choice.branch));
    }
    if (!choice.dry) implementation_->drop(numbers);
    return pruned;
  });
}

}  // namespace peakmark::history
