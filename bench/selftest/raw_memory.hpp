#pragma once

#include <memory>

#include "device/device.hpp"

namespace peakmark::selftest {

/// Device memory taken from the driver itself, as a library would; released with this object.
class RawMemory {
 public:
  RawMemory() = default;
  RawMemory(const RawMemory&) = delete;
  RawMemory& operator=(const RawMemory&) = delete;
  virtual ~RawMemory() = default;
};

/// clCreateBuffer or cudaMalloc. Throws Unsupported on `dry`, OutOfMemory where the driver refuses.
std::unique_ptr<RawMemory> allocate_raw(Device& device, Size bytes);

}  // namespace peakmark::selftest
