#pragma once

#include <filesystem>
#include <thread>
#include <vector>

namespace peakmark {

/// Writes the end time of processes into their profiles if the processes could not do it themselves: they
/// were killed, or called `_exit`, as workers of Python's multiprocessing do. Without end times it is unknown
/// whether two processes held memory at the same time.
///
/// From construction to destruction, a thread watches the folder for the profiles NAME.<pid> of new processes
/// and waits for their exit. If the system does not allow that (an old kernel, no free descriptors), the end
/// times stay unknown.
class ExitWatcher {
 public:
  /// `name`: the absolute name of the recording.
  explicit ExitWatcher(std::filesystem::path name);
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;
  ~ExitWatcher();

  /// Returns when all end times so far have been written.
  void stop();
  /// Returns the profiles that were created and later removed by another program. Call it after stop().
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
