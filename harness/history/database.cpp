#include "history/database.hpp"

#include <fmt/format.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/error.hpp"
#include "history/history.hpp"

namespace peakmark::history {
namespace {

// One number that every peakmark takes for its lock, whatever the database: "peakmark" as ASCII.
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(8098986618920202859)";
// Tables of ours are kept apart from others of a shared database.
constexpr const char* kSchema = "peakmark";

constexpr const char* kDamaged =
    "the file is damaged: take it from a backup, or begin a new one; `sqlite3 FILE .recover` saves what can "
    "be read";

// Reasons that a run file gives: no name of a host, a user or a folder.
constexpr const char* kLocked = "another process holds the lock of its database";
constexpr const char* kRefused = "its database refuses access to this user";

/// The text without SOCI's account of the statement, on one line.
std::string reason_of(const soci::soci_error& error) {
  std::string text = error.get_error_message();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) text.replace(at, 1, " ");
  return text;
}

/// What to do about an error of SQLite; its numbers are part of its interface.
std::string advice_on(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL:
      return "its disk is full: make room, or prune (`peakmark history prune`); nothing was changed";
    case SQLITE_IOERR:
      return "its disk could not be read or written: look whether it is full; nothing was changed";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "its file or folder may not be written: a history is written with files beside it; name "
             "another place";
    case SQLITE_CORRUPT:
      return kDamaged;
    case SQLITE_NOTADB:
      return "it is no SQLite file: name another";
    default:
      return "";
  }
}

void check_folder(const std::filesystem::path& file) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (!std::filesystem::is_directory(folder, none)) {
    throw UsageError(fmt::format("{}: its folder is not there; make it first", file.string()));
  }
}

/// SQLite itself finds this out late, and then says little.
void check_is_sqlite(const std::filesystem::path& file) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::array<char, magic.size()> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  if (stream.gcount() == 0 && std::filesystem::file_size(file) == 0) return;
  if (stream && std::string_view(start.data(), start.size()) == magic) return;
  throw UsageError(
      fmt::format("{}: is no history: it is no SQLite file; nothing was changed", file.string()));
}

}  // namespace

Database::Database(Place place, Access access, std::chrono::milliseconds patience)
    : place_(std::move(place)), access_(access), patience_(patience) {
  is_postgresql() ? open_postgresql() : open_sqlite();
}

void Database::open_sqlite() {
  const std::filesystem::path& file = place_.file;
  std::error_code none;
  if (std::filesystem::is_directory(file, none)) fail("is a folder; name a file in it");
  if (std::filesystem::exists(file, none)) {
    check_is_sqlite(file);
  } else if (access_ != Access::write) {
    fail_without_history();
  } else {
    check_folder(file);
  }
  told([&] {
    // Absolute: `:memory:` is a file's name here.
    sql_.open(soci::sqlite3, fmt::format("dbname=\"{}\"", std::filesystem::absolute(file).string()));
    sql_ << fmt::format("PRAGMA busy_timeout = {}", patience_.count());
  });
  if (access_ != Access::read) check_pages();
}

// A page that nobody reads may be damaged for years, until the backups are too. A year of 2,000 cases is
// looked through in 0.2 s.
void Database::check_pages() {
  std::string found;
  told([&] { sql_ << "PRAGMA quick_check(1)", soci::into(found); });
  if (found == "ok") return;
  std::replace(found.begin(), found.end(), '\n', ' ');
  fail(std::string(kDamaged) + " (" + found + ")", "its file is damaged");
}

void Database::open_postgresql() {
#ifdef PEAKMARK_SQLITE_ONLY
  throw EnvironmentError(
      place_.name() +
      ": this peakmark, of a Python wheel, keeps histories in SQLite files only; build it for PostgreSQL");
#endif
  try {
    // Loaded when it is asked for: its libraries are many, and most histories are files.
    sql_.open("postgresql", place_.connection_text());
  } catch (const soci::soci_error& error) {
    const std::string reason = without_passwords(reason_of(error));
    if (reason.find("shared library") != std::string::npos) {
      throw EnvironmentError(place_.name() + ": " + reason +
                             "; install SOCI's backend for PostgreSQL (Debian 12: libsoci-postgresql4.0)");
    }
    if (reason.find("database \"") != std::string::npos &&
        reason.find("does not exist") != std::string::npos) {
      fail(reason + "; check its name, or create it (`createdb`)");
    }
    fail(reason + "; is the server there, and may this user connect?",
         "its database cannot be reached, or refuses the connection");
  }
  told([&] {
    sql_ << "SET client_min_messages TO warning";
    sql_ << fmt::format("SET lock_timeout TO {}", patience_.count());
    sql_ << fmt::format("SET search_path TO {}", kSchema);
    sql_ << "SELECT quote_ident(current_user), quote_ident(current_database())", soci::into(user_),
        soci::into(database_name_);
  });
}

void Database::tell(const soci::soci_error& error) const {
  const std::string reason = reason_of(error);
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) {
    const int code = sqlite->result() & 0xFF;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      fail(fmt::format("another process holds its lock, and did so for {} ms; try again, or see who it is "
                       "with `fuser {}`",
                       patience_.count(), place_.file.string()),
           kLocked);
    }
    const std::string advice = advice_on(code);
    fail(advice.empty() ? reason : advice + " (" + reason + ")",
         advice == kDamaged ? "its file is damaged" : "its file cannot be read or written");
  }
  if (error.get_error_category() == soci::soci_error::no_privilege) {
    fail(reason + (reason.find("owner") == std::string::npos ? "; its owner can allow it: " + grant() : ""),
         kRefused);
  }
  if (reason.find("lock timeout") != std::string::npos) {
    fail(fmt::format("another process holds its lock, and did so for {} ms; try again, or see who it is in "
                     "pg_stat_activity",
                     patience_.count()),
         kLocked);
  }
  fail(reason, "its database reports an error");
}

void Database::fail(const std::string& what) const {
  throw UsageError(place_.name() + ": " + what);
}

void Database::fail(const std::string& what, const std::string& reason) const {
  throw DatabaseError(place_.name() + ": " + what, reason);
}

void Database::fail_without_history() const {
  fail(
      fmt::format("there is no history; check the name, or create an empty history: "
                  "peakmark history create --history '{}'",
                  place_.name()));
}

std::string Database::grant() const {
  std::string text;
  if (access_ == Access::write)
    text = fmt::format("GRANT CREATE ON DATABASE {} TO {}; ", database_name_, user_);
  return text + fmt::format("GRANT {0} ON SCHEMA {1} TO {2}; GRANT {3} ON ALL TABLES IN SCHEMA {1} TO {2}",
                            access_ == Access::write ? "USAGE, CREATE" : "USAGE", kSchema, user_,
                            access_ == Access::read ? "SELECT" : "SELECT, INSERT, UPDATE, DELETE");
}

bool Database::has_history() {
  int tables = 0;
  if (is_postgresql()) {
    // It is read when the statement is over, at the semicolon: a temporary may be gone by then.
    const std::string schema = kSchema;
    sql_ << "SELECT count(*) FROM pg_tables WHERE schemaname = :schema AND tablename = 'peakmark_history'",
        soci::use(schema), soci::into(tables);
    if (tables == 0) return false;
    // Without this privilege the tables would only seem not to exist.
    int is_allowed = 0;
    sql_ << "SELECT CASE WHEN has_schema_privilege(:schema, 'USAGE') THEN 1 ELSE 0 END", soci::use(schema),
        soci::into(is_allowed);
    if (is_allowed == 0) {
      fail(fmt::format("permission denied for schema {}; its owner can allow it: {}", kSchema, grant()),
           kRefused);
    }
  } else {
    sql_ << "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'peakmark_history'",
        soci::into(tables);
  }
  return tables != 0;
}

Transaction::Transaction(Database& database, Access access) : database_(database) {
  soci::session& sql = database.sql();
  database.told([&] {
    if (!database.is_postgresql()) {
      sql << (access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN");
    } else if (access == Access::read) {
      sql << "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    } else {
      // Each statement sees what was there when it began: so those after the lock see all that other writers
      // wrote before it was theirs to give. A server may be set to begin transactions otherwise.
      sql << "BEGIN ISOLATION LEVEL READ COMMITTED";
      try {
        sql << kLock;
      } catch (...) {
        sql << "ROLLBACK";
        throw;
      }
    }
  });
}

void Transaction::commit() {
  database_.told([&] { database_.sql() << "COMMIT"; });
  is_open_ = false;
}

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_.sql() << "ROLLBACK";
  } catch (const std::exception&) {
    // SQLite has rolled back by itself, or the connection is gone: nothing stays either way.
  }
}

}  // namespace peakmark::history
