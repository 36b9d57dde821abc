/// The device of a case: its arrays, its kernels and its queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "peakmark/worker/abi_calls.hpp"
#include "peakmark/worker/case.hpp"
#include "peakmark/worker/kernel.hpp"
#include "peakmark/worker_abi.h"

// Declared as in the vendors' headers, so that handles have their types without these headers.
struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;
struct CUstream_st;

namespace peakmark {
inline namespace api_1 {

/// Fills `piece`, whose first element is element `first` of the array in C order.
template <typename T>
using Generator = std::function<void(std::span<T> piece, Size first)>;

/// An array on the device, in C order, whose element type is chosen at run time. Array<T> is the same for a
/// type known at compile time. The destructor waits for the queue and releases the memory, as cudaFree does:
/// otherwise the driver would decide when the memory is free, and the peak would vary. You may allocate
/// memory without this class; peakmark counts it in the same way.
class DeviceArray {
 public:
  /// An array that has not been created: move one that Device::create returns into it.
  DeviceArray() = default;
  // For the library.
  DeviceArray(const peakmark_device* device, void* array, std::vector<Size> extents, std::string_view dtype)
      : device_(device), array_(array), extents_(std::move(extents)), dtype_(dtype) {}
  DeviceArray(DeviceArray&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        array_(std::exchange(other.array_, nullptr)),
        extents_(std::move(other.extents_)),
        dtype_(std::move(other.dtype_)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    if (this == &other) return *this;
    reset();
    device_ = std::exchange(other.device_, nullptr);
    array_ = std::exchange(other.array_, nullptr);
    extents_ = std::move(other.extents_);
    dtype_ = std::move(other.dtype_);
    return *this;
  }
  ~DeviceArray() { reset(); }

  /// Returns whether the array exists: created, and not reset since.
  [[nodiscard]] explicit operator bool() const { return array_ != nullptr; }
  /// Returns the elements along each dimension, slowest first.
  [[nodiscard]] const std::vector<Size>& extents() const { return extents_; }
  /// Returns numpy's short name of the element type: `f32`.
  [[nodiscard]] std::string_view dtype() const { return dtype_; }
  /// Returns the bytes on the device; 0 if it has not been created.
  [[nodiscard]] Size bytes() const { return array_ == nullptr ? 0 : device_->bytes(device_->self, array_); }
  /// Returns the number of elements; 0 if it has not been created.
  [[nodiscard]] Size elements() const {
    if (array_ == nullptr) return 0;
    Size count = 1;
    for (const Size extent : extents_) count *= extent;
    return count;
  }
  /// Returns the cl_mem; null on other backends, and of an array of no elements.
  [[nodiscard]] _cl_mem* opencl() const {
    return is_on("opencl") ? reinterpret_cast<_cl_mem*>(handle()) : nullptr;
  }
  /// Returns the device pointer; null on other backends, and of an array of no elements.
  [[nodiscard]] void* cuda() const { return is_on("cuda") ? reinterpret_cast<void*>(handle()) : nullptr; }
  /// Returns the handle as a number on every backend: a cl_mem, a device pointer, or on `dry` a number that
  /// is unique to the array. Returns 0 for an array without elements, or one that has not been created.
  [[nodiscard]] std::uintptr_t handle() const {
    return array_ == nullptr ? 0 : static_cast<std::uintptr_t>(device_->handle(device_->self, array_));
  }

  /// Copies all elements from the host. Throws std::invalid_argument if T is not the element type, or the
  /// number of elements differs.
  template <typename T>
  void write(std::span<const T> from) {
    check_type<T>();
    call([&](peakmark_failure* failure) {
      device_->write(device_->self, array_, from.data(), static_cast<Size>(from.size_bytes()), failure);
    });
  }
  /// Copies all elements from the host. `generator` makes them in pieces of at most 64 MiB, so that the host
  /// holds only one piece. Does nothing on `dry`. Throws as `write` does.
  template <typename T>
  void write(const Generator<T>& generator) {
    check_type<T>();
    call([&](peakmark_failure* failure) {
      device_->write_generated(
          device_->self, array_,
          [](void* context, void* piece, std::int64_t bytes, std::int64_t first, peakmark_failure* wrong) {
            detail::guard(wrong, [&] {
              const std::span<T> elements(static_cast<T*>(piece),
                                          static_cast<std::size_t>(bytes) / sizeof(T));
              (*static_cast<const Generator<T>*>(context))(elements, first);
            });
          },
          const_cast<Generator<T>*>(&generator), failure);
    });
  }
  /// Waits for the queue and returns all elements. Throws std::invalid_argument if T is not the element type,
  /// Unsupported on `dry`, which holds no data.
  template <typename T>
  [[nodiscard]] std::vector<T> read() const {
    check_type<T>();
    if (array_ != nullptr && device_->backend == std::string_view("dry"))
      throw Unsupported("the dry backend computes nothing: there is no data to read");
    std::vector<T> to(static_cast<std::size_t>(elements()));
    call([&](peakmark_failure* failure) {
      device_->read(device_->self, array_, to.data(), bytes(), failure);
    });
    return to;
  }
  /// Waits for the queue and copies the elements [first, first + to.size()) to the host. Throws as `read`
  /// does.
  template <typename T>
  void read_part(Size first, std::span<T> to) const {
    check_type<T>();
    call([&](peakmark_failure* failure) {
      device_->read_part(device_->self, array_, first, to.data(), static_cast<Size>(to.size_bytes()),
                         failure);
    });
  }
  /// Sets every element. Throws std::invalid_argument if the element type does not hold `value` exactly.
  void fill(double value) {
    call([&](peakmark_failure* failure) { device_->fill(device_->self, array_, value, failure); });
  }
  /// Sets the elements [first, first + count). Throws as `fill` does, or if the array has no such elements.
  void fill_part(Size first, Size count, double value) {
    call([&](peakmark_failure* failure) {
      device_->fill_part(device_->self, array_, first, count, value, failure);
    });
  }
  /// Waits for the queue and releases the memory now.
  void reset() {
    if (array_ != nullptr) device_->release(device_->self, std::exchange(array_, nullptr));
  }

 private:
  friend class Argument;
  friend class Device;

  [[nodiscard]] bool is_on(std::string_view backend) const {
    return array_ != nullptr && backend == device_->backend;
  }
  template <typename T>
  void check_type() const {
    if (array_ != nullptr && dtype_ != detail::dtype_name<T>()) {
      throw std::invalid_argument("an array of " + dtype_ + " cannot be read or written as " +
                                  detail::dtype_name<T>() + "; element types are never converted");
    }
  }
  template <typename Function>
  void call(Function&& function) const {
    if (array_ == nullptr) throw std::invalid_argument("the array has not been created");
    detail::call(std::forward<Function>(function));
  }

  const peakmark_device* device_ = nullptr;
  void* array_ = nullptr;
  std::vector<Size> extents_;
  std::string dtype_;
};

/// An array of T on the device: float, double, or an integer of 8 to 64 bits.
template <typename T>
class Array : public DeviceArray {
 public:
  /// An array that has not been created: move one that Device::create returns into it.
  Array() = default;
  // For the library.
  explicit Array(DeviceArray array) : DeviceArray(std::move(array)) {}

  /// Returns the device pointer; null on other backends, and of an array of no elements.
  [[nodiscard]] T* cuda() const { return static_cast<T*>(DeviceArray::cuda()); }
  /// Copies all elements from the host. Throws std::invalid_argument if the number of elements differs.
  void write(std::span<const T> from) { DeviceArray::write<T>(from); }
  /// Copies all elements from the host as `generator` makes them, in pieces. Does nothing on `dry`.
  void write(const Generator<T>& generator) { DeviceArray::write<T>(generator); }
  /// Waits for the queue and returns all elements. Throws Unsupported on `dry`, which holds no data.
  [[nodiscard]] std::vector<T> read() const { return DeviceArray::read<T>(); }
};

/// A compiled kernel. Cheap to copy; valid as long as its device.
class Kernel {
 public:
  /// Holds no kernel: assign what Device::kernel returns.
  Kernel() = default;
  // For the library.
  explicit Kernel(void* kernel) : kernel_(kernel) {}

 private:
  friend class Device;
  void* kernel_ = nullptr;
};

/// An argument of a kernel: an array, or a number of exactly the parameter's type (Size for `pm_long`, float
/// or double for `pm_element`).
class Argument {
 public:
  // Converts an argument of a launch: `device.launch(kernel, range, {array, n, 2.0F})`.
  Argument(const DeviceArray& array) : argument_{PEAKMARK_ARRAY, {}} { argument_.value.array = array.array_; }
  Argument(std::int32_t value) : argument_{PEAKMARK_I32, {}} { argument_.value.i32 = value; }
  Argument(std::uint32_t value) : argument_{PEAKMARK_U32, {}} { argument_.value.u32 = value; }
  Argument(std::int64_t value) : argument_{PEAKMARK_I64, {}} { argument_.value.i64 = value; }
  Argument(std::uint64_t value) : argument_{PEAKMARK_U64, {}} { argument_.value.u64 = value; }
  Argument(float value) : argument_{PEAKMARK_F32, {}} { argument_.value.f32 = value; }
  Argument(double value) : argument_{PEAKMARK_F64, {}} { argument_.value.f64 = value; }

 private:
  friend class Device;
  peakmark_argument argument_;
};

/// The device of a case, with one in-order queue. Work on that queue is timed by the device's own clock. You
/// may use a queue or stream of your own if `call` waits for it before it returns. Functions throw
/// OutOfMemory if the device has too little memory, Unsupported if it cannot do something,
/// std::invalid_argument for arguments that are not valid, and std::runtime_error for other errors.
class Device {
 public:
  // For the library.
  explicit Device(const peakmark_device& abi) : abi_(abi) {}
  [[nodiscard]] const peakmark_device& abi() const { return abi_; }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Returns `opencl`, `cuda` or `dry`.
  [[nodiscard]] std::string_view backend() const { return abi_.backend; }
  /// Returns whether this is `dry`, which counts allocations and computes nothing.
  [[nodiscard]] bool is_dry() const { return backend() == "dry"; }
  /// Returns the name that run files use.
  [[nodiscard]] std::string_view name() const { return abi_.name; }
  /// Returns the index of the device among those of its backend; on CUDA, the device ordinal.
  [[nodiscard]] int index() const { return abi_.index; }
  /// Returns whether the device is a CPU. Kernels do more work in one work-item there.
  [[nodiscard]] bool is_cpu() const { return abi_.is_cpu != 0; }
  /// Returns whether kernels can compute with `double`.
  [[nodiscard]] bool has_f64() const { return abi_.has_f64 != 0; }
  /// Returns the number of cores or multiprocessors.
  [[nodiscard]] Size compute_units() const { return abi_.compute_units; }
  /// Returns the memory of the device in bytes, if known.
  [[nodiscard]] std::optional<Size> memory_bytes() const { return known(abi_.memory_bytes); }
  /// Returns the maximum size of one array in bytes, if known.
  [[nodiscard]] std::optional<Size> max_allocation_bytes() const { return known(abi_.max_allocation_bytes); }
  /// Returns the size of the last-level cache in bytes, if known.
  [[nodiscard]] std::optional<Size> cache_bytes() const { return known(abi_.cache_bytes); }

  /// Returns the cl_context; null on other backends. The device owns this handle and those below.
  [[nodiscard]] _cl_context* opencl_context() const { return of_opencl<_cl_context>(abi_.context); }
  /// Returns the cl_device_id; null on other backends.
  [[nodiscard]] _cl_device_id* opencl_device() const { return of_opencl<_cl_device_id>(abi_.device); }
  /// Returns the cl_command_queue, which is in-order; null on other backends.
  [[nodiscard]] _cl_command_queue* opencl_queue() const { return of_opencl<_cl_command_queue>(abi_.queue); }
  /// Returns the cudaStream_t; null on other backends. It does not synchronize with the default stream.
  [[nodiscard]] CUstream_st* cuda_stream() const {
    return backend() == "cuda" ? static_cast<CUstream_st*>(abi_.queue) : nullptr;
  }

  /// Returns an array of zeros. `name`: its name in reports. `extents`: elements along each dimension,
  /// slowest first.
  template <typename T>
  [[nodiscard]] Array<T> create(const std::string& name, const std::vector<Size>& extents) {
    return Array<T>(create(name, extents, detail::dtype_name<T>()));
  }
  /// Returns an array of zeros. `dtype`: numpy's short name of the element type, such as the value of an
  /// axis.
  [[nodiscard]] DeviceArray create(const std::string& name, const std::vector<Size>& extents,
                                   std::string_view dtype) {
    return make(abi_.create, name, extents, dtype);
  }
  /// Returns an array whose elements are not set: nothing is written to its memory.
  template <typename T>
  [[nodiscard]] Array<T> create_uninitialised(const std::string& name, const std::vector<Size>& extents) {
    return Array<T>(create_uninitialised(name, extents, detail::dtype_name<T>()));
  }
  /// Returns an array whose elements are not set.
  [[nodiscard]] DeviceArray create_uninitialised(const std::string& name, const std::vector<Size>& extents,
                                                 std::string_view dtype) {
    return make(abi_.create_uninitialised, name, extents, dtype);
  }
  /// Enqueues a copy of `bytes` from one array to another. Throws std::invalid_argument if both are the same
  /// array, or a range is not inside its array.
  void copy(const DeviceArray& from, Size from_offset_bytes, DeviceArray& to, Size to_offset_bytes,
            Size bytes) {
    detail::call([&](peakmark_failure* failure) {
      abi_.copy(abi_.self, from.array_, from_offset_bytes, to.array_, to_offset_bytes, bytes, failure);
    });
  }

  /// Returns the kernel `name` of `source`, with `pm_element` as `dtype`. Compiles each source once for each
  /// element type; call it in `set_up`. Throws Unsupported if the device cannot compute in `dtype` or the
  /// source has no CUDA image for it, and std::runtime_error with the compiler's messages if the source does
  /// not compile.
  [[nodiscard]] Kernel kernel(const KernelSource& source, const std::string& name, std::string_view dtype) {
    const std::string source_name(source.name);
    const std::string element(dtype);
    std::vector<std::string> names;
    for (const CudaImage& image : source.cuda_images) names.emplace_back(image.dtype);
    std::vector<peakmark_cuda_image> images;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::span<const std::byte> bytes = source.cuda_images[i].bytes;
      images.push_back({names[i].c_str(), bytes.data(), bytes.size()});
    }
    const peakmark_kernel_source abi_source{source_name.c_str(), source.text.data(), source.text.size(),
                                            images.data(), images.size()};
    return Kernel(detail::call([&](peakmark_failure* failure) {
      return abi_.kernel(abi_.self, &abi_source, name.c_str(), element.c_str(), failure);
    }));
  }
  /// Enqueues a kernel. Throws std::invalid_argument if the number of arguments is wrong, or a type, where
  /// the driver reports the types of the parameters.
  void launch(const Kernel& kernel, const Range& range, std::initializer_list<Argument> arguments) {
    static_assert(sizeof(Argument) == sizeof(peakmark_argument), "passed as an array of the C struct");
    const peakmark_range items{{range.x, range.y, range.z}, {range.local_x, range.local_y, range.local_z}};
    const peakmark_argument* const first = arguments.size() == 0 ? nullptr : &arguments.begin()->argument_;
    detail::call([&](peakmark_failure* failure) {
      abi_.launch(abi_.self, kernel.kernel_, &items, first, arguments.size(), failure);
    });
  }

  /// Waits until all work on the queue is done. Throws the errors of that work.
  void finish() {
    detail::call([&](peakmark_failure* failure) { abi_.finish(abi_.self, failure); });
  }
  /// Sets the name in reports of memory that you allocated yourself: a cl_mem, a device pointer or an SVM
  /// pointer.
  void name_allocation(const void* allocation, const std::string& name) {
    abi_.name_allocation(abi_.self, reinterpret_cast<std::uintptr_t>(allocation), name.c_str());
  }
  /// Returns the object that this device keeps under `key`, such as a program of a library that compiles at
  /// run time. The first call makes it with `make_object`, and throws what that throws; a null pointer is not
  /// kept. The device keeps the last 256 objects of all cases until it is closed.
  template <typename T>
  [[nodiscard]] std::shared_ptr<T> cached(const std::string& key,
                                          const std::function<std::shared_ptr<T>()>& make_object) {
    using Object = std::shared_ptr<T>;
    const auto make_one = [](void* context, peakmark_failure* failure) -> void* {
      void* object = nullptr;
      detail::guard(failure, [&] {
        Object made = (*static_cast<const std::function<Object()>*>(context))();
        if (made) object = new Object(std::move(made));
      });
      return object;
    };
    const auto destroy = [](void* object) { delete static_cast<Object*>(object); };
    const void* const object = detail::call([&](peakmark_failure* failure) {
      return abi_.cached(abi_.self, key.c_str(), make_one, const_cast<std::function<Object()>*>(&make_object),
                         destroy, failure);
    });
    return object == nullptr ? nullptr : *static_cast<const Object*>(object);
  }

 private:
  [[nodiscard]] static std::optional<Size> known(std::int64_t bytes) {
    return bytes < 0 ? std::nullopt : std::optional<Size>(bytes);
  }
  template <typename T>
  [[nodiscard]] T* of_opencl(void* handle) const {
    return backend() == "opencl" ? static_cast<T*>(handle) : nullptr;
  }
  template <typename Create>
  [[nodiscard]] DeviceArray make(Create create, const std::string& name, const std::vector<Size>& extents,
                                 std::string_view dtype) {
    const std::string element(dtype);
    void* const array = detail::call([&](peakmark_failure* failure) {
      return create(abi_.self, name.c_str(), element.c_str(), extents.data(), extents.size(), failure);
    });
    return {&abi_, array, extents, dtype};
  }

  peakmark_device abi_;
};

}  // namespace api_1
}  // namespace peakmark
