#include "api/user_device.hpp"

#include <fmt/format.h>

#include <memory>
#include <span>

#include "api/user_failure.hpp"
#include "base/error.hpp"

namespace peakmark {
namespace {

Device& device_of(void* self) {
  return *static_cast<Device*>(self);
}

Array& array_of(void* array) {
  return *static_cast<Array*>(array);
}

template <typename Step>
void guard(peakmark_failure* failure, Step step) noexcept {
  try {
    step();
  } catch (...) {
    note_failure(failure);
  }
}

/// Calls `take` with a value of the array's element type.
template <typename Take>
void with_element(DType dtype, Take take) {
  switch (dtype) {
    case DType::u8:
      return take(std::uint8_t{});
    case DType::i8:
      return take(std::int8_t{});
    case DType::u16:
      return take(std::uint16_t{});
    case DType::i16:
      return take(std::int16_t{});
    case DType::u32:
      return take(std::uint32_t{});
    case DType::i32:
      return take(std::int32_t{});
    case DType::u64:
      return take(std::uint64_t{});
    case DType::i64:
      return take(std::int64_t{});
    case DType::f32:
      return take(float{});
    case DType::f64:
      return take(double{});
    default:
      throw Unsupported(fmt::format("arrays of {} are not offered", to_string(dtype)));
  }
}

void check_bytes(const Array& array, Size bytes) {
  if (bytes == array.bytes()) return;
  throw UsageError(fmt::format("the array has {} bytes, the host's data {}", array.bytes(), bytes));
}

void finish(void* self, peakmark_failure* failure) {
  guard(failure, [&] { device_of(self).finish(); });
}

void name_allocation(void* self, std::uint64_t address, const char* name) {
  device_of(self).name_allocation(address, name);
}

void* create(void* self, const char* name, const char* dtype, const std::int64_t* extents,
             std::size_t dimensions, peakmark_failure* failure) {
  std::unique_ptr<Array> array;
  guard(failure, [&] {
    const Shape shape(std::vector<Size>(extents, extents + dimensions));
    array = std::make_unique<Array>(device_of(self).create(name, shape, parse_dtype(dtype)));
  });
  return array.release();
}

void release(void* self, void* array) {
  const std::unique_ptr<Array> released(&array_of(array));
  peakmark_failure of_the_queue{};  // told by the next call that waits: a destructor has nobody to tell
  guard(&of_the_queue, [&] { device_of(self).release(*released); });
}

std::int64_t bytes(void*, void* array) {
  return array_of(array).bytes();
}

std::uint64_t handle(void*, void* array) {
  return array_of(array) ? array_of(array).buffer().handle() : 0;
}

void write(void* self, void* array, const void* from, std::int64_t bytes, peakmark_failure* failure) {
  guard(failure, [&] {
    Array& to = array_of(array);
    check_bytes(to, bytes);
    with_element(to.dtype(), [&](auto zero) {
      using T = decltype(zero);
      device_of(self).write<T>(
          to, std::span(static_cast<const T*>(from), static_cast<std::size_t>(bytes) / sizeof(T)));
    });
  });
}

void read(void* self, void* array, void* to, std::int64_t bytes, peakmark_failure* failure) {
  guard(failure, [&] {
    const Array& from = array_of(array);
    check_bytes(from, bytes);
    if (device_of(self).is_dry()) throw Unsupported("a dry device holds no data that could be read");
    with_element(from.dtype(), [&](auto zero) {
      using T = decltype(zero);
      device_of(self).pull_part<T>(
          from, 0, std::span(static_cast<T*>(to), static_cast<std::size_t>(bytes) / sizeof(T)));
    });
  });
}

void fill(void* self, void* array, double value, peakmark_failure* failure) {
  guard(failure, [&] { device_of(self).fill(array_of(array), value); });
}

}  // namespace

peakmark_device abi_of(Device& device) {
  const DeviceInfo& info = device.info();
  const Device::Native native = device.native();
  peakmark_device seam{};
  seam.self = &device;
  seam.backend = to_string(info.backend).data();  // of a literal, so it ends with a zero
  seam.name = info.name.c_str();
  seam.is_cpu = info.is_cpu ? 1 : 0;
  seam.context = native.context;
  seam.queue = native.queue;
  seam.device = native.device;
  seam.finish = finish;
  seam.name_allocation = name_allocation;
  seam.create = create;
  seam.release = release;
  seam.bytes = bytes;
  seam.handle = handle;
  seam.write = write;
  seam.read = read;
  seam.fill = fill;
  return seam;
}

}  // namespace peakmark
