#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "history/inside.hpp"
#include "history/run_record.hpp"
#include "trend/branches.hpp"

namespace peakmark::history {
namespace {

// In the order of the series.
constexpr std::array kMetrics{trend::metric::estimate_ratio, trend::metric::gpu_time_ns,
                              trend::metric::leaked_bytes, trend::metric::requested_peak_bytes,
                              trend::metric::setup_bytes};
static_assert(kMetrics.size() == trend::metric::all.size());

/// Values of one case over the runs of a device.
struct Columns {
  std::array<std::vector<std::optional<double>>, kMetrics.size()> values;
  std::vector<std::optional<std::string>> outcomes;
  std::vector<std::optional<double>> confirmations;  ///< empty if no run has one
  std::vector<bool> is_cold;                         ///< of the time of each run
};

/// A row of the table `facts`.
struct Facts {
  std::int64_t case_number = 0;
  std::string outcome;
  bool is_cold = false;
  std::array<std::optional<double>, kMetrics.size()> values;  ///< without times
};

std::optional<double> ratio(const std::optional<double>& peak, const std::optional<double>& estimated) {
  if (!peak || !estimated || *estimated <= 0) return std::nullopt;
  return *peak / *estimated;
}

std::unordered_map<std::int64_t, Facts> read_facts(soci::session& sql) {
  std::unordered_map<std::int64_t, Facts> all;
  Facts row;
  std::int64_t number = 0;
  // add() ensures that bytes are at most 2^53, so doubles are exact.
  std::array<std::int64_t, 4> bytes{};
  std::array<soci::indicator, 4> present{};
  std::int64_t cold = 0;
  const auto value = [&](std::size_t at) {
    return present.at(at) == soci::i_ok ? std::optional<double>(static_cast<double>(bytes.at(at)))
                                        : std::nullopt;
  };
  each_row(
      sql,
      "SELECT number, case_number, outcome, requested_peak_bytes, setup_bytes, leaked_bytes, "
      "bytes_estimated, "
      "CASE WHEN observation LIKE '%\"cache\":\"cold\"%' THEN 1 ELSE 0 END FROM facts",
      [&] {
        // The figures of a case that failed are incomplete.
        const bool is_whole = row.outcome == to_string(Outcome::ok);
        row.values = {};
        row.is_cold = cold != 0;
        if (is_whole) row.values = {ratio(value(0), value(3)), std::nullopt, value(2), value(0), value(1)};
        all.emplace(number, row);
      },
      soci::into(number), soci::into(row.case_number), soci::into(row.outcome),
      soci::into(bytes[0], present[0]), soci::into(bytes[1], present[1]), soci::into(bytes[2], present[2]),
      soci::into(bytes[3], present[3]), soci::into(cold));
  return all;
}

/// The position of a run: index of the device and of the run.
struct RunPlace {
  std::size_t device = 0;
  std::size_t run = 0;
};

/// Collects the rows of the table `observations` in series.
class Reader {
 public:
  /// `branch`: also read, besides the base branch; empty: none.
  Reader(History::Implementation& inside, std::string branch)
      : sql_(inside.sql()),
        names_(inside.device_names()),
        base_branch_(inside.settings().base_branch),
        branch_(std::move(branch)) {}

  std::vector<trend::DeviceHistory> read() {
    read_runs();
    facts_ = read_facts(sql_);
    columns_.resize(devices_.size());
    read_observations();
    std::int64_t number = 0;
    std::string name;
    std::map<std::string, std::int64_t> cases;
    each_row(
        sql_, "SELECT number, name FROM cases", [&] { cases.emplace(name, number); }, soci::into(number),
        soci::into(name));
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      for (const auto& [case_name, case_number] : cases) add_series(device, case_name, case_number);
    }
    if (branch_.empty() || branch_ == base_branch_) return std::move(devices_);
    std::vector<trend::DeviceHistory> compared;
    for (std::size_t device = 0; device < devices_.size(); ++device) {
      trend::DeviceHistory one =
          trend::compare_with_base(devices_[device], order_added_[device], branch_, base_branch_);
      if (!one.base_runs.empty()) compared.push_back(std::move(one));
    }
    return compared;
  }

 private:
  void read_runs() {
    std::map<std::pair<std::string, std::string>, trend::DeviceHistory> devices;
    std::map<std::string, std::int64_t> numbers;
    std::int64_t number = 0;
    std::string context;
    std::string branch;
    std::string base_commits;
    each_row(
        sql_, "SELECT number, context, branch, base_commits FROM runs ORDER BY date, number",
        [&] {
          if (!trend::is_of_base(branch, base_branch_) && branch != branch_) {
            skips_runs_ = true;
            return;
          }
          trend::HistoryRun one = to_history_run(context);
          one.branch = branch;
          std::istringstream commits(base_commits);
          one.base_commits.assign(std::istream_iterator<std::string>(commits), {});
          const std::string& device = name_now(names_, one.device);
          trend::DeviceHistory& history = devices[{device, one.backend}];
          history.device = device;
          history.backend = one.backend;
          numbers.emplace(one.id, number);
          history.runs.push_back(std::move(one));
        },
        soci::into(number), soci::into(context), soci::into(branch), soci::into(base_commits));
    for (auto& [name, history] : devices) {
      std::vector<std::size_t>& order = order_added_.emplace_back();
      for (std::size_t run = 0; run < history.runs.size(); ++run) {
        const std::int64_t run_number = numbers.at(history.runs[run].id);
        places_[run_number] = {devices_.size(), run};
        order.push_back(static_cast<std::size_t>(run_number));
      }
      devices_.push_back(std::move(history));
    }
  }

  void read_observations() {
    constexpr std::size_t kAtOnce = 4096;
    std::vector<long long> runs(kAtOnce);
    std::vector<long long> facts(kAtOnce);
    std::vector<double> times(kAtOnce);
    std::vector<soci::indicator> present(kAtOnce);
    std::vector<double> again(kAtOnce);
    std::vector<soci::indicator> again_present(kAtOnce);
    soci::statement statement =
        (sql_.prepare << "SELECT run_number, facts_number, gpu_time_ns, again_ns FROM observations",
         soci::into(runs), soci::into(facts), soci::into(times, present), soci::into(again, again_present));
    statement.execute();
    while (statement.fetch()) {
      for (std::size_t row = 0; row < runs.size(); ++row) {
        put(runs[row], facts[row],
            present[row] == soci::i_ok ? std::optional<double>(times[row]) : std::nullopt,
            again_present[row] == soci::i_ok ? std::optional<double>(again[row]) : std::nullopt);
      }
      runs.resize(kAtOnce);
      facts.resize(kAtOnce);
      times.resize(kAtOnce);
      present.resize(kAtOnce);
      again.resize(kAtOnce);
      again_present.resize(kAtOnce);
    }
  }

  void put(std::int64_t run_number, std::int64_t facts_number, std::optional<double> time,
           std::optional<double> again) {
    if (skips_runs_ && !places_.contains(run_number)) return;  // of another branch
    const RunPlace place = places_.at(run_number);
    const Facts& facts = facts_.at(facts_number);
    Columns& columns = columns_[place.device][facts.case_number];
    if (columns.outcomes.empty()) {
      const std::size_t runs = devices_[place.device].runs.size();
      columns.outcomes.resize(runs);
      for (auto& values : columns.values) values.resize(runs);
    }
    columns.outcomes[place.run] = facts.outcome;
    for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
      columns.values.at(metric)[place.run] = facts.values.at(metric);
    }
    // A time of 0 is below the resolution of the device's clock.
    if (time && *time > 0 && facts.outcome == to_string(Outcome::ok)) {
      columns.values[kTime][place.run] = time;
      columns.is_cold.resize(columns.outcomes.size());
      columns.is_cold[place.run] = facts.is_cold;
      if (again && *again > 0) {
        columns.confirmations.resize(columns.outcomes.size());
        columns.confirmations[place.run] = again;
      }
    }
  }

  /// Keeps the cache state of the newest run: cold and hot times cannot be compared.
  static void keep_newest_state(trend::Series& series, const std::vector<bool>& is_cold) {
    std::size_t newest = series.values.size() - 1;
    while (!series.values[newest]) --newest;
    for (std::size_t run = 0; run < series.values.size(); ++run) {
      if (is_cold[run] == is_cold[newest]) continue;
      series.values[run].reset();
      if (!series.confirmations.empty()) series.confirmations[run].reset();
    }
    series.cache = is_cold[newest] ? cache_state::cold : cache_state::hot;
  }

  void add_series(std::size_t device, const std::string& case_name, std::int64_t case_number) {
    const auto found = columns_[device].find(case_number);
    if (found == columns_[device].end()) return;
    Columns& columns = found->second;
    for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
      auto& values = columns.values.at(metric);
      if (std::ranges::none_of(values, [](const auto& value) { return value.has_value(); })) continue;
      trend::Series series;
      series.case_name = case_name;
      series.metric = kMetrics.at(metric);
      series.values = std::move(values);
      if (metric == kTime) {
        series.confirmations = std::move(columns.confirmations);
        keep_newest_state(series, columns.is_cold);
      }
      devices_[device].series.push_back(std::move(series));
    }
    devices_[device].outcomes.push_back({case_name, std::move(columns.outcomes)});
  }

  static constexpr std::size_t kTime = 1;
  static_assert(kMetrics[kTime] == trend::metric::gpu_time_ns);

  soci::session& sql_;
  std::map<std::string, std::string> names_;
  std::string base_branch_;
  std::string branch_;
  bool skips_runs_ = false;
  std::vector<trend::DeviceHistory> devices_;
  std::vector<std::vector<std::size_t>> order_added_;  ///< of the runs of each device
  std::unordered_map<std::int64_t, RunPlace> places_;
  std::unordered_map<std::int64_t, Facts> facts_;
  std::vector<std::unordered_map<std::int64_t, Columns>>
      columns_;  ///< for each device, by number of the case
};

}  // namespace

std::vector<trend::DeviceHistory> History::Implementation::read(const std::string& branch) {
  std::vector<trend::DeviceHistory> devices = Reader(*this, branch).read();
  if (devices.empty() && !branch.empty()) {
    database.fail(fmt::format("no run of branch '{}': `peakmark history log` lists them", branch));
  }
  const std::vector<trend::Acceptance> all = acceptances();
  for (trend::DeviceHistory& device : devices) {
    std::ranges::copy_if(all, std::back_inserter(device.acceptances), [&](const trend::Acceptance& one) {
      return trend::find_run(device, one.from_run).has_value();
    });
  }
  return devices;
}

std::vector<trend::DeviceHistory> History::read(const std::string& branch) {
  return implementation_->database.guarded([&] {
    const Transaction transaction(implementation_->database, Access::read);
    return implementation_->read(branch);
  });
}

std::vector<KnownCase> History::cases() {
  return implementation_->database.guarded([&] {
    std::vector<KnownCase> all;
    std::string name;
    std::string facts;
    each_row(
        implementation_->sql(),
        "SELECT c.name, f.observation FROM cases c JOIN facts f ON f.case_number = c.number WHERE f.number "
        "IN "
        "(SELECT max(number) FROM facts GROUP BY case_number)",
        [&] {
          Observation observation = parse_facts(facts);
          all.push_back({name, observation.variant, observation.backend, std::move(observation.axes)});
        },
        soci::into(name), soci::into(facts));
    std::ranges::sort(all, {}, &KnownCase::name);
    return all;
  });
}

std::vector<Allocation> History::at_peak(const std::string& case_name, const std::string& run_id) {
  return implementation_->database.guarded([&]() -> std::vector<Allocation> {
    const auto facts = ask<std::string>(
        implementation_->sql(),
        "SELECT f.observation FROM observations o JOIN facts f ON f.number = o.facts_number WHERE "
        "o.run_number = (SELECT number FROM runs WHERE id = :run) AND o.case_number = (SELECT number FROM "
        "cases WHERE name = :name)",
        run_id, case_name);
    return facts ? parse_at_peak(*facts) : std::vector<Allocation>{};
  });
}

}  // namespace peakmark::history
