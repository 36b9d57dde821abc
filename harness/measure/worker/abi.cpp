#include "measure/worker/abi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "measure/worker/opened_device.hpp"

namespace peakmark {

using backend::Argument;
using backend::Array;
using backend::Device;
using backend::Generator;
using backend::Kernel;
namespace {

peakmark_value abi_value(const std::string& axis, const AxisValue& value) {
  peakmark_value abi{.axis = axis.c_str(), .type = PEAKMARK_INTEGER, .value = {}};
  if (const auto* const word = std::get_if<std::string>(&value)) {
    abi.type = PEAKMARK_WORD;
    abi.value.word = word->c_str();
  } else if (const auto* const number = std::get_if<double>(&value)) {
    abi.type = PEAKMARK_FLOAT;
    abi.value.floating = *number;
  } else {
    abi.value.integer = std::get<Size>(value);
  }
  return abi;
}

void note(peakmark_failure* failure, int kind, std::string_view message) {
  failure->kind = kind;
  const std::size_t length = std::min(message.size(), sizeof(failure->message) - 1);
  std::memcpy(failure->message, message.data(), length);
  failure->message[length] = '\0';
}

Device& as_device(void* self) {
  return *static_cast<Device*>(self);
}

Array& as_array(void* array) {
  return *static_cast<Array*>(array);
}

/// Calls `function` and reports its exception to the program. Returns its result, or zero if it throws.
template <typename Function>
auto guard(peakmark_failure* failure, Function function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    note_failure(failure);
  }
  return decltype(function())();
}

/// Calls `use` with a value of the element type.
template <typename Use>
void with_element_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::u8:
      return use(std::uint8_t{});
    case DType::i8:
      return use(std::int8_t{});
    case DType::u16:
      return use(std::uint16_t{});
    case DType::i16:
      return use(std::int16_t{});
    case DType::u32:
      return use(std::uint32_t{});
    case DType::i32:
      return use(std::int32_t{});
    case DType::u64:
      return use(std::uint64_t{});
    case DType::i64:
      return use(std::int64_t{});
    case DType::f32:
      return use(float{});
    case DType::f64:
      return use(double{});
    default:
      throw UnsupportedError(fmt::format("arrays of {} are not supported", to_string(dtype)));
  }
}

void check_bytes(const Array& array, Size bytes) {
  if (bytes == array.bytes()) return;
  throw UsageError(fmt::format("the array has {} bytes, the host's data {}", array.bytes(), bytes));
}

void finish(void* self, peakmark_failure* failure) {
  guard(failure, [&] { as_device(self).finish(); });
}

void name_allocation(void* self, std::uint64_t address, const char* name) {
  as_device(self).name_allocation(address, name);
}

Shape make_shape(const std::int64_t* extents, std::size_t dimensions) {
  return Shape(std::vector<Size>(extents, extents + dimensions));
}

void* create(void* self, const char* name, const char* dtype, const std::int64_t* extents,
             std::size_t dimensions, peakmark_failure* failure) {
  return guard(failure, [&] {
    return std::make_unique<Array>(
               as_device(self).create(name, make_shape(extents, dimensions), parse_dtype(dtype)))
        .release();
  });
}

void* create_uninitialised(void* self, const char* name, const char* dtype, const std::int64_t* extents,
                           std::size_t dimensions, peakmark_failure* failure) {
  return guard(failure, [&] {
    return std::make_unique<Array>(as_device(self).create_uninitialised(name, make_shape(extents, dimensions),
                                                                        parse_dtype(dtype)))
        .release();
  });
}

void release(void* self, void* array) {
  const std::unique_ptr<Array> released(&as_array(array));
  peakmark_failure ignored{};  // errors of the queue are reported by the next call that waits
  guard(&ignored, [&] { as_device(self).release(*released); });
}

std::int64_t bytes(void*, void* array) {
  return as_array(array).bytes();
}

std::uint64_t handle(void*, void* array) {
  return as_array(array) ? as_array(array).buffer().handle() : 0;
}

void write(void* self, void* array, const void* from, std::int64_t bytes, peakmark_failure* failure) {
  guard(failure, [&] {
    Array& to = as_array(array);
    check_bytes(to, bytes);
    with_element_type(to.dtype(), [&](auto zero) {
      using T = decltype(zero);
      as_device(self).write<T>(
          to, std::span(static_cast<const T*>(from), static_cast<std::size_t>(bytes) / sizeof(T)));
    });
  });
}

void read(void* self, void* array, void* to, std::int64_t bytes, peakmark_failure* failure) {
  guard(failure, [&] {
    const Array& from = as_array(array);
    check_bytes(from, bytes);
    if (as_device(self).is_dry())
      throw UnsupportedError("the dry backend computes nothing: there is no data to read");
    with_element_type(from.dtype(), [&](auto zero) {
      using T = decltype(zero);
      as_device(self).pull_part<T>(
          from, 0, std::span(static_cast<T*>(to), static_cast<std::size_t>(bytes) / sizeof(T)));
    });
  });
}

void read_part(void* self, void* array, std::int64_t first, void* to, std::int64_t bytes,
               peakmark_failure* failure) {
  guard(failure, [&] {
    const Array& from = as_array(array);
    with_element_type(from.dtype(), [&](auto zero) {
      using T = decltype(zero);
      as_device(self).pull_part<T>(
          from, first, std::span(static_cast<T*>(to), static_cast<std::size_t>(bytes) / sizeof(T)));
    });
  });
}

void write_generated(void* self, void* array,
                     void (*generate)(void* context, void* piece, std::int64_t bytes, std::int64_t first,
                                      peakmark_failure* failure),
                     void* context, peakmark_failure* failure) {
  guard(failure, [&] {
    Array& to = as_array(array);
    with_element_type(to.dtype(), [&](auto zero) {
      using T = decltype(zero);
      as_device(self).write<T>(to, Generator<T>([&](std::span<T> piece, Size first) {
                                 call_program([&](peakmark_failure* wrong) {
                                   generate(context, piece.data(), static_cast<Size>(piece.size_bytes()),
                                            first, wrong);
                                 });
                               }));
    });
  });
}

void fill(void* self, void* array, double value, peakmark_failure* failure) {
  guard(failure, [&] { as_device(self).fill(as_array(array), value); });
}

void fill_part(void* self, void* array, std::int64_t first, std::int64_t count, double value,
               peakmark_failure* failure) {
  guard(failure, [&] { as_device(self).fill_part(as_array(array), first, count, value); });
}

void copy(void* self, void* from, std::int64_t from_offset_bytes, void* to, std::int64_t to_offset_bytes,
          std::int64_t bytes, peakmark_failure* failure) {
  guard(failure, [&] {
    if (from == nullptr || to == nullptr) throw UsageError("copy: an array has not been created");
    as_device(self).copy(as_array(from), from_offset_bytes, as_array(to), to_offset_bytes, bytes);
  });
}

void* kernel(void* self, const peakmark_kernel_source* source, const char* name, const char* dtype,
             peakmark_failure* failure) {
  return guard(failure, [&] {
    std::vector<CudaImage> images;
    for (const peakmark_cuda_image& image : std::span(source->cuda_images, source->cuda_image_count))
      images.push_back({image.dtype, {static_cast<const std::byte*>(image.data), image.bytes}});
    return as_device(self)
        .kernel({source->name, {source->text, source->text_bytes}, images}, name, parse_dtype(dtype))
        .implementation();
  });
}

Argument convert_argument(const peakmark_argument& argument) {
  switch (argument.type) {
    case PEAKMARK_ARRAY:
      if (argument.value.array == nullptr)
        throw UsageError("launch: an argument is an array that has not been created");
      return &as_array(argument.value.array);
    case PEAKMARK_I32:
      return argument.value.i32;
    case PEAKMARK_U32:
      return argument.value.u32;
    case PEAKMARK_I64:
      return argument.value.i64;
    case PEAKMARK_U64:
      return argument.value.u64;
    case PEAKMARK_F32:
      return argument.value.f32;
    case PEAKMARK_F64:
      return argument.value.f64;
    default:
      throw UsageError(fmt::format("launch: unknown type {} of an argument", argument.type));
  }
}

void launch(void* self, void* kernel, const peakmark_range* range, const peakmark_argument* arguments,
            std::size_t count, peakmark_failure* failure) {
  guard(failure, [&] {
    std::vector<Argument> converted;
    converted.reserve(count);
    for (const peakmark_argument& argument : std::span(arguments, count))
      converted.push_back(convert_argument(argument));
    const auto& [x, y, z] = range->items;
    const auto& [local_x, local_y, local_z] = range->local;
    as_device(self).launch(Kernel(kernel), {x, y, z, local_x, local_y, local_z},
                           std::span<const Argument>(converted));
  });
}

void* cached(void* self, const char* key, void* (*make)(void* context, peakmark_failure* failure),
             void* context, void (*destroy)(void* object), peakmark_failure* failure) {
  return guard(failure, [&] {
    const std::shared_ptr<void> object = as_device(self).library_programs().get(key, [&] {
      void* const made = call_program([&](peakmark_failure* wrong) { return make(context, wrong); });
      return made == nullptr ? std::shared_ptr<void>() : std::shared_ptr<void>(made, destroy);
    });
    return object.get();
  });
}

}  // namespace

void raise_failure(const peakmark_failure& failure) {
  switch (failure.kind) {
    case PEAKMARK_FINE:
      return;
    case PEAKMARK_OUT_OF_MEMORY:
      throw OutOfMemoryError(failure.message);
    case PEAKMARK_UNSUPPORTED:
      throw UnsupportedError(failure.message);
    case PEAKMARK_USAGE:
      throw UsageError(failure.message);
    case PEAKMARK_OVERFLOW:
      throw OverflowError(failure.message);
    case PEAKMARK_HOST_OUT_OF_MEMORY:
      throw std::bad_alloc();
    default:
      throw std::runtime_error(failure.message);
  }
}

void note_failure(peakmark_failure* failure) noexcept {
  try {
    throw;
  } catch (const OutOfMemoryError& error) {
    note(failure, PEAKMARK_OUT_OF_MEMORY, error.what());
  } catch (const UnsupportedError& error) {
    note(failure, PEAKMARK_UNSUPPORTED, error.what());
  } catch (const UsageError& error) {
    note(failure, PEAKMARK_USAGE, error.what());
  } catch (const std::bad_alloc&) {
    note(failure, PEAKMARK_HOST_OUT_OF_MEMORY, "the host has too little memory for this case");
  } catch (const std::exception& error) {
    note(failure, PEAKMARK_BROKEN, error.what());
  } catch (...) {
    note(failure, PEAKMARK_BROKEN, "an error that is not a std::exception");
  }
}

peakmark_device abi_device(Device& device) {
  const DeviceInfo& info = device.info();
  const Device::Native native = device.native();
  return {.self = &device,
          .backend = to_string(info.backend).data(),  // a string literal, which ends with a zero
          .name = info.name.c_str(),
          .is_cpu = info.is_cpu ? 1 : 0,
          .context = native.context,
          .queue = native.queue,
          .device = native.device,
          .finish = finish,
          .name_allocation = name_allocation,
          .create = create,
          .release = release,
          .bytes = bytes,
          .handle = handle,
          .write = write,
          .read = read,
          .fill = fill,
          .has_f64 = info.has_f64 ? 1 : 0,
          .compute_units = info.compute_units,
          .memory_bytes = info.memory_bytes.value_or(-1),
          .max_allocation_bytes = info.max_allocation_bytes.value_or(-1),
          .cache_bytes = info.cache_bytes.value_or(-1),
          .create_uninitialised = create_uninitialised,
          .read_part = read_part,
          .write_generated = write_generated,
          .fill_part = fill_part,
          .copy = copy,
          .kernel = kernel,
          .launch = launch,
          .cached = cached,
          .index = info.index};
}

OpenedDevice open_for_public_api(std::string_view backend, const std::string& device) {
  DeviceChoice choice;
  if (!backend.empty()) choice.backend = parse_backend(backend);
  choice.device = device;
  std::shared_ptr<Device> opened = open_device(choose_device(choice, list_devices()));
  const peakmark_device abi = abi_device(*opened);
  const DeviceInfo& info = opened->info();
  return {opened, abi, info.platform, info.driver};
}

AbiCase::AbiCase(const Parameters& parameters) {
  for (const auto& [axis, value] : parameters.values()) values_.push_back(abi_value(axis, value));
  abi_ = {values_.data(), values_.size()};
}

}  // namespace peakmark
