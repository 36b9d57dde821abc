#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record/show/folded_profiles.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

/// Keeps a recording small while its program runs (`record --compact`): folds the written events, stores them
/// in NAME.folded, and then frees the disk space of the folded slots. If the process is killed at any moment,
/// every event still counts exactly once: a reader takes the folded slots from NAME.folded and the others
/// from the profile. At the end the folded events are written into the profiles, and NAME.folded is removed.
///
/// The program takes no part. Disk space is freed only for extents that its recorder has unmapped.
class ProfileFolding {
 public:
  /// The step that a pass has just finished. Tests kill the process there.
  enum class Step { written, renamed, freed };

  struct Options {
    std::uint64_t min_bytes = std::uint64_t{8} << 20U;  ///< fewer bytes of new events are not folded
    /// With several processes, only events at least this old are merged. A thread reads the time of an event
    /// before it reserves its slot, so no older event can still be written.
    std::int64_t margin_ns = 1'000'000'000;
    std::function<void(Step)> after = {};
  };

  ProfileFolding();
  explicit ProfileFolding(Options options);
  ~ProfileFolding();
  ProfileFolding(const ProfileFolding&) = delete;
  ProfileFolding& operator=(const ProfileFolding&) = delete;

  /// Starts a thread that calls fold() every 50 ms.
  void begin(const std::filesystem::path& name);
  /// Ends the thread, folds the remaining events and writes the profiles.
  void end();

  /// Makes one pass over the profiles of `name`. `is_over`: the program has ended.
  void fold(const std::filesystem::path& name, bool is_over);

  /// Replaces profiles with folded events by files that contain these events, and removes NAME.folded. If a
  /// process still runs, its profile and NAME.folded stay unchanged.
  void write_profiles(const std::filesystem::path& name);

  /// Returns why the profiles could not be kept small; empty if they could. Call it after end().
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  using Identity = std::pair<std::int32_t, std::int64_t>;  // pid, start

  /// How much of a profile's space was freed, and what can be freed after its file has grown.
  struct Space {
    std::uint64_t freed_bytes = 0;
    // bytes to free, size of the file at that time
    std::deque<std::pair<std::uint64_t, std::uint64_t>> waiting = {};
  };
  void run();
  [[nodiscard]] bool has_enough_to_fold(const std::vector<std::filesystem::path>& files, bool is_over) const;
  void free_space(const RecordedProcess& process, std::uint64_t folded_slots);

  void done(Step step) const {
    if (options_.after) options_.after(step);
  }

  Options options_;
  std::filesystem::path name_;
  FoldedProfiles folded_;
  std::map<Identity, Space> spaces_;
  std::string error_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace peakmark
