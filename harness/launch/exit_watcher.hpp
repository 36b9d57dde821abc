#pragma once

#include <filesystem>
#include <thread>
#include <vector>

namespace peakmark {

/// Writes into profiles when their processes ended, where the processes could not do it themselves: they were
/// killed, or left by `_exit`, as the workers of Python's multiprocessing do. Without it nobody could tell
/// later whether two processes held their memory at the same time.
///
/// It watches the folder for the profiles NAME.<pid> of processes that begin, and waits for their end, in a
/// thread of its own, from construction to destruction. Where the system lets it watch neither (an old
/// kernel, no descriptors left), the ends stay unknown.
class ExitWatcher {
 public:
  /// `name`: absolute, as for the recorders.
  explicit ExitWatcher(std::filesystem::path name);
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;
  ~ExitWatcher();

  /// Returns when the ends that have been are written.
  void stop();
  /// Profiles that were begun and are not there any more: somebody has removed them. Ask after stop().
  [[nodiscard]] std::vector<std::filesystem::path> removed() const;

 private:
  void watch();

  std::filesystem::path name_;
  std::vector<std::filesystem::path> begun_;
  int folder_ = -1;  // inotify
  int stop_ = -1;    // eventfd
  std::thread thread_;
};

}  // namespace peakmark
