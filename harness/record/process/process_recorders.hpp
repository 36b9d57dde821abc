#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "record/recorders/marks.h"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {

/// Nothing can be recorded on this machine: a recorder, a driver or a usable loader is missing.
class NoRecorderError : public RecorderError {
 public:
  using RecorderError::RecorderError;
};

/// OpenCL or CUDA was called before its recorder could be loaded. The message says so; the caller adds what
/// to do.
class RecorderTooLateError : public RecorderError {
 public:
  using RecorderError::RecorderError;
};

/// A recorder that is loaded in this process. Never unloaded.
struct LoadedRecorder {
  std::filesystem::path library;
  peakmark_event_count_t event_count;
  peakmark_synchronise_t synchronise;
  peakmark_profile_path_t profile_path;
};

/// The recorders of this process, which the loaders of OpenCL and CUDA load at their first call. A process
/// has one object of this class, because a loader reads only once which recorder to load. Not thread-safe.
class ProcessRecorders {
 public:
  ProcessRecorders();
  ~ProcessRecorders();
  ProcessRecorders(const ProcessRecorders&) = delete;
  ProcessRecorders& operator=(const ProcessRecorders&) = delete;

  /// Sets the variables by which the loaders of this process load the recorders of `folder`
  /// (PEAKMARK_LIBRARY_DIR has precedence). The profile goes into a temporary folder, which the destructor
  /// removes. Does nothing in a process that is recorded already, by `peakmark record` or an earlier call.
  /// Throws NoRecorderError if no recorder is installed there.
  void request(const std::filesystem::path& folder, bool sync, bool stacks);

  /// Calls the loaders now, so that they load the recorders. If a process has no loader, loads one. Throws
  /// RecorderError, with the reason, if then no recorder records this process, or if only one API is recorded
  /// while the other may be used.
  void load();

  /// What to do if OpenCL is used unrecorded for a reason other than a late recorder.
  enum class UnrecordedOpencl {
    refused,  ///< throw, unless OpenCL has no driver
    ignored,  ///< throw only if nothing else is recorded
  };

  /// Finds the recorders that have been loaded since. If an OpenCL loader is in the process without its
  /// recorder, calls the loader so that it loads the recorder. Throws RecorderTooLateError if OpenCL or CUDA
  /// is used unrecorded; NoRecorderError, depending on `opencl`, if OpenCL cannot be recorded.
  void require_recorded(UnrecordedOpencl opencl);

  [[nodiscard]] const std::vector<std::unique_ptr<LoadedRecorder>>& loaded() const { return loaded_; }

  /// Returns true if this object made the profile: it is in the temporary folder, and this is not a forked
  /// child.
  [[nodiscard]] bool has_own_profile() const;

 private:
  void connect();
  [[nodiscard]] bool is_loaded(std::string_view file) const;
  [[nodiscard]] bool is_installed(const char* file) const;
  void require_cuda_recorded() const;
  [[nodiscard]] std::string why_none() const;

  RecorderLibraries libraries_;
  std::filesystem::path folder_;  ///< of the profile, if this object made it
  std::vector<std::unique_ptr<LoadedRecorder>> loaded_;
  pid_t process_;
};

}  // namespace peakmark
