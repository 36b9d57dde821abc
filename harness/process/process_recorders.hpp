#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "recorders/marks.h"
#include "recorders/recorder_libraries.hpp"

namespace peakmark {

/// Nothing can be recorded on this machine: a recorder, a driver or a usable loader is missing.
class NoRecorderError : public RecorderError {
 public:
  using RecorderError::RecorderError;
};

/// OpenCL or CUDA was called before its recorder could be loaded. The message is the fact; the caller adds
/// what to do.
class RecorderTooLateError : public RecorderError {
 public:
  using RecorderError::RecorderError;
};

/// A recorder that records this process. Never unloaded.
struct LoadedRecorder {
  std::filesystem::path library;
  peakmark_event_count_t event_count;
  peakmark_synchronise_t synchronise;
  peakmark_profile_path_t profile_path;
};

/// The recorders of this process, which the loaders of OpenCL and CUDA load at their first call. One for the
/// life of a process: a loader reads only once which recorder to load. Not thread-safe.
class ProcessRecorders {
 public:
  ProcessRecorders();
  ~ProcessRecorders();
  ProcessRecorders(const ProcessRecorders&) = delete;
  ProcessRecorders& operator=(const ProcessRecorders&) = delete;

  /// Sets the variables by which the loaders of this process load the recorders of `folder`
  /// (PEAKMARK_LIBRARY_DIR goes before it). The profile goes into a temporary folder, which is removed with
  /// this object. Does nothing in a process that is recorded already, by `peakmark record` or an earlier
  /// call. Throws NoRecorderError if no recorder is installed there.
  void request(const std::filesystem::path& folder, bool sync, bool stacks);

  /// Calls the loaders now, so that they load the recorders; loads one into the process only if none is
  /// there. Throws RecorderError, with the reason, if no recorder records this process then, or only that of
  /// one API while the other may be used.
  void load();

  /// What to do about OpenCL that is in the process unrecorded for another reason than a late recorder.
  enum class UnrecordedOpencl {
    refused,  ///< throw, unless it has no driver
    ignored,  ///< throw only if nothing else is recorded
  };

  /// Finds the recorders that have been loaded since. Calls an OpenCL loader that is in the process without
  /// its recorder, so that it loads it. Throws RecorderTooLateError if OpenCL or CUDA is used unrecorded;
  /// NoRecorderError, as `opencl` says, if OpenCL cannot be recorded.
  void require_recorded(UnrecordedOpencl opencl);

  [[nodiscard]] const std::vector<std::unique_ptr<LoadedRecorder>>& loaded() const { return loaded_; }

  /// True if the profile is this object's own: in its temporary folder, made by this process.
  [[nodiscard]] bool has_own_profile() const;

 private:
  void connect();
  [[nodiscard]] bool is_loaded(std::string_view file) const;
  [[nodiscard]] bool is_installed(const char* file) const;
  void require_cuda_recorded() const;
  [[nodiscard]] std::string why_none() const;

  RecorderLibraries libraries_;
  std::filesystem::path folder_;  ///< of the profile, if it is ours
  std::vector<std::unique_ptr<LoadedRecorder>> loaded_;
  pid_t process_;
};

}  // namespace peakmark
