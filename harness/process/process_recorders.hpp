#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "process/live_memory.hpp"
#include "recorders/recorder_libraries.hpp"

namespace peakmark {

/// The recorders of this process, brought in by the process itself, and what they have seen so far. One for
/// the life of a process: loaders read once which recorder they are to load.
class ProcessRecorders {
 public:
  /// Tells the loaders of OpenCL and CUDA to load the recorders, and calls them, so that they do; a loader
  /// that is not yet in the process is loaded only where there is no other. In a process that `peakmark
  /// record` has started nothing is told, and its profile is read.
  /// `beside`: a folder where the recorders may be (PEAKMARK_LIBRARY_DIR goes before it).
  /// Throws RecorderError, saying why and how to mend it, where no recorder comes up, or where that of one
  /// loader is and the other may be used unrecorded.
  explicit ProcessRecorders(const std::filesystem::path& beside);
  ~ProcessRecorders();
  ProcessRecorders(const ProcessRecorders&) = delete;
  ProcessRecorders& operator=(const ProcessRecorders&) = delete;

  /// Begins a stretch of the process, when the devices have done what they were asked for. Throws
  /// RecorderError where something cannot be recorded.
  std::size_t begin();
  MemoryUse end(std::size_t stretch);

 private:
  struct Recorder;

  void tell_loaders(const std::filesystem::path& beside);
  void bring_in();
  void connect();
  /// Waits for the devices, then for releases that come late, until no more is live than `least`.
  void settle(Size least);
  void advance();
  [[nodiscard]] bool is_connected(const std::optional<std::filesystem::path>& library) const;
  void require_own_process() const;
  void require_cuda_recorded() const;
  void require_opencl_recorded() const;
  [[nodiscard]] std::string why_none() const;
  void remove_folder() const;

  RecorderLibraries libraries_;
  std::filesystem::path folder_;  ///< of the profile, where it is ours; removed with this
  std::vector<std::unique_ptr<Recorder>> recorders_;
  LiveMemory memory_;
  std::vector<Size> live_at_begin_;  ///< by stretch
  Size settled_ = 0;                 ///< live at the last edge of a stretch
  int process_;                      ///< its own profile is followed, no forked child's
};

}  // namespace peakmark
