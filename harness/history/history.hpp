#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/private_text.hpp"
#include "history/place.hpp"
#include "history/run_head.hpp"
#include "runfile/run_file.hpp"
#include "trend/series.hpp"

namespace peakmark::history {

/// The database of a history cannot be reached, is locked or damaged, or refuses access.
class DatabaseError : public IoError {
 public:
  DatabaseError(const std::string& message, std::string reason)
      : IoError(message), reason_(std::move(reason)) {}
  /// Why, in short, without names of hosts, users and folders: for files that are published.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

/// One run, as `history log` lists it.
struct LoggedRun : RunHead {
  std::int64_t cases = 0;
  std::int64_t ok = 0;  ///< of them, those that went well
};

/// What a case is, as it was measured last.
struct KnownCase {
  std::string name;
  std::string variant;
  std::string backend;
  Parameters axes;  ///< defaults included
};

/// What add() did.
struct Added {
  bool was_there = false;           ///< nothing was changed
  std::int64_t runs_of_device = 0;  ///< with this one
  std::vector<std::string> notes;  ///< what the user may want to know: a date before others, a new device, …
};

/// What prune() did, or would do.
struct Pruned {
  std::vector<std::string> runs;  ///< ids of those that went
  std::int64_t kept = 0;          ///< older than the limit, and kept
};

/// Of a device's history, ids of the runs that stay however old they are: trend::runs_to_keep().
using RunsToKeep = std::function<std::set<std::string>(const trend::DeviceHistory&)>;

/// Runs over time, in a SQLite file or a PostgreSQL database; docs/ci.md says how they are kept.
/// Whatever fails is an Error, mostly UsageError or DatabaseError, that says what, where and what to do, and
/// leaves the history as it was; a DatabaseError where the place may be right and its database fails.
class History {
 public:
  enum class Purpose : std::uint8_t { read, change, write };
  /// For `write`, makes the history where there is none; for `read` and `change` that is a UsageError. A
  /// history of an earlier version is brought up to date by all. `patience`: how long to wait for other
  /// processes.
  History(const Place& place, Purpose purpose, std::chrono::milliseconds patience = std::chrono::seconds(30));
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  [[nodiscard]] const Place& place() const;
  /// The version that the history had before, where it was brought up to date.
  [[nodiscard]] std::optional<int> migrated_from() const;

  /// Adds a run, whole or not at all. One that is there already changes nothing; another run with its id is
  /// refused. Refused too is what to_record() (run_record.hpp) refuses.
  Added add(const Run& run);

  /// All runs, by date, those of one date as they were added. Devices have the names that they have there.
  std::vector<LoggedRun> log();
  /// The newest run of each suite on each device and backend, by date.
  std::vector<std::string> latest();
  /// The run again, but for the single calls of its timing: `blocks` is empty.
  Run run(const std::string& id);

  /// What trends are found in: one history a device and backend, by name. Renamed devices are one.
  std::vector<trend::DeviceHistory> read();
  /// Every case, by name.
  std::vector<KnownCase> cases();
  /// What was live at the peak of a case in a run; empty where the history does not know it.
  std::vector<Allocation> at_peak(const std::string& case_name, const std::string& run_id);

  /// All or none. UsageError where the history has not the case or the run. Accepting a change again replaces
  /// reason, who and when.
  void add_acceptances(const std::vector<trend::Acceptance>& acceptances);
  void add_acceptance(const trend::Acceptance& acceptance) { add_acceptances({acceptance}); }
  /// All or none: by case, metric and run.
  void remove_acceptances(const std::vector<trend::Acceptance>& acceptances);
  std::vector<trend::Acceptance> acceptances();

  /// The name under which a device of this name is shown and read: another where it was renamed.
  std::string device_name(const std::string& device);
  /// From now on `device` is shown and read as another name for `is_device`.
  void rename_device(const std::string& device, const std::string& is_device);

  /// Drops the runs from before `date` that `runs_to_keep` does not name. No other process writes while that
  /// is decided. `dry`: only reports what would go.
  Pruned prune(const std::string& date, const RunsToKeep& runs_to_keep, bool dry);

  /// Removes from all runs what is not published (runfile/redact.hpp), and the names of those who accepted
  /// changes. Returns how many runs changed. Nothing of it stays in the database's file.
  std::int64_t redact(const PrivateTexts& texts);

  class Inside;  ///< for the sources of this room

 private:
  std::unique_ptr<Inside> inside_;
};

}  // namespace peakmark::history
