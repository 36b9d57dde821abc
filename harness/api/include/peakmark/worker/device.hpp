/// The device of a case, and the arrays that it offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peakmark/worker/abi_calls.hpp"
#include "peakmark/worker/case.hpp"
#include "peakmark/worker_abi.h"

// As the vendors' headers declare them, so that what is handed out has its type and none of them is needed
// here.
struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;
struct CUstream_st;

namespace peakmark {
inline namespace api_1 {

/// An array of the device, released when it dies. That waits for what was enqueued, as cudaFree does: else
/// its bytes would stay for as long as the driver pleases, and a peak with them. An offer: memory of your own
/// counts just the same.
template <typename T>
class Array {
 public:
  /// Without memory, until one that was created is moved into it.
  Array() = default;
  // For the library: Device::create makes arrays.
  Array(const peakmark_device* device, void* array) : device_(device), array_(array) {}
  Array(Array&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), array_(std::exchange(other.array_, nullptr)) {}
  Array& operator=(Array&& other) noexcept {
    if (this == &other) return *this;
    reset();
    device_ = std::exchange(other.device_, nullptr);
    array_ = std::exchange(other.array_, nullptr);
    return *this;
  }
  ~Array() { reset(); }

  /// What it takes on the device; 0 of one that has not been created.
  [[nodiscard]] Size bytes() const { return array_ == nullptr ? 0 : device_->bytes(device_->self, array_); }
  /// How many it has.
  [[nodiscard]] Size elements() const { return bytes() / Size{sizeof(T)}; }
  /// A cl_mem; null on other backends.
  [[nodiscard]] _cl_mem* opencl() const {
    return is_on("opencl") ? reinterpret_cast<_cl_mem*>(handle()) : nullptr;
  }
  /// A pointer of the device; null on other backends.
  [[nodiscard]] T* cuda() const { return is_on("cuda") ? reinterpret_cast<T*>(handle()) : nullptr; }

  /// From the host, all of it, in C order. Throws std::invalid_argument where the number of elements differs.
  void write(std::span<const T> from) {
    call([&](peakmark_failure* failure) {
      device_->write(device_->self, array_, from.data(), static_cast<Size>(from.size_bytes()), failure);
    });
  }
  /// To the host, all of it, in C order; waits for what was enqueued. Throws Unsupported on `dry`, which
  /// holds no data.
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> to(static_cast<std::size_t>(elements()));
    call([&](peakmark_failure* failure) {
      device_->read(device_->self, array_, to.data(), bytes(), failure);
    });
    return to;
  }
  /// Every element becomes `value`, which a double must hold exactly.
  void fill(T value) {
    call([&](peakmark_failure* failure) {
      device_->fill(device_->self, array_, static_cast<double>(value), failure);
    });
  }
  /// Releases the memory now, and waits for that.
  void reset() {
    if (array_ != nullptr) device_->release(device_->self, std::exchange(array_, nullptr));
  }

 private:
  [[nodiscard]] bool is_on(std::string_view backend) const {
    return array_ != nullptr && backend == device_->backend;
  }
  [[nodiscard]] std::uintptr_t handle() const {
    return static_cast<std::uintptr_t>(device_->handle(device_->self, array_));
  }
  template <typename Function>
  void call(Function&& function) const {
    if (array_ == nullptr) throw std::invalid_argument("the array has not been created");
    peakmark_failure failure{};
    function(&failure);
    detail::raise(failure);
  }

  const peakmark_device* device_ = nullptr;
  void* array_ = nullptr;
};

/// The device of a case, with one queue, in order. Work that you enqueue there is timed by the device's own
/// clock. Work on a queue or stream of your own is right too, if `call` waits for it before it returns.
class Device {
 public:
  // For the library.
  explicit Device(const peakmark_device& seam) : abi_(seam) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// `opencl`, `cuda` or `dry`.
  [[nodiscard]] std::string_view backend() const { return abi_.backend; }
  /// As run files call it.
  [[nodiscard]] std::string_view name() const { return abi_.name; }
  /// Its memory is the host's.
  [[nodiscard]] bool is_cpu() const { return abi_.is_cpu != 0; }

  /// A cl_context; null on other backends. Not yours to release, as all handles here.
  [[nodiscard]] _cl_context* opencl_context() const { return of_opencl<_cl_context>(abi_.context); }
  /// A cl_device_id; null on other backends.
  [[nodiscard]] _cl_device_id* opencl_device() const { return of_opencl<_cl_device_id>(abi_.device); }
  /// A cl_command_queue, in order; null on other backends.
  [[nodiscard]] _cl_command_queue* opencl_queue() const { return of_opencl<_cl_command_queue>(abi_.queue); }
  /// A cudaStream_t; null on other backends. It does not wait for the default stream.
  [[nodiscard]] CUstream_st* cuda_stream() const {
    return backend() == "cuda" ? static_cast<CUstream_st*>(abi_.queue) : nullptr;
  }

  /// Waits until everything that was enqueued on its queue is done. Throws what went wrong there.
  void finish() {
    peakmark_failure failure{};
    abi_.finish(abi_.self, &failure);
    detail::raise(failure);
  }
  /// What reports call an allocation of your own: a cl_mem, a pointer of the device or of SVM.
  void name_allocation(const void* allocation, const std::string& name) {
    abi_.name_allocation(abi_.self, reinterpret_cast<std::uintptr_t>(allocation), name.c_str());
  }
  /// An array of zeros, in C order, under the name that reports call it. T: float, double, or an integer of 8
  /// to 64 bits. `extents`: elements along each dimension, slowest first. Throws OutOfMemory where there is
  /// no room; std::invalid_argument where the bytes do not fit 64 bits.
  template <typename T>
  [[nodiscard]] Array<T> create(const std::string& name, const std::vector<Size>& extents) {
    peakmark_failure failure{};
    void* array = abi_.create(abi_.self, name.c_str(), detail::dtype_name<T>(), extents.data(),
                              extents.size(), &failure);
    detail::raise(failure);
    return Array<T>(&abi_, array);
  }

 private:
  template <typename T>
  [[nodiscard]] T* of_opencl(void* handle) const {
    return backend() == "opencl" ? static_cast<T*>(handle) : nullptr;
  }

  peakmark_device abi_;
};

}  // namespace api_1
}  // namespace peakmark
