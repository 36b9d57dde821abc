#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "device/device.hpp"

namespace peakmark {

/// What a run says of itself to those that wait for it, and what it wants of the lock.
struct DeviceLockOptions {
  std::string suite;         ///< what is measured
  bool memory_only = false;  ///< takes no times
  bool no_wait = false;      ///< DeviceError, which names the holder, instead of waiting
};

/// Keeps two runs on one device apart: they would spoil each other's times and eat each other's memory. A
/// flock on a file in a folder of the user, which ends with the process. It names the device by its PCI
/// address, so that OpenCL and CUDA on one GPU exclude each other, whatever index a run sees it under; all
/// CPU devices are one device. No lock is taken where runs do not disturb each other: on `dry`, which holds
/// no memory, and for memory alone on a CPU.
class DeviceLock {
 public:
  /// Waits as long as another run holds the device: shards and parallel jobs of one machine then simply
  /// queue. Calls `waiting` for each holder that it waits for, with what to say, and `still_wanted` every
  /// 200 ms, which throws to give up.
  DeviceLock(const DeviceInfo& device, const DeviceLockOptions& options,
             const std::function<void(const std::string& holder)>& waiting,
             const std::function<void()>& still_wanted);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// The name of the lock: `pci-0000_3b_00`, `cpu`, or, where the driver tells no address, of the device.
std::string lock_name(const DeviceInfo& device);

/// $XDG_RUNTIME_DIR/peakmark, else `peakmark-UID` in the folder for temporary files; made where it is not
/// there. EnvironmentError where it is not this user's alone, IoError where it cannot be made.
std::filesystem::path lock_folder();

}  // namespace peakmark
