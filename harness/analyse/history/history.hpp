#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/history/address.hpp"
#include "analyse/history/run_order.hpp"
#include "analyse/trend/notifications.hpp"
#include "analyse/trend/series.hpp"
#include "base/error.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark::history {

/// Where the sources of a run are in their repository.
struct RunOrigin {
  std::string branch;       ///< `main`, `pull/12`; empty if unknown
  std::string base_branch;  ///< empty if unknown
  /// The merge base, then its first parents, newest first; for a run of the base branch, its own commit and
  /// its first parents. Empty if unknown.
  std::vector<std::string> base_commits;
  trend::CommitText commit = {};
};

/// The place of a new run among those of its suite and device.
enum class Placement : std::uint8_t {
  arrival,  ///< after all others, but before runs of newer commits, if the commits are known
  date,     ///< before the first run of a later date
};

/// Settings of a whole history.
struct Settings {
  std::string base_branch;  ///< the branch of the trends; empty until a run with a branch was added
  std::string commit_url;   ///< with `{commit}`; empty: no links
};

/// Columns of the table `runs`, in the words of the run's context.
struct RunHead {
  std::string id;
  std::string date;
  std::string suite;
  std::string commit;
  std::string device;
  std::string backend;
  std::string driver;
  std::string build;
  std::string host_name;
};

/// The database of a history is unreachable, locked or damaged, or refuses access.
class DatabaseError : public IoError {
 public:
  DatabaseError(const std::string& message, std::string reason)
      : IoError(message), reason_(std::move(reason)) {}
  /// Returns the reason without names of hosts, users and folders, for files that are published.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  std::string reason_;
};

/// The server of a database does not answer, or the connection to it is lost. Uncommitted changes are not in
/// the database; the same work can be tried again on a new connection.
class DatabaseLost : public DatabaseError {
 public:
  using DatabaseError::DatabaseError;
};

/// One run, as `history log` lists it.
struct LoggedRun : RunHead {
  std::string branch;
  std::int64_t cases = 0;
  std::int64_t ok = 0;  ///< cases with outcome ok
};

/// Runs of one device and backend are compared with each other.
struct DeviceBackend {
  std::string device;  ///< its current name
  std::string backend;
  bool operator==(const DeviceBackend&) const = default;
  bool operator<(const DeviceBackend& other) const {
    return std::tie(device, backend) < std::tie(other.device, other.backend);
  }
};

/// A case, as it was last measured.
struct KnownCase {
  std::string name;
  std::string variant;
  std::string backend;
  Parameters axes;  ///< defaults included
};

/// The result of add().
struct Added {
  bool was_there = false;           ///< the history had the run already
  std::string branch;               ///< empty if unknown
  bool is_of_base = true;           ///< whether it is a run of the base branch, which trends follow
  std::int64_t runs_of_device = 0;  ///< runs of its branch on the device, including this one
  std::vector<std::string> notes;   ///< for the user: a new device, a date before others, …
};

/// What prune() removes.
struct PruneChoice {
  std::string date = {};       ///< removes runs before this date
  bool branches_only = false;  ///< removes no run of the base branch
  std::string branch = {};     ///< removes all runs of this branch, whatever their date; empty: by date
  bool dry = false;            ///< only returns them
};

/// The result of prune().
struct Pruned {
  std::vector<std::string> runs;  ///< ids of the removed runs
  std::int64_t kept = 0;          ///< runs before the date that were kept
};

/// The result of remove().
struct Removed {
  std::vector<LoggedRun> runs;
  std::vector<trend::Acceptance> acceptances;  ///< acceptances that began at one of them
};

/// Returns the ids of the runs to keep: trend::runs_to_keep().
using RunsToKeep = std::function<std::set<std::string>(const trend::DeviceHistory&)>;

/// Runs over time, in an SQLite file or a PostgreSQL database (docs/ci.md). Every failure is an Error
/// and leaves the history unchanged: UsageError for wrong input, DatabaseError for a failing database.
class History {
 public:
  enum class Purpose : std::uint8_t { read, change, write };
  /// Opens a history. `write` creates a missing one; `read` and `change` throw UsageError. `patience`:
  /// maximum wait for other processes.
  History(const Address& address, Purpose purpose,
          std::chrono::milliseconds patience = std::chrono::seconds(30));
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  [[nodiscard]] const Address& address() const;

  /// Adds a run. Does nothing if the history contains it already. If the history has no base branch yet, sets
  /// it to that of `origin`. Throws UsageError for a different run with the same id, for a date later than
  /// tomorrow, and as to_record() (run_record.hpp) does.
  Added add(const Run& run, const RunOrigin& origin = {}, Placement placement = Placement::arrival);

  Settings settings();
  void set(const Settings& settings);

  /// Returns all runs in their order (run_order.hpp), with current device names.
  std::vector<LoggedRun> log();
  /// Returns the newest run of the base branch for each suite, device and backend, in the order of the runs.
  std::vector<std::string> latest();
  /// Returns a run without the times of single calls: `blocks` is empty.
  Run run(const std::string& id);

  /// Returns one history for each device and backend, sorted by name, for trends. A renamed device is one
  /// device. With a `branch`, returns trend::compare_with_base() of the devices on which it has runs; throws
  /// UsageError if there are none. Without it, returns the runs of the base branch.
  std::vector<trend::DeviceHistory> read(const std::string& branch = "");
  /// Returns the devices of read(), in the same order. For large histories, which are read one device at a
  /// time.
  std::vector<DeviceBackend> devices(const std::string& branch = "");
  /// Returns one device of read(). Reads only the rows of its runs within the limits. A branch is read whole,
  /// because older runs of the base branch may be its base.
  trend::DeviceHistory read_device(const DeviceBackend& device, const std::string& branch = "",
                                   const RunLimits& limits = {});
  /// Returns all cases by name.
  std::vector<KnownCase> cases();
  /// Returns the allocations at the peak of a case in a run, empty if unknown.
  std::vector<PeakEntry> at_peak(const std::string& case_name, const std::string& run_id);

  /// Adds all acceptances or none. Throws UsageError for an unknown case or run. If a change is accepted
  /// again, reason, user and date are replaced.
  void add_acceptances(const std::vector<trend::Acceptance>& acceptances);
  void add_acceptance(const trend::Acceptance& acceptance) { add_acceptances({acceptance}); }
  /// Removes all of these acceptances or none, by case, metric and run.
  void remove_acceptances(const std::vector<trend::Acceptance>& acceptances);
  std::vector<trend::Acceptance> acceptances();

  /// Returns the current name of a device.
  std::string device_name(const std::string& device);
  /// Makes `device` another name of `is_device`.
  void rename_device(const std::string& device, const std::string& is_device);

  /// Returns what `trends --notify` has sent, by case, metric and run.
  std::vector<trend::Notified> notified();
  /// Replaces the rows with the keys of `rows`; a row without a state is removed. Returns false, and changes
  /// nothing, if such a row no longer equals the one in `expected`: another process is sending it.
  bool update_notified(const std::vector<trend::Notified>& expected,
                       const std::vector<trend::Notified>& rows);

  /// Removes the runs of the base branch before a date that are not in `runs_to_keep`, and all runs of other
  /// branches. Other writers wait meanwhile. Throws UsageError for an unknown branch, and for the base
  /// branch.
  Pruned prune(const PruneChoice& choice, const RunsToKeep& runs_to_keep);

  /// Removes all of these runs or none, and the acceptances that begin at them: a change that the next run
  /// shows is not accepted. `*` in an id stands for any text. Throws UsageError for an unknown id. `dry`:
  /// only returns them.
  Removed remove(const std::vector<std::string>& ids, bool dry = false);

  class Implementation;  ///< internal to this module

 private:
  std::unique_ptr<Implementation> implementation_;
};

/// Returns waits that begin with one second, double up to 16 s, and add up to `total`.
inline std::vector<std::chrono::milliseconds> backoff_waits(std::chrono::milliseconds total) {
  std::vector<std::chrono::milliseconds> waits;
  std::chrono::milliseconds next = std::chrono::seconds(1);
  while (total.count() > 0) {
    waits.push_back(std::min(next, total));
    total -= waits.back();
    next = std::min<std::chrono::milliseconds>(2 * next, std::chrono::seconds(16));
  }
  return waits;
}

/// Returns the result of `work`. Calls it again after a DatabaseLost, once for each wait; `pause` is called
/// with the error and the wait, and sleeps. Throws the last DatabaseLost, and any other error at once.
template <typename Work, typename Pause>
auto with_retries(const std::vector<std::chrono::milliseconds>& waits, Work&& work, Pause&& pause) {
  for (const std::chrono::milliseconds wait : waits) {
    try {
      return work();
    } catch (const DatabaseLost& error) {
      pause(error, wait);
    }
  }
  return work();
}

}  // namespace peakmark::history
