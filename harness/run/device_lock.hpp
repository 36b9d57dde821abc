#pragma once

#include <functional>
#include <string>

#include "device/device.hpp"

namespace peakmark {

/// Keeps two runs on one device apart: they would spoil each other's timings and eat each other's memory. A
/// flock on a file in the folder for temporary files, so that it also holds between users, and ends with the
/// process. None is taken for `dry`, which holds no memory.
class DeviceLock {
 public:
  /// Waits as long as another run holds the device: shards and parallel jobs of one machine then simply
  /// queue. Calls `waiting` once when it must, and `still_wanted` every 200 ms, which throws to give up.
  DeviceLock(const DeviceInfo& device, const std::function<void(const std::string& path)>& waiting,
             const std::function<void()>& still_wanted);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace peakmark
