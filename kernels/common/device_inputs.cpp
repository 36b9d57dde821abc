#include "kernels/common/device_inputs.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "kernels/common/seeded.hpp"
#include "seeded_source.hpp"

namespace peakmark {
namespace {

/// Elements that a work-item on a CPU makes: enough to vectorise its loop, and few enough to balance the
/// load.
constexpr std::int32_t kRunOnCpu = 4096;

/// The type whose kernel makes the bits of `dtype`: integers have the same lowest bits, signed or not.
DType kernel_dtype(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::i8:
      return DType::u8;
    case DType::u16:
    case DType::i16:
      return DType::u16;
    case DType::u32:
    case DType::i32:
      return DType::u32;
    case DType::u64:
    case DType::i64:
      return DType::u64;
    case DType::f32:
    case DType::f64:
      return dtype;
    case DType::c64:
    case DType::c128:
      break;
  }
  throw UsageError(
      fmt::format("seeded inputs of type {}: no such pattern; use a real type", to_string(dtype)));
}

}  // namespace

ItemsOfRuns items_of_runs(const Device& device, Size count) {
  const std::int32_t run = device.is_cpu() ? kRunOnCpu : 1;
  return {run, {.x = divide_up(count, run), .local_x = run == 1 ? 256 : 1}};
}

DeviceArray create_seeded(Device& device, const std::string& name, const Shape& shape, DType dtype,
                          std::uint32_t seed) {
  DeviceArray array = create_uninitialised(device, name, shape, dtype);
  write_seeded(device, array, seed);
  return array;
}

void write_seeded(Device& device, DeviceArray& array, std::uint32_t seed, Size first) {
  const Size count = shape(array).elements();
  if (count == 0) return;
  if (dtype(array) == DType::f64 && !device.has_f64()) {
    // Operations that only move bits also run on such devices.
    array.write<double>([=](std::span<double> piece, Size at) { fill_seeded(piece, seed, first + at); });
    return;
  }
  const ItemsOfRuns items = items_of_runs(device, count);
  const Kernel kernel = find_kernel(device, seeded_source(), "seeded", kernel_dtype(dtype(array)));
  device.launch(kernel, items.range, {array, count, first, seed, items.run});
}

void write_noise(Device& device, DeviceArray& array, const NoisePattern& pattern) {
  if (dtype(array) != DType::f32)
    throw UsageError(fmt::format("noise of type {} is not supported; use f32", to_string(dtype(array))));
  const Shape lines = shape(array);
  const Size count = lines.elements();
  if (count == 0) return;
  const Size w = lines[lines.rank() - 1];
  const ItemsOfRuns items = items_of_runs(device, count);
  const Kernel kernel = find_kernel(device, seeded_source(), "noise_lines", DType::f32);
  device.launch(kernel, items.range,
                {array, count, w, pattern.different, pattern.order_seed, pattern.seed, items.run});
}

}  // namespace peakmark
