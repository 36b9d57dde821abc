#include <fmt/format.h>

#include <array>

#include "analyse/history/database.hpp"

namespace peakmark::history {
namespace {

// All integers are bigint, because SOCI reads other integers of SQLite as 32 bits. Settings are columns, not
// a separate table, so that a user who may read the version may read them.
constexpr auto kTables = std::to_array<const char*>({
    "CREATE TABLE peakmark_history (version bigint NOT NULL, base_branch text NOT NULL DEFAULT '',"
    " commit_url text NOT NULL DEFAULT '')",
    "CREATE TABLE plans (number bigint NOT NULL PRIMARY KEY, hash bigint NOT NULL UNIQUE,"
    " planned text NOT NULL)",
    // placed_before: the number of the run before which a run is placed; null: in the order of arrival.
    // commit_…: facts about the commit from git (RunOrigin::commit).
    "CREATE TABLE runs (number bigint NOT NULL PRIMARY KEY, id text NOT NULL UNIQUE, date text NOT NULL,"
    " suite text NOT NULL, commit_id text NOT NULL, device text NOT NULL, backend text NOT NULL,"
    " driver text NOT NULL, build text NOT NULL, host_name text NOT NULL, cases bigint NOT NULL,"
    " ok bigint NOT NULL, plan_number bigint NOT NULL, context text NOT NULL, digest text NOT NULL,"
    " branch text NOT NULL DEFAULT '', base_commits text NOT NULL DEFAULT '', placed_before bigint,"
    " commit_subject text NOT NULL DEFAULT '', commit_author text NOT NULL DEFAULT '', commit_number bigint)",
    "CREATE TABLE cases (number bigint NOT NULL PRIMARY KEY, name text NOT NULL UNIQUE)",
    "CREATE TABLE facts (number bigint NOT NULL PRIMARY KEY, case_number bigint NOT NULL,"
    " hash bigint NOT NULL, outcome text NOT NULL, requested_peak_bytes bigint, setup_bytes bigint,"
    " leaked_bytes bigint, bytes_estimated bigint, observation text NOT NULL,"
    " time_method text NOT NULL DEFAULT '', version bigint NOT NULL DEFAULT 1,"
    " UNIQUE (case_number, hash))",
    "CREATE TABLE observations (run_number bigint NOT NULL, case_number bigint NOT NULL,"
    " facts_number bigint NOT NULL, gpu_time_ns double precision, median_ns double precision,"
    " min_ns double precision, max_ns double precision, kernel_ns text, again_ns double precision,"
    " metrics text, PRIMARY KEY (run_number, case_number))",
    "CREATE TABLE acceptances (case_name text NOT NULL, metric text NOT NULL, from_run text NOT NULL,"
    " accepted_by text NOT NULL, accepted_at text NOT NULL, reason text NOT NULL,"
    " PRIMARY KEY (case_name, metric, from_run))",
    "CREATE TABLE device_names (device text NOT NULL PRIMARY KEY, is_device text NOT NULL)",
    "CREATE TABLE notifications (case_name text NOT NULL, metric text NOT NULL, from_run text NOT NULL,"
    " finding text NOT NULL, state text NOT NULL, changed_at text NOT NULL,"
    " PRIMARY KEY (case_name, metric, from_run))",
    "CREATE VIEW measurements AS SELECT r.id AS run, r.date, r.suite, r.commit_id, r.device, r.backend,"
    " r.driver, r.build, c.name AS case_name, f.outcome, f.requested_peak_bytes, f.setup_bytes,"
    " f.leaked_bytes, f.bytes_estimated, o.gpu_time_ns, r.branch FROM observations o"
    " JOIN runs r ON r.number = o.run_number JOIN cases c ON c.number = o.case_number"
    " JOIN facts f ON f.number = o.facts_number",
});

/// Returns the version; 0 if there is no history.
int read_version(Database& database) {
  if (!database.has_history()) return 0;
  int version = 0;
  soci::indicator present = soci::i_null;
  database.sql() << "SELECT max(version) FROM peakmark_history", soci::into(version, present);
  if (present != soci::i_ok || version < 1) database.fail("damaged history: it has no version");
  return version;
}

void check_version(Database& database, int version) {
  if (version == 0 || version == kSchemaVersion) return;
  database.fail(fmt::format(
      "history version {} is not {}, which this peakmark supports: use the peakmark that wrote it", version,
      kSchemaVersion));
}

/// Throws if an SQLite file has tables of another program.
void check_is_free(Database& database) {
  if (database.is_postgresql()) return;
  int tables = 0;
  database.sql() << "SELECT count(*) FROM sqlite_master", soci::into(tables);
  if (tables != 0)
    database.fail("a database of another program, not a history: name another file; nothing was changed");
}

}  // namespace

bool has_metrics(Database& database) {
  int count = 0;
  if (database.is_postgresql()) {
    database.sql() << "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'peakmark'"
                      " AND table_name = 'observations' AND column_name = 'metrics'",
        soci::into(count);
  } else {
    database.sql() << "SELECT count(*) FROM pragma_table_info('observations') WHERE name = 'metrics'",
        soci::into(count);
  }
  return count > 0;
}

void add_metrics(Database& database) {
  if (!has_metrics(database)) database.sql() << "ALTER TABLE observations ADD COLUMN metrics text";
}

void open_tables(Database& database, Access access) {
  database.guarded([&] {
    int version = read_version(database);
    check_version(database, version);
    if (version == kSchemaVersion) return;
    if (access != Access::write) {
      check_is_free(database);
      database.fail_without_history();
    }
    Transaction transaction(database, Access::write);
    version = read_version(database);  // another process may have created it
    check_version(database, version);
    if (version == kSchemaVersion) return;
    check_is_free(database);
    soci::session& sql = database.sql();
    if (database.is_postgresql()) sql << "CREATE SCHEMA IF NOT EXISTS peakmark";
    for (const char* const statement : kTables) sql << statement;
    sql << "INSERT INTO peakmark_history (version) VALUES (:version)", soci::use(kSchemaVersion);
    transaction.commit();
  });
}

}  // namespace peakmark::history
