#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "analyse/history/database.hpp"
#include "analyse/history/inside.hpp"
#include "analyse/history/run_record.hpp"
#include "analyse/trend/branches.hpp"
#include "base/text.hpp"

namespace peakmark::history {

namespace {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

Value null_or(const std::optional<std::int64_t>& value) {
  return value ? Value(*value) : Value();
}
Value null_or(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}
Value null_or(const std::optional<std::string>& value) {
  return value ? Value(*value) : Value();
}

/// The type of a column's values.
enum class ColumnType : std::uint8_t { integer, real, text };
struct Column {
  const char* name;
  ColumnType type;
};

/// Adds rows to a table, many in one statement, because each statement costs a round trip to a remote
/// database. The statement is prepared only once, because in SQLite its preparation time is quadratic in the
/// number of values.
class RowWriter {
 public:
  RowWriter(Database& database, std::string table, std::vector<Column> columns);
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  /// Adds a row: one value for each column, of the column's type or null.
  void add(std::vector<Value> row);
  /// Writes the remaining rows, which would otherwise be lost.
  void finish();

 private:
  /// The statement keeps pointers to these values.
  struct Cell {
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
    soci::indicator present = soci::i_null;
  };

  std::unique_ptr<soci::statement> prepared(std::size_t rows);

  Database& database_;
  std::string table_;
  std::vector<Column> columns_;
  std::vector<Cell> cells_;  ///< of all rows of one statement
  std::size_t rows_ = 0;     ///< number of rows in `cells_`
  std::unique_ptr<soci::statement> full_statement_;
};

/// Rows per statement: a few thousand values, fewer than the maximum of either database.
constexpr std::size_t kRowsAStatement = 200;

RowWriter::RowWriter(Database& database, std::string table, std::vector<Column> columns)
    : database_(database),
      table_(std::move(table)),
      columns_(std::move(columns)),
      cells_(kRowsAStatement * columns_.size()) {}

void RowWriter::add(std::vector<Value> row) {
  if (row.size() != columns_.size()) throw std::logic_error("RowWriter: wrong number of values");
  Cell* cell = &cells_[rows_ * columns_.size()];
  for (std::size_t column = 0; column < row.size(); ++column, ++cell) {
    cell->present = std::holds_alternative<std::monostate>(row[column]) ? soci::i_null : soci::i_ok;
    if (cell->present == soci::i_null) continue;
    switch (columns_[column].type) {
      case ColumnType::integer:
        cell->integer = std::get<std::int64_t>(row[column]);
        break;
      case ColumnType::real:
        cell->real = std::get<double>(row[column]);
        break;
      case ColumnType::text:
        cell->text = std::move(std::get<std::string>(row[column]));
        break;
    }
  }
  if (++rows_ < kRowsAStatement) return;
  if (!full_statement_) full_statement_ = prepared(rows_);
  full_statement_->execute(true);
  rows_ = 0;
}

void RowWriter::finish() {
  if (rows_ > 0) prepared(rows_)->execute(true);
  rows_ = 0;
}

std::unique_ptr<soci::statement> RowWriter::prepared(std::size_t rows) {
  std::string text = fmt::format("INSERT INTO {} (", table_);
  for (const Column& column : columns_) {
    text += fmt::format("{}{}", &column == columns_.data() ? "" : ", ", column.name);
  }
  text += ") VALUES ";
  auto statement = std::make_unique<soci::statement>(database_.sql());
  for (std::size_t place = 0; place < rows * columns_.size(); ++place) {
    const std::size_t column = place % columns_.size();
    text += fmt::format("{}:v{}", column != 0 ? ", " : place == 0 ? "(" : "), (", place);
    Cell& cell = cells_[place];
    switch (columns_[column].type) {
      case ColumnType::integer:
        statement->exchange(soci::use(cell.integer, cell.present));
        break;
      case ColumnType::real:
        statement->exchange(soci::use(cell.real, cell.present));
        break;
      case ColumnType::text:
        statement->exchange(soci::use(cell.text, cell.present));
        break;
    }
  }
  statement->alloc();
  statement->prepare(text + ")");
  statement->define_and_bind();
  return statement;
}

/// Returns the next free numbers of a table.
class Numbers {
 public:
  Numbers(soci::session& sql, const std::string& table)
      : next_(ask<std::int64_t>(sql, "SELECT max(number) FROM " + table).value_or(0) + 1) {}
  std::int64_t take() { return next_++; }

 private:
  std::int64_t next_;
};

/// Adds one run within the caller's transaction.
class Addition {
  using enum ColumnType;

 public:
  /// `record`: the record of `run`, without the texts of its facts. `before`: as in RunPlace.
  Addition(Database& database, const Run& run, const RunRecord& record, const RunOrigin& origin,
           std::optional<std::int64_t> before)
      : database_(database),
        sql_(database.sql()),
        run_(run),
        record_(record),
        origin_(origin),
        before_(before) {}

  void write() {
    const std::int64_t run = Numbers(sql_, "runs").take();
    write_run(run);
    const auto cases = case_numbers();
    const auto facts = facts_numbers(cases);
    std::vector<Column> columns{{"run_number", integer}, {"case_number", integer}, {"facts_number", integer},
                                {"gpu_time_ns", real},   {"median_ns", real},      {"min_ns", real},
                                {"max_ns", real},        {"kernel_ns", text},      {"again_ns", real}};
    const bool reports_metrics =
        std::ranges::any_of(record_.observations, [](const auto& one) { return one.metrics.has_value(); });
    if (reports_metrics) {
      add_metrics(database_);
      columns.push_back({"metrics", text});
    }
    RowWriter rows(database_, "observations", columns);
    for (const ObservationRecord& one : record_.observations) {
      const std::int64_t sweep_case = cases.at(one.case_name);
      std::vector<Value> row{run,
                             sweep_case,
                             facts.at({sweep_case, one.facts_hash}),
                             null_or(one.gpu_time_ns),
                             null_or(one.median_ns),
                             null_or(one.min_ns),
                             null_or(one.max_ns),
                             null_or(one.kernel_ns),
                             null_or(one.again_ns)};
      if (reports_metrics) row.push_back(null_or(one.metrics));
      rows.add(std::move(row));
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
                    {"branch", text},
                    {"base_commits", text},
                    {"device", text},
                    {"backend", text},
                    {"driver", text},
                    {"build", text},
                    {"host_name", text},
                    {"cases", integer},
                    {"ok", integer},
                    {"plan_number", integer},
                    {"context", text},
                    {"digest", text},
                    {"placed_before", integer},
                    {"commit_subject", text},
                    {"commit_author", text},
                    {"commit_number", integer}});
    rows.add({number,
              record_.id,
              record_.date,
              record_.suite,
              record_.commit,
              origin_.branch,
              fmt::format("{}", fmt::join(origin_.base_commits, " ")),
              record_.device,
              record_.backend,
              record_.driver,
              record_.build,
              record_.host_name,
              static_cast<std::int64_t>(record_.observations.size()),
              record_.ok(),
              plan_number(),
              record_.context,
              record_.digest,
              null_or(before_),
              origin_.commit.subject,
              origin_.commit.author,
              null_or(origin_.commit.number)});
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
  /// Looks up only the facts of this run, because a history of years has many others.
  FactsNumbers known_facts(const std::unordered_map<std::string, std::int64_t>& cases) {
    FactsNumbers numbers;
    const std::vector<ObservationRecord>& observations = record_.observations;
    for (std::size_t begin = 0; begin < observations.size(); begin += kRowsAStatement) {
      std::string pairs;
      const std::size_t end = std::min(begin + kRowsAStatement, observations.size());
      for (std::size_t i = begin; i < end; ++i) {
        pairs += fmt::format("{}({}, {})", i == begin ? "" : ", ", cases.at(observations[i].case_name),
                             observations[i].facts_hash);
      }
      std::int64_t number = 0;
      std::int64_t sweep_case = 0;
      std::int64_t hash = 0;
      each_row(
          sql_,
          fmt::format(
              "WITH wanted (c, h) AS (VALUES {}) SELECT f.number, f.case_number, f.hash FROM wanted JOIN "
              "facts f ON f.case_number = wanted.c AND f.hash = wanted.h",
              pairs),
          [&] { numbers.emplace(std::pair(sweep_case, hash), number); }, soci::into(number),
          soci::into(sweep_case), soci::into(hash));
    }
    return numbers;
  }

  FactsNumbers facts_numbers(const std::unordered_map<std::string, std::int64_t>& cases) {
    FactsNumbers numbers = known_facts(cases);
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
                    {"time_method", text},
                    {"version", integer},
                    {"observation", text}});
    for (std::size_t i = 0; i < record_.observations.size(); ++i) {
      const ObservationRecord& one = record_.observations[i];
      const std::pair key(cases.at(one.case_name), one.facts_hash);
      if (numbers.contains(key)) continue;
      const std::int64_t taken = next.take();
      numbers.emplace(key, taken);
      rows.add({taken, key.first, key.second, one.outcome, null_or(one.requested_peak_bytes),
                null_or(one.setup_bytes), null_or(one.leaked_bytes), null_or(one.bytes_estimated),
                time_method(run_.observations[i]), run_.observations[i].version,
                facts_text(run_.observations[i])});
    }
    rows.finish();
    return numbers;
  }

  Database& database_;
  soci::session& sql_;
  const Run& run_;
  const RunRecord& record_;
  const RunOrigin& origin_;
  std::optional<std::int64_t> before_;
};

/// Sets the history's base branch to that of the first run that has one.
void learn_base_branch(Database& database, const RunOrigin& origin, Settings& settings,
                       std::vector<std::string>& notes) {
  if (origin.branch.empty() || !settings.base_branch.empty()) return;
  settings.base_branch = origin.base_branch.empty() ? origin.branch : origin.base_branch;
  if (!database.is_allowed("UPDATE", "peakmark_history")) {
    database.fail(fmt::format(
        "not added: the history has no base branch, and this user may not set it; its owner can: `peakmark "
        "history set --base-branch {}`",
        settings.base_branch));
  }
  database.sql() << "UPDATE peakmark_history SET base_branch = :b", soci::use(settings.base_branch);
  notes.push_back(fmt::format(
      "the base branch of this history is '{}': trends follow it. `peakmark history set --base-branch NAME` "
      "changes it",
      settings.base_branch));
}

using NumberedRuns = std::vector<History::Implementation::NumberedRun>;

/// Refuses a date that only a wrong clock can produce.
void check_date(const RunRecord& record) {
  const auto now = std::chrono::system_clock::now();
  if (record.date <= utc_date(now + std::chrono::days(1))) return;
  throw UsageError(fmt::format(
      "not added: dated {}, later than tomorrow (the date of this machine is {}): correct the clock that is "
      "wrong and measure again, or name the date of results that are imported: `history import --date`",
      record.date, utc_date(now)));
}

/// Returns the first parents of the newest of these runs that has them.
std::vector<std::string> newest_commits(soci::session& sql, const NumberedRuns& runs) {
  constexpr std::size_t kMaxAsked = 20;
  std::size_t asked = 0;
  for (auto run = runs.rbegin(); run != runs.rend() && asked < kMaxAsked; ++run, ++asked) {
    std::istringstream commits(
        ask<std::string>(sql, "SELECT base_commits FROM runs WHERE number = :number", run->place.number)
            .value_or(""));
    std::vector<std::string> list{std::istream_iterator<std::string>(commits), {}};
    if (!list.empty()) return list;
  }
  return {};
}

/// Returns the index of the run before which a new one is placed, among those of its suite, device and branch
/// in their order. Null: after all.
std::optional<std::size_t> find_place(soci::session& sql, const RunRecord& record, Placement placement,
                                      bool is_of_base, const NumberedRuns& runs) {
  if (placement == Placement::date) {
    const auto later =
        std::ranges::find_if(runs, [&](const auto& one) { return one.run.date > record.date; });
    if (later == runs.end()) return std::nullopt;
    return static_cast<std::size_t>(later - runs.begin());
  }
  if (!is_of_base) return std::nullopt;
  std::vector<std::string> commits;
  commits.reserve(runs.size());
  for (const auto& one : runs) commits.push_back(one.run.commit);
  return first_descendant(commits, record.commit, newest_commits(sql, runs));
}

/// Returns a note if the order is not that of dates.
std::string note_on_order(const RunRecord& record, Placement placement, std::optional<std::size_t> place,
                          const NumberedRuns& runs) {
  if (runs.empty() || placement == Placement::date) return {};
  if (place) {
    const LoggedRun& after = runs[*place].run;
    return fmt::format("its commit {} is older than that of run {} ({}): it is placed before that run",
                       short_commit(record.commit), after.id, short_commit(after.commit));
  }
  const LoggedRun& newest = runs.back().run;
  if (record.date >= newest.date) return {};
  return fmt::format(
      "dated {}, before the newest run of this suite and device ({}): it is the newest now, because runs are "
      "in the order in which they are added. Check the clock; if it is a result of the past, `peakmark "
      "history remove {}` and add it again with --by-date",
      record.date, newest.date, record.id);
}

/// Returns a note if the newest run of the suite and device was measured with other suite files.
std::string note_on_suite(soci::session& sql, const Run& run, const NumberedRuns& runs) {
  if (runs.empty() || !run.context.suite_files || run.context.suite_files->empty()) return {};
  const auto context =
      ask<std::string>(sql, "SELECT context FROM runs WHERE number = :number", runs.back().place.number);
  const auto before = to_history_run(context.value()).suite_files;
  if (!before || before->empty() || before == run.context.suite_files) return {};
  return fmt::format(
      "suite '{}' is measured from {} now, and was from {}: suites with the same name share their series. If "
      "they are not the same suite, `peakmark history remove {}` and rename one",
      run.context.suite, fmt::join(*run.context.suite_files, ", "), fmt::join(*before, ", "), run.context.id);
}

/// Returns notes for the user about a run that is added to `runs`, the runs of its branch.
std::vector<std::string> notes_on(const RunRecord& record, const std::string& device,
                                  const NumberedRuns& runs) {
  std::vector<std::string> notes;
  std::set<std::string> others;
  const LoggedRun* newest = nullptr;
  const LoggedRun* same_commit = nullptr;
  for (const auto& [place, run] : runs) {
    if (run.backend == record.backend && run.device != device) others.insert(run.device);
    if (run.backend != record.backend || run.device != device) continue;
    newest = &run;
    if (!record.commit.empty() && run.commit == record.commit) same_commit = &run;
  }
  if (newest == nullptr && !others.empty()) {
    std::string known;
    for (const std::string& other : others) known += (known.empty() ? "'" : "', '") + other;
    notes.push_back(fmt::format(
        "new device '{}' (known: {}'): its series begin with this run. If it is another name of a "
        "known device: `peakmark history rename-device {} KNOWN`",
        device, known, shell_word(device)));
  }
  if (same_commit != nullptr) {
    notes.push_back(fmt::format("second run of commit {} on this device, after {}: both are kept",
                                record.commit, same_commit->date));
  }
  return notes;
}

}  // namespace

Added History::add(const Run& run, const RunOrigin& origin, Placement placement) {
  const RunRecord record = to_record(run, false);
  return implementation_->in_transaction(Access::write, [&] {
    Added added;
    const auto digest =
        ask<std::string>(implementation_->sql(), "SELECT digest FROM runs WHERE id = :id", record.id);
    if (digest && *digest != record.digest) {
      implementation_->database.fail(fmt::format(
          "run {} is in the history with different contents; nothing was added. Was its run file edited?",
          record.id));
    }
    const DeviceNames names = implementation_->device_names();
    const std::string& device = names.shown(record.device);
    Settings settings = implementation_->settings();
    added.was_there = digest.has_value();
    if (!added.was_there) check_date(record);
    if (!added.was_there) learn_base_branch(implementation_->database, origin, settings, added.notes);
    NumberedRuns runs = implementation_->runs();
    added.branch = origin.branch;
    for (const auto& [place, one] : runs) {
      if (one.id == record.id) added.branch = one.branch;
    }
    added.is_of_base = trend::is_of_base(added.branch, settings.base_branch);
    std::erase_if(runs, [&](const auto& one) {
      return added.is_of_base ? !trend::is_of_base(one.run.branch, settings.base_branch)
                              : one.run.branch != added.branch;
    });
    const auto is_of_device = [&](const auto& one) {
      return one.run.device == device && one.run.backend == record.backend;
    };
    added.runs_of_device = std::ranges::count_if(runs, is_of_device);
    if (added.was_there) return added;
    std::ranges::move(notes_on(record, device, runs), std::back_inserter(added.notes));
    const bool has_the_name =
        ask<std::int64_t>(implementation_->sql(), "SELECT min(number) FROM runs WHERE device = :device",
                          record.device)
            .has_value();
    if (device != record.device && !names.renamed.contains(record.device) && !has_the_name) {
      added.notes.push_back(fmt::format(
          "device '{}' is '{}' under another version of its driver: this run continues its series",
          record.device, device));
    }
    std::erase_if(runs, [&](const auto& one) { return !is_of_device(one) || one.run.suite != record.suite; });
    const std::optional<std::size_t> place =
        find_place(implementation_->sql(), record, placement, added.is_of_base, runs);
    if (std::string note = note_on_order(record, placement, place, runs); !note.empty())
      added.notes.push_back(std::move(note));
    if (std::string note = note_on_suite(implementation_->sql(), run, runs); !note.empty())
      added.notes.push_back(std::move(note));
    const std::optional<std::int64_t> before =
        place ? std::optional(runs[*place].place.number) : std::nullopt;
    Addition(implementation_->database, run, record, origin, before).write();
    ++added.runs_of_device;
    return added;
  });
}

}  // namespace peakmark::history
