#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "history/database.hpp"

namespace peakmark::history {
namespace {

enum class Dialect : std::uint8_t { sqlite, postgresql };

/// A statement of a migration.
struct Statement {
  std::string sql;
  std::optional<Dialect> dialect = {};  ///< of the databases that need it; null: of all
};
using Statements = std::vector<Statement>;

/// Returns the statement that places each run before the first one of a later date that arrived before it.
std::string place_by_date(const std::string& tomorrow) {
  return "WITH later AS (SELECT number, max(CASE WHEN date <= " + tomorrow +
         " THEN date END) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newest"
         " FROM runs) UPDATE runs SET placed_before = (SELECT r.number FROM runs r WHERE r.number <"
         " runs.number AND r.date > runs.date AND r.date <= " +
         tomorrow +
         " ORDER BY r.date, r.number LIMIT 1) WHERE number IN (SELECT runs.number FROM runs JOIN later ON"
         " later.number = runs.number WHERE runs.date < later.newest)";
}

// Statements that migrate from one version to the next, beginning with version 0, an empty database. Never
// change a released migration: add one, and a database of the version before to versions/. All integers are
// bigint, because SOCI reads other integers of SQLite as 32 bits.
const std::array<Statements, kSchemaVersion>& migrations() {
  const std::string measurements =
      " measurements AS SELECT r.id AS run, r.date, r.suite, r.commit_id, r.device, r.backend,"
      " r.driver, r.build, c.name AS case_name, f.outcome, f.requested_peak_bytes, f.setup_bytes,"
      " f.leaked_bytes, f.bytes_estimated, o.gpu_time_ns, r.branch FROM observations o"
      " JOIN runs r ON r.number = o.run_number JOIN cases c ON c.number = o.case_number"
      " JOIN facts f ON f.number = o.facts_number";
  static const std::array<Statements, kSchemaVersion> all{{
      {
          {"CREATE TABLE peakmark_history (version bigint NOT NULL)"},
          {"INSERT INTO peakmark_history (version) VALUES (0)"},
          {"CREATE TABLE plans (number bigint NOT NULL PRIMARY KEY, hash bigint NOT NULL UNIQUE,"
           " planned text NOT NULL)"},
          {"CREATE TABLE runs (number bigint NOT NULL PRIMARY KEY, id text NOT NULL UNIQUE, date text NOT "
           "NULL,"
           " suite text NOT NULL, commit_id text NOT NULL, device text NOT NULL, backend text NOT NULL,"
           " driver text NOT NULL, build text NOT NULL, host_name text NOT NULL, cases bigint NOT NULL,"
           " ok bigint NOT NULL, plan_number bigint NOT NULL, context text NOT NULL, digest text NOT NULL)"},
          {"CREATE TABLE cases (number bigint NOT NULL PRIMARY KEY, name text NOT NULL UNIQUE)"},
          {"CREATE TABLE facts (number bigint NOT NULL PRIMARY KEY, case_number bigint NOT NULL,"
           " hash bigint NOT NULL, outcome text NOT NULL, requested_peak_bytes bigint, setup_bytes bigint,"
           " leaked_bytes bigint, bytes_estimated bigint, observation text NOT NULL,"
           " UNIQUE (case_number, hash))"},
          {"CREATE TABLE observations (run_number bigint NOT NULL, case_number bigint NOT NULL,"
           " facts_number bigint NOT NULL, gpu_time_ns double precision, median_ns double precision,"
           " min_ns double precision, max_ns double precision, kernel_ns text,"
           " PRIMARY KEY (run_number, case_number))"},
      },
      {
          {"CREATE TABLE acceptances (case_name text NOT NULL, metric text NOT NULL, from_run text NOT NULL,"
           " accepted_by text NOT NULL, accepted_at text NOT NULL, reason text NOT NULL,"
           " PRIMARY KEY (case_name, metric, from_run))"},
          {"CREATE TABLE device_names (device text NOT NULL PRIMARY KEY, is_device text NOT NULL)"},
          {"CREATE VIEW measurements AS SELECT r.id AS run, r.date, r.suite, r.commit_id, r.device, "
           "r.backend,"
           " r.driver, r.build, c.name AS case_name, f.outcome, f.requested_peak_bytes, f.setup_bytes,"
           " f.leaked_bytes, f.bytes_estimated, o.gpu_time_ns FROM observations o"
           " JOIN runs r ON r.number = o.run_number JOIN cases c ON c.number = o.case_number"
           " JOIN facts f ON f.number = o.facts_number"},
      },
      {
          {"ALTER TABLE observations ADD COLUMN again_ns double precision"},
      },
      {
          {"ALTER TABLE runs ADD COLUMN branch text NOT NULL DEFAULT ''"},
          {"ALTER TABLE runs ADD COLUMN base_commits text NOT NULL DEFAULT ''"},
          // Columns, not a table of settings: who may read the version may read them.
          {"ALTER TABLE peakmark_history ADD COLUMN base_branch text NOT NULL DEFAULT ''"},
          {"ALTER TABLE peakmark_history ADD COLUMN commit_url text NOT NULL DEFAULT ''"},
          {"CREATE TABLE notifications (case_name text NOT NULL, metric text NOT NULL, from_run text NOT "
           "NULL,"
           " finding text NOT NULL, state text NOT NULL, changed_at text NOT NULL,"
           " PRIMARY KEY (case_name, metric, from_run))"},
          // Who may read or write acceptances may do so here.
          {"DO $$ DECLARE one record; BEGIN FOR one IN SELECT grantee, privilege_type"
           " FROM information_schema.role_table_grants WHERE table_schema = 'peakmark'"
           " AND table_name = 'acceptances' LOOP EXECUTE format('GRANT %s ON peakmark.notifications TO %s',"
           " one.privilege_type, CASE WHEN one.grantee = 'PUBLIC' THEN 'PUBLIC' ELSE"
           " quote_ident(one.grantee) END);"
           " END LOOP; END $$",
           Dialect::postgresql},
          // Replaced, a view keeps its privileges. SQLite has none, and cannot replace one.
          {"DROP VIEW measurements", Dialect::sqlite},
          {"CREATE VIEW" + measurements, Dialect::sqlite},
          {"CREATE OR REPLACE VIEW" + measurements, Dialect::postgresql},
      },
      {
          // The number of the run before which a run is placed; null: runs are in the order of arrival.
          {"ALTER TABLE runs ADD COLUMN placed_before bigint"},
          // Earlier versions ordered runs by date. They stay in that order, except those of the future.
          {place_by_date("strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+1 day')"), Dialect::sqlite},
          {place_by_date("to_char((now() + interval '1 day') AT TIME ZONE 'UTC',"
                         " 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"),
           Dialect::postgresql},
      },
      {
          {"ALTER TABLE facts ADD COLUMN time_method text NOT NULL DEFAULT ''"},
          {"ALTER TABLE facts ADD COLUMN version bigint NOT NULL DEFAULT 1"},
          // As time_method(). Facts of earlier versions name no device, and are of version 1.
          {"UPDATE facts SET time_method ="
           " CASE WHEN observation LIKE '%\"time_source\":\"device\"%' THEN 'device'"
           " WHEN observation LIKE '%\"time_source\":\"marks\"%' THEN 'marks'"
           " WHEN observation LIKE '%\"time_source\":\"process\"%' THEN 'process' ELSE 'unknown clock' END"
           " || CASE WHEN observation LIKE '%\"cache\":\"cold\"%' THEN ', cold' ELSE ', hot' END"
           " || CASE WHEN observation LIKE '%\"time_statistic\":\"mean\"%' THEN ', mean' ELSE ', median' "
           "END"},
          // What git says of the commit: RunOrigin::commit.
          {"ALTER TABLE runs ADD COLUMN commit_subject text NOT NULL DEFAULT ''"},
          {"ALTER TABLE runs ADD COLUMN commit_author text NOT NULL DEFAULT ''"},
          {"ALTER TABLE runs ADD COLUMN commit_number bigint"},
      },
  }};
  return all;
}

/// Returns the version, 0 without a history.
int read_version(Database& database) {
  if (!database.has_history()) return 0;
  int version = 0;
  soci::indicator present = soci::i_null;
  database.sql() << "SELECT max(version) FROM peakmark_history", soci::into(version, present);
  if (present != soci::i_ok || version < 1) database.fail("damaged history: it has no version");
  return version;
}

void check_version(Database& database, int version) {
  if (version <= kSchemaVersion) return;
  database.fail(
      fmt::format("history version {} is newer than {}, which this peakmark supports: use a newer peakmark; "
                  "histories cannot be downgraded",
                  version, kSchemaVersion));
}

/// Throws if an SQLite file has tables of another program.
void check_is_free(Database& database) {
  if (database.is_postgresql()) return;
  int tables = 0;
  database.sql() << "SELECT count(*) FROM sqlite_master", soci::into(tables);
  if (tables != 0)
    database.fail("a database of another program, not a history: name another file; nothing was changed");
}

void migrate(Database& database, int from) {
  soci::session& sql = database.sql();
  const Dialect dialect = database.is_postgresql() ? Dialect::postgresql : Dialect::sqlite;
  if (from == 0 && database.is_postgresql()) sql << "CREATE SCHEMA IF NOT EXISTS peakmark";
  for (int version = from; version < kSchemaVersion; ++version) {
    for (const Statement& one : migrations().at(static_cast<std::size_t>(version))) {
      if (one.dialect.value_or(dialect) == dialect) sql << one.sql;
    }
  }
  sql << "UPDATE peakmark_history SET version = :version", soci::use(kSchemaVersion);
}

}  // namespace

Migration bring_up_to_date(Database& database, Access access) {
  return database.guarded([&]() -> Migration {
    int version = read_version(database);
    check_version(database, version);
    if (version == kSchemaVersion) return {};
    if (version == 0 && access != Access::write) {
      check_is_free(database);
      database.fail_without_history();
    }
    Transaction transaction(database, Access::write);
    version = read_version(database);  // another process may have created or migrated it
    check_version(database, version);
    if (version == 0) database.expect_to_create();
    if (version != 0 && !database.is_owner()) {
      database.fail(
          fmt::format("history version {} must be converted to {}: only its owner can, with this peakmark: "
                      "`peakmark history create`",
                      version, kSchemaVersion));
    }
    if (version == 0) check_is_free(database);
    migrate(database, version);
    transaction.commit();
    return {version};
  });
}

}  // namespace peakmark::history
