#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analyse/history/inside.hpp"
#include "analyse/history/run_record.hpp"
#include "analyse/trend/branches.hpp"

namespace peakmark::history {
namespace {

// In the order of the series.
constexpr std::array kMetrics{trend::metric::estimate_ratio, trend::metric::gpu_time_ns,
                              trend::metric::leaked_bytes, trend::metric::requested_peak_bytes,
                              trend::metric::setup_bytes};
static_assert(kMetrics.size() == trend::metric::measured.size());

/// Values of one case over the runs of a device.
struct Columns {
  std::array<std::vector<std::optional<double>>, kMetrics.size()> values;
  std::vector<std::optional<std::string>> outcomes;
  std::vector<bool> is_expected;                     ///< whether each outcome is expected; empty: none is
  std::vector<std::optional<double>> confirmations;  ///< empty if no run has one
  std::vector<std::uint8_t> methods;  ///< of the time of each run: an index into Reader::methods_
  std::vector<Size> versions;         ///< of each run; empty: all are 1
  std::map<std::string, std::vector<std::optional<double>>> reported;  ///< metrics of the program, by name
};

using NumberedRun = History::Implementation::NumberedRun;

/// A row of the table `facts`.
struct Facts {
  std::int64_t case_number = 0;
  std::string outcome;
  std::uint8_t method = 0;  ///< of its time: an index into Reader::methods_
  Size version = 1;
  std::array<std::optional<double>, kMetrics.size()> values;  ///< without times
};

std::optional<double> ratio(const std::optional<double>& peak, const std::optional<double>& estimated) {
  if (!peak || !estimated || *estimated <= 0) return std::nullopt;
  return *peak / *estimated;
}

/// `methods`: receives the methods of the times in the facts.
std::unordered_map<std::int64_t, Facts> read_facts(soci::session& sql, std::vector<std::string>& methods) {
  std::unordered_map<std::int64_t, Facts> all;
  Facts row;
  std::int64_t number = 0;
  // add() ensures that bytes are at most 2^53, so doubles are exact.
  std::array<std::int64_t, 4> bytes{};
  std::array<soci::indicator, 4> present{};
  std::string method;
  const auto value = [&](std::size_t at) {
    return present.at(at) == soci::i_ok ? std::optional<double>(static_cast<double>(bytes.at(at)))
                                        : std::nullopt;
  };
  each_row(
      sql,
      "SELECT number, case_number, outcome, requested_peak_bytes, setup_bytes, leaked_bytes, "
      "bytes_estimated, time_method, version FROM facts",
      [&] {
        // The figures of a failed case are incomplete.
        const bool is_whole = row.outcome == to_string(Outcome::ok);
        row.values = {};
        const auto known = std::ranges::find(methods, method);
        row.method = static_cast<std::uint8_t>(known - methods.begin());
        if (known == methods.end()) methods.push_back(method);
        if (is_whole) row.values = {ratio(value(0), value(3)), std::nullopt, value(2), value(0), value(1)};
        all.emplace(number, row);
      },
      soci::into(number), soci::into(row.case_number), soci::into(row.outcome),
      soci::into(bytes[0], present[0]), soci::into(bytes[1], present[1]), soci::into(bytes[2], present[2]),
      soci::into(bytes[3], present[3]), soci::into(method), soci::into(row.version));
  return all;
}

/// Number of runs per statement: PostgreSQL holds the whole result of a statement in memory.
constexpr std::size_t kRunsAStatement = 100;

/// Calls `take` with lists such as `3, 7, 8` of at most `kRunsAStatement` numbers.
template <typename Take>
void each_list(const std::vector<std::int64_t>& numbers, Take&& take) {
  for (std::size_t begin = 0; begin < numbers.size(); begin += kRunsAStatement) {
    const std::size_t end = std::min(begin + kRunsAStatement, numbers.size());
    take(fmt::format("{}", fmt::join(numbers.begin() + static_cast<std::ptrdiff_t>(begin),
                                     numbers.begin() + static_cast<std::ptrdiff_t>(end), ", ")));
  }
}

/// Collects the rows of the table `observations` in series, device by device.
class Reader {
 public:
  /// `branch`: is read in addition to the base branch; empty: none.
  Reader(History::Implementation& inside, std::string branch)
      : inside_(inside),
        sql_(inside.sql()),
        base_branch_(inside.settings().base_branch),
        branch_(std::move(branch)) {
    find_runs();
    if (runs_.empty() && !branch_.empty()) {
      inside_.database.fail(fmt::format("no run of branch '{}': `peakmark history log` lists them", branch_));
    }
  }

  [[nodiscard]] std::vector<DeviceBackend> devices() const {
    std::vector<DeviceBackend> devices;
    devices.reserve(runs_.size());
    for (const auto& [device, runs] : runs_) devices.push_back(device);
    return devices;
  }

  trend::DeviceHistory read(const DeviceBackend& device, const RunLimits& limits) {
    const auto found = runs_.find(device);
    if (found == runs_.end()) {
      inside_.database.fail(fmt::format("no device '{}' ({}): `peakmark history log` lists them",
                                        device.device, device.backend));
    }
    if (facts_.empty()) facts_ = read_facts(sql_, methods_);
    if (cases_.empty()) read_cases();
    history_ = {};
    std::vector<std::int64_t> numbers = numbers_within(found->second, is_of_branch() ? RunLimits{} : limits);
    history_.device = device.device;
    history_.backend = device.backend;
    columns_.clear();
    set_places(numbers);
    read_contexts(numbers);
    remove_superseded(numbers);
    read_observations(numbers);
    read_metrics(numbers);
    mark_lost_cases(numbers);
    mark_expected_outcomes(numbers);
    read_allowances(numbers);
    for (const auto& [case_name, case_number] : cases_) add_series(case_name, case_number);
    if (is_of_branch()) {
      history_ = trend::compare_with_base(history_, branch_, base_branch_);
    }
    std::unordered_set<std::string_view> runs;
    for (const trend::HistoryRun& run : history_.runs) runs.insert(run.id);
    std::ranges::copy_if(inside_.acceptances(), std::back_inserter(history_.acceptances),
                         [&](const trend::Acceptance& one) { return runs.contains(one.from_run); });
    trend::keep_newest_version(history_);
    return std::move(history_);
  }

 private:
  [[nodiscard]] bool is_of_branch() const { return !branch_.empty() && branch_ != base_branch_; }

  void find_runs() {
    std::set<DeviceBackend> with_branch;
    for (NumberedRun& one : inside_.runs()) {
      const LoggedRun& run = one.run;
      const bool is_asked = run.branch == branch_;
      if (!trend::is_of_base(run.branch, base_branch_) && !is_asked) continue;
      DeviceBackend device{run.device, run.backend};
      if (is_asked) with_branch.insert(device);
      runs_[std::move(device)].push_back(std::move(one));
    }
    if (is_of_branch())
      std::erase_if(runs_, [&](const auto& one) { return !with_branch.contains(one.first); });
  }

  /// Returns the numbers of the runs within the limits, and keeps the ids of thinned ones.
  std::vector<std::int64_t> numbers_within(const std::vector<NumberedRun>& runs, const RunLimits& limits) {
    std::vector<const NumberedRun*> asked;
    std::vector<std::string_view> suites;
    for (const NumberedRun& one : runs) {
      if (one.run.date < limits.since) continue;
      asked.push_back(&one);
      suites.emplace_back(one.run.suite);
    }
    const std::size_t max_runs = limits.max_runs == 0 ? runs.size() : limits.max_runs;
    const std::vector<bool> is_kept = thinned_runs(suites, max_runs);
    std::vector<std::int64_t> numbers;
    numbers.reserve(suites.size());
    for (std::size_t place = 0; place < suites.size(); ++place) {
      const auto& [number_and_place, run] = *asked[place];
      if (is_kept[place]) {
        numbers.push_back(number_and_place.number);
      } else {
        history_.left_out.emplace(run.id, numbers.size());
      }
    }
    return numbers;
  }

  void set_places(const std::vector<std::int64_t>& numbers) {
    places_.clear();
    for (const std::int64_t number : numbers) places_.emplace(number, places_.size());
  }

  /// Removes a partial run if its suite was later measured again at the same commit: its missing shards were
  /// added.
  void remove_superseded(std::vector<std::int64_t>& numbers) {
    std::vector<trend::HistoryRun>& runs = history_.runs;
    for (std::size_t run = runs.size(); run-- > 0;) {
      const trend::HistoryRun& partial = runs[run];
      const bool is_superseded = !partial.partial.empty() && !partial.commit.empty() &&
                                 std::any_of(runs.begin() + static_cast<std::ptrdiff_t>(run) + 1, runs.end(),
                                             [&](const trend::HistoryRun& later) {
                                               return later.suite == partial.suite &&
                                                      later.commit == partial.commit &&
                                                      later.branch == partial.branch;
                                             });
      if (!is_superseded) continue;
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(run));
      numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(run));
      for (auto& [id, next] : history_.left_out) {
        if (next > run) --next;
      }
    }
    set_places(numbers);
  }

  void read_cases() {
    std::int64_t number = 0;
    std::string name;
    each_row(
        sql_, "SELECT number, name FROM cases", [&] { cases_.emplace(name, number); }, soci::into(number),
        soci::into(name));
  }

  void read_contexts(const std::vector<std::int64_t>& numbers) {
    history_.runs.resize(numbers.size());
    std::int64_t number = 0;
    std::string context;
    std::string branch;
    std::string base_commits;
    trend::CommitText commit;
    std::int64_t commit_number = 0;
    soci::indicator is_numbered = soci::i_null;
    each_list(numbers, [&](const std::string& list) {
      each_row(
          sql_,
          // The base commits of runs of the base branch are long and not needed here.
          fmt::format("SELECT number, context, branch, CASE WHEN branch = :b THEN base_commits ELSE '' END, "
                      "commit_subject, commit_author, commit_number FROM runs WHERE number IN ({})",
                      list),
          [&] {
            trend::HistoryRun& one = history_.runs[places_.at(number)];
            one = to_history_run(context);
            one.branch = branch;
            one.commit_text = commit;
            if (is_numbered == soci::i_ok) one.commit_text.number = commit_number;
            std::istringstream commits(base_commits);
            one.base_commits.assign(std::istream_iterator<std::string>(commits), {});
          },
          soci::use(branch_), soci::into(number), soci::into(context), soci::into(branch),
          soci::into(base_commits), soci::into(commit.subject), soci::into(commit.author),
          soci::into(commit_number, is_numbered));
    });
  }

  void read_observations(const std::vector<std::int64_t>& numbers) {
    constexpr std::size_t kAtOnce = 4096;
    std::vector<long long> runs(kAtOnce);
    std::vector<long long> facts(kAtOnce);
    std::vector<double> times(kAtOnce);
    std::vector<soci::indicator> present(kAtOnce);
    std::vector<double> again(kAtOnce);
    std::vector<soci::indicator> again_present(kAtOnce);
    const auto resize = [&] {
      runs.resize(kAtOnce);
      facts.resize(kAtOnce);
      times.resize(kAtOnce);
      present.resize(kAtOnce);
      again.resize(kAtOnce);
      again_present.resize(kAtOnce);
    };
    each_list(numbers, [&](const std::string& list) {
      resize();
      soci::statement statement =
          (sql_.prepare << "SELECT run_number, facts_number, gpu_time_ns, again_ns FROM observations "
                           "WHERE run_number IN (" +
                               list + ")",
           soci::into(runs), soci::into(facts), soci::into(times, present), soci::into(again, again_present));
      statement.execute();
      while (statement.fetch()) {
        for (std::size_t row = 0; row < runs.size(); ++row) {
          put(places_.at(runs[row]), facts_.at(facts[row]),
              present[row] == soci::i_ok ? std::optional<double>(times[row]) : std::nullopt,
              again_present[row] == soci::i_ok ? std::optional<double>(again[row]) : std::nullopt);
        }
        resize();
      }
    });
  }

  /// Reads what programs reported. The figures of a failed case are incomplete.
  void read_metrics(const std::vector<std::int64_t>& numbers) {
    if (!has_metrics(inside_.database)) return;
    std::int64_t run = 0;
    std::int64_t facts_number = 0;
    std::string metrics;
    each_list(numbers, [&](const std::string& list) {
      each_row(
          sql_,
          fmt::format(
              "SELECT run_number, facts_number, metrics FROM observations WHERE metrics IS NOT NULL AND "
              "run_number IN ({})",
              list),
          [&] {
            const Facts& facts = facts_.at(facts_number);
            if (facts.outcome != to_string(Outcome::ok)) return;
            for (const auto& [name, value] : parse_metrics(metrics)) {
              auto& values = columns_[facts.case_number].reported[name];
              values.resize(history_.runs.size());
              values[places_.at(run)] = value;
            }
          },
          soci::into(run), soci::into(facts_number), soci::into(metrics));
    });
  }

  void put(std::size_t run, const Facts& facts, std::optional<double> time, std::optional<double> again) {
    const std::size_t runs = history_.runs.size();
    Columns& columns = columns_[facts.case_number];
    if (columns.outcomes.empty()) columns.outcomes.resize(runs);
    columns.outcomes[run] = facts.outcome;
    if (facts.version != 1 || !columns.versions.empty()) {
      columns.versions.resize(runs, 1);
      columns.versions[run] = facts.version;
    }
    const auto set = [&](std::size_t metric, const std::optional<double>& value) {
      if (!value) return;
      auto& values = columns.values.at(metric);
      if (values.empty()) values.resize(runs);
      values[run] = value;
    };
    for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) set(metric, facts.values.at(metric));
    // A time of 0 is below the resolution of the device's clock.
    if (!time || *time <= 0 || facts.outcome != to_string(Outcome::ok)) return;
    set(kTime, time);
    columns.methods.resize(runs);
    columns.methods[run] = facts.method;
    if (again && *again > 0) {
      columns.confirmations.resize(runs);
      columns.confirmations[run] = again;
    }
  }

  /// Marks outcomes other than `ok` that the plans of their runs expect. Reads only the plans of runs with
  /// such outcomes.
  void mark_expected_outcomes(const std::vector<std::int64_t>& numbers) {
    std::vector<bool> has_failed(numbers.size());
    for (const auto& [case_number, columns] : columns_) {
      for (std::size_t run = 0; run < columns.outcomes.size(); ++run) {
        const std::optional<std::string>& outcome = columns.outcomes[run];
        if (outcome && *outcome != to_string(Outcome::ok)) has_failed[run] = true;
      }
    }
    std::vector<std::int64_t> wanted;
    for (std::size_t run = 0; run < numbers.size(); ++run) {
      if (has_failed[run]) wanted.push_back(numbers[run]);
    }
    std::map<std::int64_t, std::vector<std::size_t>> runs_of_plan;
    std::int64_t number = 0;
    std::int64_t plan = 0;
    each_list(wanted, [&](const std::string& list) {
      each_row(
          sql_, fmt::format("SELECT number, plan_number FROM runs WHERE number IN ({})", list),
          [&] { runs_of_plan[plan].push_back(places_.at(number)); }, soci::into(number), soci::into(plan));
    });
    for (const auto& [plan_number, runs] : runs_of_plan) {
      const auto planned =
          ask<std::string>(sql_, "SELECT planned FROM plans WHERE number = :number", plan_number);
      for (const auto& [case_name, outcome] : expected_outcomes(planned.value()))
        mark_expected(case_name, outcome, runs);
    }
  }

  /// Reads only plans that allow growth.
  void read_allowances(const std::vector<std::int64_t>& numbers) {
    std::set<std::string_view> suites;
    for (std::size_t run = numbers.size(); run-- > 0;) {
      if (!suites.insert(history_.runs[run].suite).second) continue;
      const auto planned = ask<std::string>(sql_,
                                            "SELECT p.planned FROM plans p JOIN runs r ON r.plan_number = "
                                            "p.number WHERE r.number = :number AND p.planned LIKE "
                                            "'%\"allow_growth\":%'",
                                            numbers[run]);
      if (planned) history_.allowances.merge(allowed_growth(*planned));
    }
  }

  void mark_expected(const std::string& case_name, const std::string& outcome,
                     const std::vector<std::size_t>& runs) {
    const auto number = cases_.find(case_name);
    if (number == cases_.end()) return;
    const auto found = columns_.find(number->second);
    if (found == columns_.end()) return;
    Columns& columns = found->second;
    for (const std::size_t run : runs) {
      if (columns.outcomes[run] != outcome) continue;
      columns.is_expected.resize(columns.outcomes.size());
      columns.is_expected[run] = true;
    }
  }

  /// Sets the outcome `lost` for cases that a partial run should have: those of its plan, and of the last
  /// complete run of the same suite before it.
  void mark_lost_cases(const std::vector<std::int64_t>& numbers) {
    const auto is_partial = [&](std::size_t run) { return !history_.runs[run].partial.empty(); };
    for (std::size_t run = 0; run < numbers.size(); ++run) {
      if (!is_partial(run)) continue;
      std::set<std::string> names;
      const auto planned =
          ask<std::string>(sql_,
                           "SELECT p.planned FROM plans p JOIN runs r ON r.plan_number = p.number WHERE "
                           "r.number = :number",
                           numbers[run]);
      for (std::string& name : planned_names(planned.value())) names.insert(std::move(name));
      const trend::HistoryRun& partial = history_.runs[run];
      std::optional<std::size_t> whole;
      for (std::size_t before = 0; before < run; ++before) {
        const trend::HistoryRun& one = history_.runs[before];
        const bool is_alike = one.suite == partial.suite && one.fingerprint == partial.fingerprint &&
                              one.filter == partial.filter && one.asked_backend == partial.asked_backend;
        if (is_alike && !is_partial(before)) whole = before;
      }
      for (const auto& [name, number] : cases_) {
        Columns* const columns = columns_.contains(number) ? &columns_.at(number) : nullptr;
        const bool was_there = whole && columns != nullptr && columns->outcomes[*whole].has_value();
        if (!was_there && !names.contains(name)) continue;
        std::vector<std::optional<std::string>>& outcomes = columns_[number].outcomes;
        if (outcomes.empty()) outcomes.resize(history_.runs.size());
        if (outcomes[run]) continue;
        outcomes[run] = to_string(OutcomeLevel::lost);
        if (std::vector<Size>& versions = columns_[number].versions; !versions.empty() && run > 0) {
          std::size_t before = run - 1;
          while (before > 0 && !outcomes[before]) --before;
          versions[run] = versions[before];
        }
      }
    }
  }

  /// Returns the method of the times that are kept: that of the newest run. If a device class has runs of
  /// several devices, it is the method of the device with the most runs; otherwise a finding would appear and
  /// disappear with the device.
  [[nodiscard]] std::uint8_t kept_method(const trend::Series& series,
                                         const std::vector<std::uint8_t>& methods) const {
    std::vector<std::size_t> counts(methods_.size());
    std::uint8_t newest = 0;
    for (std::size_t run = 0; run < series.values.size(); ++run) {
      if (!series.values[run]) continue;
      newest = methods[run];
      ++counts[newest];
    }
    std::uint8_t kept = newest;
    for (std::size_t one = 0; one < counts.size(); ++one) {
      if (counts[one] > counts[kept] && differs_in_device_only(methods_[one], methods_[newest]))
        kept = static_cast<std::uint8_t>(one);
    }
    return kept;
  }

  /// Keeps the times of one method, because others cannot be compared with them.
  void keep_one_method(trend::Series& series, const std::vector<std::uint8_t>& methods) const {
    const std::uint8_t kept = kept_method(series, methods);
    for (std::size_t run = 0; run < series.values.size(); ++run) {
      if (methods[run] == kept) continue;
      series.values[run].reset();
      if (!series.confirmations.empty()) series.confirmations[run].reset();
    }
    series.method = methods_[kept];
  }

  /// Marks runs without a value that earlier runs of the same version have.
  void mark_incomplete(std::string_view metric, const std::vector<std::optional<double>>& values,
                       Columns& columns) const {
    if (columns.versions.empty())
      return trend::mark_incomplete(history_.runs, metric, values, columns.outcomes);
    for (const Size version : std::set<Size>(columns.versions.begin(), columns.versions.end())) {
      std::vector<std::optional<std::string>> outcomes(columns.outcomes.size());
      for (std::size_t run = 0; run < outcomes.size(); ++run) {
        if (columns.versions[run] == version) outcomes[run] = columns.outcomes[run];
      }
      trend::mark_incomplete(history_.runs, metric, values, outcomes);
      for (std::size_t run = 0; run < outcomes.size(); ++run) {
        if (outcomes[run]) columns.outcomes[run] = std::move(outcomes[run]);
      }
    }
  }

  void add_series(const std::string& case_name, std::int64_t case_number) {
    const auto found = columns_.find(case_number);
    if (found == columns_.end()) return;
    Columns& columns = found->second;
    const std::size_t first = history_.series.size();
    for (std::size_t metric = 0; metric < kMetrics.size(); ++metric) {
      auto& values = columns.values.at(metric);
      if (values.empty()) continue;
      if (metric == kTime || metric == kPeak) mark_incomplete(kMetrics.at(metric), values, columns);
      trend::Series series;
      series.case_name = case_name;
      series.metric = kMetrics.at(metric);
      series.values = std::move(values);
      if (metric == kTime) {
        series.confirmations = std::move(columns.confirmations);
        keep_one_method(series, columns.methods);
      }
      history_.series.push_back(std::move(series));
    }
    for (auto& [name, values] : columns.reported) {
      history_.series.push_back({case_name, name, std::move(values), {}});
    }
    std::ranges::sort(history_.series.begin() + static_cast<std::ptrdiff_t>(first), history_.series.end(), {},
                      &trend::Series::metric);
    history_.outcomes.push_back({case_name, std::move(columns.outcomes), std::move(columns.is_expected),
                                 std::move(columns.versions)});
  }

  static constexpr std::size_t kTime = 1;
  static_assert(kMetrics[kTime] == trend::metric::gpu_time_ns);
  static constexpr std::size_t kPeak = 3;
  static_assert(kMetrics[kPeak] == trend::metric::requested_peak_bytes);

  History::Implementation& inside_;
  soci::session& sql_;
  std::string base_branch_;
  std::string branch_;
  std::map<DeviceBackend, std::vector<NumberedRun>> runs_;  ///< sorted in the order of the runs
  std::unordered_map<std::int64_t, Facts> facts_;
  std::vector<std::string> methods_;  ///< methods of times
  std::map<std::string, std::int64_t> cases_;

  // Data of the device that is being read.
  trend::DeviceHistory history_;
  std::unordered_map<std::int64_t, std::size_t> places_;  ///< index in `history_` of each run, by number
  std::unordered_map<std::int64_t, Columns> columns_;     ///< by number of the case
};

}  // namespace

std::vector<trend::DeviceHistory> History::Implementation::read(const std::string& branch) {
  Reader reader(*this, branch);
  std::vector<trend::DeviceHistory> all;
  for (const DeviceBackend& device : reader.devices()) all.push_back(reader.read(device, {}));
  return all;
}

std::vector<DeviceBackend> History::Implementation::devices(const std::string& branch) {
  return Reader(*this, branch).devices();
}

trend::DeviceHistory History::Implementation::read_device(const DeviceBackend& device,
                                                          const std::string& branch,
                                                          const RunLimits& limits) {
  return Reader(*this, branch).read(device, limits);
}

std::vector<trend::DeviceHistory> History::read(const std::string& branch) {
  return implementation_->in_transaction(Access::read, [&] { return implementation_->read(branch); });
}

std::vector<DeviceBackend> History::devices(const std::string& branch) {
  return implementation_->in_transaction(Access::read, [&] { return implementation_->devices(branch); });
}

trend::DeviceHistory History::read_device(const DeviceBackend& device, const std::string& branch,
                                          const RunLimits& limits) {
  return implementation_->in_transaction(
      Access::read, [&] { return implementation_->read_device(device, branch, limits); });
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

std::vector<PeakEntry> History::at_peak(const std::string& case_name, const std::string& run_id) {
  return implementation_->database.guarded([&]() -> std::vector<PeakEntry> {
    const auto facts = ask<std::string>(
        implementation_->sql(),
        "SELECT f.observation FROM observations o JOIN facts f ON f.number = o.facts_number WHERE "
        "o.run_number = (SELECT number FROM runs WHERE id = :run) AND o.case_number = (SELECT number FROM "
        "cases WHERE name = :name)",
        run_id, case_name);
    return facts ? parse_facts(*facts).at_peak : std::vector<PeakEntry>{};
  });
}

}  // namespace peakmark::history
