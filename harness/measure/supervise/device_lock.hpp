#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "measure/device/device.hpp"

namespace peakmark {

/// How a run locks its device, and what other runs print while they wait for it.
struct DeviceLockOptions {
  std::string suite;         ///< what is measured
  bool memory_only = false;  ///< measures no times
  bool no_wait = false;      ///< throw DeviceError, which names the holder, instead of waiting
};

/// Prevents two runs on one device at the same time, which would disturb each other's times and memory. The
/// lock is a flock on a file in a folder of the user, and ends with the process. The file is named after the
/// PCI address, so that OpenCL and CUDA on one GPU exclude each other whatever the device's index; all CPU
/// devices count as one. If runs do not disturb each other, no lock is taken: on `dry`, and for memory alone
/// on a CPU.
class DeviceLock {
 public:
  /// Waits while another run uses the device, so that shards and parallel jobs on one machine queue. Calls
  /// `waiting` with the description of each holder that it waits for, and `still_wanted` every 200 ms, which
  /// throws to give up.
  DeviceLock(const DeviceInfo& device, const DeviceLockOptions& options,
             const std::function<void(const std::string& holder)>& waiting,
             const std::function<void()>& still_wanted);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// Returns the name of the lock: `pci-0000_3b_00`, `cpu`, or the device's name if the driver reports no
/// address.
std::string lock_name(const DeviceInfo& device);

/// Returns $XDG_RUNTIME_DIR/peakmark, else `peakmark-UID` in the folder for temporary files; creates it.
/// Throws EnvironmentError if others have access to it, IoError if it cannot be created.
std::filesystem::path lock_folder();

}  // namespace peakmark
