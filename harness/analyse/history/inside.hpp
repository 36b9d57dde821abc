#pragma once

// Internal to this module.

#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "analyse/history/database.hpp"
#include "analyse/history/history.hpp"
#include "analyse/history/run_order.hpp"

namespace peakmark::history {

/// The names of devices in the runs of a history, and the names that are shown.
struct DeviceNames {
  std::map<std::string, std::string> renamed;  ///< `history rename-device`
  std::map<std::string, std::string> first;    ///< for each device_key(), the first name in the runs

  /// Returns the name under which the history shows a device.
  [[nodiscard]] const std::string& shown(const std::string& device) const;
};

class History::Implementation {
 public:
  Implementation(const Address& address, Access access, std::chrono::milliseconds patience)
      : database(address, access, patience) {
    open_tables(database, access);
  }

  soci::session& sql() { return database.sql(); }
  /// Runs `work` in a transaction, and commits it unless `work` throws.
  template <typename Work>
  auto in_transaction(Access access, Work&& work) {
    return database.guarded([&] {
      Transaction transaction(database, access);
      if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
        work();
        transaction.commit();
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    });
  }
  DeviceNames device_names();
  struct NumberedRun {
    RunPlace place;
    LoggedRun run;
  };
  /// Returns all runs in their order, with the names under which devices are shown.
  std::vector<NumberedRun> runs();
  /// Removes runs with all of their rows, except acceptances. The order of the other runs stays.
  void drop(const std::set<std::int64_t>& numbers);
  /// Returns the number of a run. Throws UsageError if the history lacks it.
  std::int64_t find_run_number(const std::string& run_id);
  /// Like those of History, but within the caller's transaction: a decision and the write that follows from
  /// it must be in the same one.
  std::vector<trend::DeviceHistory> read(const std::string& branch = "");
  std::vector<DeviceBackend> devices(const std::string& branch = "");
  trend::DeviceHistory read_device(const DeviceBackend& device, const std::string& branch = "",
                                   const RunLimits& limits = {});
  std::vector<trend::Acceptance> acceptances();
  std::vector<trend::Notified> notified();
  Settings settings();

  Database database;
};

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
