#include "analyse/history/database.hpp"

#include <fmt/format.h>
#include <soci/backend-loader.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sqlite3.h>  // SOCI 4.1 does not include it; included after SOCI, because SOCI 4.0 includes it in a namespace

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "analyse/history/history.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/program.hpp"
#include "base/text.hpp"

namespace peakmark::history {
namespace {

// The lock that all writers take, in any database: "peakmark" in ASCII.
constexpr const char* kLock = "SELECT pg_advisory_xact_lock(8098986618920202859)";
// Separates peakmark's tables from others in a shared database.
constexpr const char* kSchema = "peakmark";

constexpr const char* kDamaged =
    "the file is damaged: restore a backup, recover it with `sqlite3 FILE .recover`, or begin a new one";

constexpr const char* kMissingPrivilege =
    "; its owner can allow it: docs/ci.md#postgresql lists the privileges";

// Reasons for run files, which are published: without names of hosts, users and folders.
constexpr const char* kLocked = "another process holds the lock of its database";
constexpr const char* kRefused = "its database refuses access to this user";
constexpr const char* kLost = "the connection to its database was lost";
constexpr const char* kUnreachable = "its database cannot be reached, or refuses the connection";

/// Returns the message on one line, without the statement that SOCI appends.
std::string one_line_reason(const soci::soci_error& error) {
  std::string text = error.get_error_message();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at) text.replace(at, 1, " ");
  return text;
}

/// Returns what to do about an error of SQLite.
std::string sqlite_advice(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL:
      return "disk full: free space, or prune (`peakmark history prune`); nothing was changed";
    case SQLITE_IOERR:
      return "disk error: check whether the disk is full; nothing was changed";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "file or folder not writable: SQLite also writes files next to the history; name another file";
    case SQLITE_CORRUPT:
      return kDamaged;
    case SQLITE_NOTADB:
      return "not an SQLite file: name another";
    default:
      return "";
  }
}

/// Returns whether a connection failed because no server answered, or because it is starting or stopping.
/// SOCI has no code for this. If a server refuses, the message begins with FATAL; an unknown host name is a
/// wrong address.
bool is_without_answer(const std::string& reason) {
  if (reason.find("could not translate host name") != std::string::npos) return false;
  return reason.find("FATAL") == std::string::npos ||
         reason.find("the database system is") != std::string::npos;
}

/// Larger files are only partly checked when they are opened.
constexpr std::uintmax_t kMaxCheckedBytes = 64'000'000;

void check_folder(const std::filesystem::path& file) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (!std::filesystem::is_directory(folder, none)) {
    throw UsageError(fmt::format("{}: folder does not exist; create it first", file.string()));
  }
}

/// Checks the magic number, because SQLite reports a wrong file late and vaguely. Another process may
/// meanwhile write the first page of a new file, so the file is read only once.
void check_is_sqlite(const std::filesystem::path& file) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  std::array<char, magic.size()> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  if (stream.is_open() && stream.gcount() == 0) return;  // a new file
  if (stream && std::string_view(start.data(), start.size()) == magic) return;
  throw UsageError(fmt::format("{}: not a history: not an SQLite file; nothing was changed", file.string()));
}

/// Registers the PostgreSQL backend that this installation contains, as the Python wheel does. SOCI would
/// load that of the system, which needs the system's SOCI: two SOCI libraries in one process crash.
bool register_own_backend() {
  for (const std::filesystem::path& prefix : own_program_prefixes()) {
    const std::filesystem::path library = prefix / "lib/peakmark/libsoci_postgresql.so";
    std::error_code none;
    if (!std::filesystem::exists(library, none)) continue;
    soci::dynamic_backends::register_backend("postgresql", library.string());
    return true;
  }
  return false;
}

}  // namespace

Database::Database(Address address, Access access, std::chrono::milliseconds patience)
    : address_(std::move(address)), access_(access), patience_(patience) {
  is_postgresql() ? open_postgresql() : open_sqlite();
}

void Database::open_sqlite() {
  const std::filesystem::path& file = address_.file;
  std::error_code none;
  if (std::filesystem::is_directory(file, none)) fail("this is a folder; name a file in it");
  if (std::filesystem::exists(file, none)) {
    check_is_sqlite(file);
  } else if (access_ != Access::write) {
    fail_without_history();
  } else {
    check_folder(file);
  }
  if (access_ != Access::read) check_locks();
  guarded([&] {
    // An absolute path, so that `:memory:` is a file name here.
    sql_.open(soci::sqlite3, fmt::format("dbname=\"{}\"", std::filesystem::absolute(file).string()));
    sql_ << fmt::format("PRAGMA busy_timeout = {}", patience_.count());
  });
  if (access_ != Access::read) check_pages();
}

void Database::check_locks() {
  const std::filesystem::path folder = std::filesystem::absolute(address_.file).parent_path();
  if (locks_exclude(folder)) return;
  const std::string name = shared_file_system(folder);
  fail(fmt::format("its file system{} does not lock files, so two processes could damage the history: use "
                   "PostgreSQL, or a file on a local disk to which one machine adds the run files of all",
                   name.empty() ? "" : " (" + name + ")"),
       "its file system does not lock files");
}

// Finds damaged pages before all backups contain them, too. Takes 0.2 s for a year of 2,000 cases; in a
// larger file, checks all tables except the largest.
void Database::check_pages() {
  std::error_code none;
  const bool is_large = std::filesystem::file_size(address_.file, none) > kMaxCheckedBytes;
  guarded([&] {
    std::vector<std::string> checks{"PRAGMA quick_check(1)"};
    if (is_large && !none) {
      checks.clear();
      for (const soci::row& row :
           soci::rowset<soci::row>((sql_.prepare << "SELECT name FROM sqlite_master WHERE type = 'table' "
                                                    "AND name <> 'observations'"))) {
        checks.push_back(fmt::format("PRAGMA quick_check('{}')", row.get<std::string>(0)));
      }
    }
    for (const std::string& check : checks) {
      std::string found;
      sql_ << check, soci::into(found);
      if (found == "ok") continue;
      std::replace(found.begin(), found.end(), '\n', ' ');
      fail(std::string(kDamaged) + " (" + found + ")", "its file is damaged");
    }
  });
}

void Database::open_postgresql() {
  try {
    // Loaded on demand, because it needs many libraries, and most histories are files.
    [[maybe_unused]] static const bool has_own = register_own_backend();
    sql_.open("postgresql", address_.connection_text());
  } catch (const soci::soci_error& error) {
    const std::string reason = hide_passwords(one_line_reason(error));
    if (reason.find("shared library") != std::string::npos) {
      throw EnvironmentError(address_.name() + ": " + reason +
                             "; install SOCI's backend for PostgreSQL (Debian 12: libsoci-postgresql4.0)");
    }
    if (reason.find("database \"") != std::string::npos &&
        reason.find("does not exist") != std::string::npos) {
      fail(reason + "; check its name, or create it (`createdb`)");
    }
    const std::string message = reason + "; check that the server runs and accepts this user";
    if (is_without_answer(reason)) throw DatabaseLost(address_.name() + ": " + message, kUnreachable);
    fail(message, kUnreachable);
  }
  guarded([&] {
    sql_ << "SET client_min_messages TO warning";
    sql_ << fmt::format("SET lock_timeout TO {}", patience_.count());
    sql_ << fmt::format("SET search_path TO {}", kSchema);
  });
}

bool Database::answers() {
  try {
    int one = 0;
    sql_ << "SELECT 1", soci::into(one);
    return true;
  } catch (const soci::soci_error&) {
    return false;
  }
}

void Database::fail(const soci::soci_error& error) {
  const std::string reason = one_line_reason(error);
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) {
    const int code = sqlite->result() & 0xFF;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      fail(fmt::format("locked by another process for more than {} ms: try again, or find it with `fuser {}`",
                       patience_.count(), address_.file.string()),
           kLocked);
    }
    const std::string advice = sqlite_advice(code);
    fail(advice.empty() ? reason : advice + " (" + reason + ")",
         advice == kDamaged ? "its file is damaged" : "its file cannot be read or written");
  }
  if (is_postgresql() && !answers()) {
    throw DatabaseLost(fmt::format("{}: connection lost: {}; nothing of this run was added", address_.name(),
                                   hide_passwords(reason)),
                       kLost);
  }
  if (error.get_error_category() == soci::soci_error::no_privilege) {
    fail(reason + (reason.find("owner") == std::string::npos ? kMissingPrivilege : ""), kRefused);
  }
  if (reason.find("lock timeout") != std::string::npos) {
    fail(fmt::format(
             "locked by another process for more than {} ms: try again, or find it in pg_stat_activity",
             patience_.count()),
         kLocked);
  }
  fail(reason, "its database reports an error");
}

void Database::fail(const std::string& what) const {
  throw UsageError(address_.name() + ": " + what);
}

void Database::fail(const std::string& what, const std::string& reason) const {
  throw DatabaseError(address_.name() + ": " + what, reason);
}

void Database::fail_without_history() const {
  fail(fmt::format("no history here: check the name, or create one: peakmark history create --history {}",
                   shell_word(address_.name())));
}

bool Database::is_allowed(const char* privilege, const char* table) {
  if (!is_postgresql()) return true;
  int is_allowed = 0;
  const std::string name = fmt::format("{}.{}", kSchema, table);
  const std::string wanted = privilege;
  sql_ << "SELECT CASE WHEN has_table_privilege(:t, :p) THEN 1 ELSE 0 END", soci::use(name),
      soci::use(wanted), soci::into(is_allowed);
  return is_allowed != 0;
}

bool Database::has_history() {
  int tables = 0;
  if (is_postgresql()) {
    // SOCI reads it when the statement is executed, at the semicolon: a temporary would not live that long.
    const std::string schema = kSchema;
    sql_ << "SELECT count(*) FROM pg_tables WHERE schemaname = :schema AND tablename = 'peakmark_history'",
        soci::use(schema), soci::into(tables);
    if (tables == 0) return false;
    // Without this privilege the tables seem not to exist.
    int is_allowed = 0;
    sql_ << "SELECT CASE WHEN has_schema_privilege(:schema, 'USAGE') THEN 1 ELSE 0 END", soci::use(schema),
        soci::into(is_allowed);
    if (is_allowed == 0) {
      fail(fmt::format("permission denied for schema {}{}", kSchema, kMissingPrivilege), kRefused);
    }
  } else {
    sql_ << "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'peakmark_history'",
        soci::into(tables);
  }
  return tables != 0;
}

Transaction::Transaction(Database& database, Access access) : database_(database) {
  soci::session& sql = database.sql();
  database.guarded([&] {
    if (!database.is_postgresql()) {
      sql << (access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN");
    } else if (access == Access::read) {
      sql << "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    } else {
      // Statements after the lock must see everything that the previous lock holder committed. The default
      // isolation level of a server may differ.
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
  database_.guarded([&] { database_.sql() << "COMMIT"; });
  is_open_ = false;
}

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_.sql() << "ROLLBACK";
  } catch (const std::exception&) {
    // SQLite has already rolled back, or the connection is lost: nothing was written.
  }
}

}  // namespace peakmark::history
