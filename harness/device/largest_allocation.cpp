#include "device/largest_allocation.hpp"

#include "base/error.hpp"

namespace peakmark {

std::optional<Size> largest_allocation(const DeviceInfo& device, const std::function<bool(Size)>& takes) {
  constexpr Size kResolution = 1 << 20;
  if (!device.memory_bytes) return std::nullopt;
  Size taken = 0;
  Size refused = *device.memory_bytes + 1;
  const auto attempt = [&](Size bytes) {
    if (bytes <= taken || bytes >= refused) return;
    (takes(bytes) ? taken : refused) = bytes;
  };
  // Most drivers refuse from the next byte on.
  attempt(*device.memory_bytes);
  if (device.max_allocation_bytes) {
    attempt(*device.max_allocation_bytes);
    attempt(*device.max_allocation_bytes + 1);
  }
  while (refused - taken > kResolution) attempt(taken + (refused - taken) / 2);
  return taken;
}

bool try_allocation(const DeviceInfo& device, Size bytes) {
  try {
    const auto opened = open_device(device);
    Array array = opened->create_uninitialised("probe", {bytes}, DType::u8);
    opened->fill_part(array, 0, 1, 0);
    opened->fill_part(array, bytes - 1, 1, 0);
    opened->finish();
    return true;
  } catch (const OutOfMemory&) {
    return false;
  } catch (const Unsupported&) {
    return false;
  }
}

}  // namespace peakmark
