#pragma once

// For the sources of this room only.

#include <map>
#include <string>
#include <vector>

#include "history/database.hpp"
#include "history/history.hpp"
#include "history/schema.hpp"

namespace peakmark::history {

class History::Inside {
 public:
  Inside(const Place& place, Access access, std::chrono::milliseconds patience)
      : database(place, access, patience), migration(bring_up_to_date(database, access)) {}

  soci::session& sql() { return database.sql(); }
  /// The device that a device's name stands for now: another where it was renamed.
  std::map<std::string, std::string> device_names();
  /// All runs, by date, devices under the name that they have now.
  struct NumberedRun {
    std::int64_t number = 0;
    LoggedRun run;
  };
  std::vector<NumberedRun> runs();
  /// Its number. UsageError where the run is not there.
  std::int64_t number_of(const std::string& run_id);
  /// As History's. The transaction is the caller's: what is decided from it must be written in the same one.
  std::vector<trend::DeviceHistory> read();
  std::vector<trend::Acceptance> acceptances();

  Database database;
  Migration migration;
};

/// Of `names` (device_names()), the name that a device has now.
inline const std::string& name_now(const std::map<std::string, std::string>& names,
                                   const std::string& device) {
  const auto renamed = names.find(device);
  return renamed == names.end() ? device : renamed->second;
}

/// One value of a query that gives one; null where it is null or there is no row.
template <typename T, typename... Uses>
std::optional<T> ask(soci::session& sql, const std::string& query, const Uses&... uses) {
  T value{};
  soci::indicator present = soci::i_null;
  soci::statement statement(sql);
  (statement.exchange(soci::use(uses)), ...);
  statement.exchange(soci::into(value, present));
  statement.alloc();
  statement.prepare(query);
  statement.define_and_bind();
  if (!statement.execute(true) || present != soci::i_ok) return std::nullopt;
  return value;
}

/// Rows of a query, one after the other: `take()` after each, with `into...` filled.
template <typename Take, typename... Intos>
void each_row(soci::session& sql, const std::string& query, Take&& take, Intos&&... intos) {
  soci::statement statement(sql);
  (statement.exchange(std::forward<Intos>(intos)), ...);
  statement.alloc();
  statement.prepare(query);
  statement.define_and_bind();
  statement.execute();
  while (statement.fetch()) take();
}

}  // namespace peakmark::history
