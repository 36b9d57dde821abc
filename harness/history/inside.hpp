#pragma once

// Internal to this module.

#include <map>
#include <string>
#include <vector>

#include "history/database.hpp"
#include "history/history.hpp"

namespace peakmark::history {

class History::Implementation {
 public:
  Implementation(const Address& address, Access access, std::chrono::milliseconds patience)
      : database(address, access, patience), migration(bring_up_to_date(database, access)) {}

  soci::session& sql() { return database.sql(); }
  /// Returns the current name of each renamed device.
  std::map<std::string, std::string> device_names();
  /// Returns all runs by date, with current device names.
  struct NumberedRun {
    std::int64_t number = 0;
    LoggedRun run;
  };
  std::vector<NumberedRun> runs();
  /// Returns the number of a run. Throws UsageError if the history lacks it.
  std::int64_t find_run_number(const std::string& run_id);
  /// As History's, within the caller's transaction: what is decided from it must be written in the same one.
  std::vector<trend::DeviceHistory> read(const std::string& branch = "");
  std::vector<DeviceBackend> devices(const std::string& branch = "");
  trend::DeviceHistory read_device(const DeviceBackend& device, const std::string& branch = "",
                                   const RunLimits& limits = {});
  std::vector<trend::Acceptance> acceptances();
  std::vector<trend::Notified> notified();
  Settings settings();

  Database database;
  Migration migration;
};

/// Returns the current name of a device. `names`: device_names().
inline const std::string& name_now(const std::map<std::string, std::string>& names,
                                   const std::string& device) {
  const auto renamed = names.find(device);
  return renamed == names.end() ? device : renamed->second;
}

/// Returns the value of a query with at most one row; null if it is null or there is no row.
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

/// Calls `take()` for each row of a query, with `into...` filled.
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
