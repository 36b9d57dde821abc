#include "measure/device/largest_allocation.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "base/cuda_folders.hpp"
#include "base/error.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
namespace {

constexpr Size kResolution = 1 << 20;
/// Drivers of GPUs allocate memory in steps of 2 MiB: other sizes would be rounded up.
constexpr Size kFillStep = 2 << 20;

/// Allocates, and writes the first and the last byte. Returns null if the device refuses.
std::optional<Array> allocate_and_touch(Device& device, Size bytes) {
  try {
    Array array = device.create_uninitialised("probe", {bytes}, DType::u8);
    device.fill_part(array, 0, 1, 0);
    device.fill_part(array, bytes - 1, 1, 0);
    device.finish();
    return array;
  } catch (const OutOfMemoryError&) {
    return std::nullopt;
  } catch (const UnsupportedError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Size> largest_allocation(const DeviceInfo& device, const std::function<bool(Size)>& takes) {
  if (!device.memory_bytes) return std::nullopt;
  Size taken = 0;
  Size refused = *device.memory_bytes + 1;
  const auto attempt = [&](Size bytes) {
    if (bytes <= taken || bytes >= refused) return;
    (takes(bytes) ? taken : refused) = bytes;
  };
  // Most drivers refuse the next larger size.
  attempt(*device.memory_bytes);
  if (device.max_allocation_bytes) {
    attempt(*device.max_allocation_bytes);
    attempt(*device.max_allocation_bytes + 1);
  }
  while (refused - taken > kResolution) attempt(taken + (refused - taken) / 2);
  return taken;
}

bool try_allocation(const DeviceInfo& device, Size bytes) {
  const auto opened = open_device(device);
  return allocate_and_touch(*opened, bytes).has_value();
}

Size fill_memory(Size limit, Size max_piece, const std::function<bool(Size)>& takes) {
  const auto whole_steps = [](Size bytes) { return bytes / kFillStep * kFillStep; };
  Size taken = 0;
  Size piece = whole_steps(std::min(limit, max_piece));
  while (piece > 0) {
    if (takes(piece)) {
      taken += piece;
      piece = std::min(piece, whole_steps(limit - taken));
    } else {
      piece = whole_steps(piece / 2);
    }
  }
  return taken;
}

bool create_cublas_handle() {
  for (const char* const name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}) {
    void* const library = load_cuda_library(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    using Create = int(void**);
    auto* const create = reinterpret_cast<Create*>(dlsym(library, "cublasCreate_v2"));
    void* handle = nullptr;
    return create != nullptr && create(&handle) == 0;
  }
  return false;
}

FilledDevice fill_device(const DeviceInfo& device) {
  FilledDevice filled;
  const auto opened = open_device(device);
  if (!allocate_and_touch(*opened, 1)) return filled;
  filled.free_bytes = opened->memory().free_bytes;
  std::optional<Size> free = filled.free_bytes;
  if (free && device.backend == Backend::cuda && create_cublas_handle()) {
    const std::optional<Size> with_library = opened->memory().free_bytes;
    if (with_library) filled.library_bytes = std::max<Size>(*free - *with_library, 0);
    free = with_library;
  }
  const std::optional<Size> limit = free ? free : device.memory_bytes;
  if (!limit) return filled;
  std::vector<Array> arrays;
  filled.allocatable_bytes =
      fill_memory(*limit, device.max_allocation_bytes.value_or(*limit), [&](Size bytes) {
        std::optional<Array> array = allocate_and_touch(*opened, bytes);
        if (array) arrays.push_back(std::move(*array));
        return array.has_value();
      });
  return filled;
}

}  // namespace peakmark
