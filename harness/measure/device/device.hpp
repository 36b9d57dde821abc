#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.hpp"
#include "base/shape.hpp"
#include "base/size.hpp"
#include "peakmark/worker/kernel.hpp"

namespace peakmark {

/// Keeps programs that a library compiles for a device at run time, so that none is compiled twice. A program
/// is an object of the driver or a text, and holds no device memory. Not thread-safe.
class CompiledPrograms {
 public:
  /// Beyond this number the oldest program is dropped: a text has about 100 KB.
  static constexpr std::size_t kMax = 256;

  /// Returns the shared_ptr<void> that the first `compile()` for this text returned; null is not kept.
  template <typename Compile>
  std::shared_ptr<void> get(const std::string& text, Compile&& compile) {
    const auto found = std::ranges::find(programs_, text, &Program::first);
    if (found != programs_.end()) return found->second;
    std::shared_ptr<void> program = compile();
    ++compilations_;
    if (!program) return program;
    if (programs_.size() == kMax) programs_.pop_front();
    programs_.emplace_back(text, program);
    return program;
  }

  /// Returns how often `get` called `compile`.
  [[nodiscard]] std::size_t compilations() const { return compilations_; }

 private:
  using Program = std::pair<std::string, std::shared_ptr<void>>;
  std::deque<Program> programs_;
  std::size_t compilations_ = 0;
};

// Guards: bytes of a known pattern before and after an array. A kernel that writes outside of the array
// changes them. The functions here know the pattern and the message; Device allocates, fills and reads.

/// The bytes of each of the two guards. A multiple of the alignment that sub-buffers need on any device
/// (CL_DEVICE_MEM_BASE_ADDR_ALIGN is at most 4096 bytes).
inline constexpr Size kGuardBytes = 4096;

/// Which of two patterns a guard has. They differ in every bit, so no write leaves both unchanged.
enum class GuardFill : bool { plain, inverted };

/// An array with guards.
struct GuardedArray {
  std::string name;
  Size number = 0;  ///< from 1, in the order in which the arrays were created
  Size bytes = 0;
  GuardFill fill{};
};

/// Returns the bytes of both guards of an array, first those before it. They are random, so a constant
/// changes them, and differ from array to array, so that a kernel that copies one element too many changes
/// them.
std::vector<std::byte> guard_pattern(const GuardedArray& array);

/// Returns `array 'tmp' (number 3, 16 KiB): bytes 0 to 3 after its end were overwritten`; null if both guards
/// have the pattern.
std::optional<std::string> overwritten_text(const GuardedArray& array, std::span<const std::byte> before,
                                            std::span<const std::byte> after);

class EventSource;

enum class Backend : std::uint8_t { opencl, cuda, dry };
std::string_view to_string(Backend backend);
/// Throws UsageError that lists the backends.
Backend parse_backend(std::string_view name);

/// The properties of a device. Unknown is null, never 0.
struct DeviceInfo {
  Backend backend{};
  int index = 0;  ///< among the devices of its backend
  std::string name;
  std::string vendor;
  std::string platform;  ///< OpenCL platform; "CUDA"; "dry"
  std::string driver;
  std::string version;  ///< OpenCL C or compute capability
  std::string pci;      ///< `0000:3b:00`: domain, bus and device in hex; empty if unknown
  bool is_cpu = false;  ///< kernels then use one work-item per row instead of per element
  bool has_f64 = false;
  Size compute_units = 0;
  std::optional<Size> memory_bytes;
  std::optional<Size> max_allocation_bytes;
  std::optional<Size> cache_bytes;  ///< last level: the L2 of a GPU
};

/// The memory of the whole device at this moment, used by all processes; null if the driver does not report
/// it.
struct DeviceMemory {
  std::optional<Size> used_bytes;
  std::optional<Size> free_bytes;
};

/// Memory on a device. The destructor releases it.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] virtual Size bytes() const = 0;
  /// The vendor's handle: cl_mem, CUdeviceptr, or a number in the allocation log of `dry`.
  [[nodiscard]] virtual std::uint64_t handle() const = 0;

 protected:
  Buffer() = default;
};

struct GuardedMemory;

namespace backend {

/// A typed n-d array on a device, in C order, contiguous. Movable, not copyable: a copy would cost memory.
class Array {
 public:
  Array() = default;
  /// `guarded`: the memory that contains `buffer` between its guards; null without guards.
  Array(std::unique_ptr<Buffer> buffer, Shape shape, DType dtype,
        std::shared_ptr<GuardedMemory> guarded = nullptr)
      : guarded_(std::move(guarded)), buffer_(std::move(buffer)), shape_(std::move(shape)), dtype_(dtype) {}

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] Size bytes() const { return shape_.bytes(dtype_); }
  [[nodiscard]] Buffer& buffer() const { return *buffer_; }
  [[nodiscard]] explicit operator bool() const { return buffer_ != nullptr; }
  /// Releases the memory now.
  void reset() {
    buffer_.reset();
    guarded_.reset();
  }
  [[nodiscard]] const std::shared_ptr<GuardedMemory>& guarded() const { return guarded_; }

 private:
  std::shared_ptr<GuardedMemory> guarded_;  // declared first, since it outlives the buffer in it
  std::unique_ptr<Buffer> buffer_;
  Shape shape_;
  DType dtype_ = DType::f32;
};

}  // namespace backend

/// The memory of an array with guards around it.
struct GuardedMemory {
  GuardedArray array;
  backend::Array whole;  ///< bytes: a guard, the array, a guard
  bool is_reported = false;
};

/// A point in the device's queue, timed by the device.
class TimePoint {
 public:
  virtual ~TimePoint() = default;
};

namespace backend {

/// Generates host data in pieces, so that an input may be larger than host memory; on `dry` it is not called.
/// Fills `piece`, whose first element is element `first` of the array in C order.
template <typename T>
using Generator = std::function<void(std::span<T> piece, Size first)>;

/// A compiled kernel. Cheap to copy; valid as long as its device.
class Kernel {
 public:
  Kernel() = default;
  explicit Kernel(void* implementation) : implementation_(implementation) {}
  [[nodiscard]] void* implementation() const { return implementation_; }

 private:
  void* implementation_ = nullptr;
};

/// An argument of a kernel. Integers keep their width: `Size` is `pm_long` in device code.
using Argument =
    std::variant<const Array*, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>;

/// One device with one in-order queue. `finish`, `release`, `pull`, `push`, `write` and `elapsed_ns` wait;
/// the others only enqueue. Throws OutOfMemoryError if the device has too little memory, UnsupportedError if
/// it lacks a feature, Error otherwise.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;
  [[nodiscard]] virtual DeviceMemory memory() const = 0;

  /// Returns an array of zeros; reports show it as `name`. An array of 0 elements has no buffer, and a kernel
  /// gets a null pointer for it.
  Array create(std::string_view name, const Shape& shape, DType dtype);
  /// Returns an array with undefined contents.
  Array create_uninitialised(std::string_view name, const Shape& shape, DType dtype);
  /// Returns an array with the host's data. T must be exactly its element type. Throws UsageError if the
  /// shape has another number of elements.
  template <typename T>
  Array push(std::string_view name, const Shape& shape, std::span<const T> data) {
    Array array = create_uninitialised(name, shape, dtype_of<T>);
    write<T>(array, data);
    return array;
  }
  template <typename T>
  Array push(std::string_view name, const Shape& shape, const Generator<T>& generator) {
    Array array = create_uninitialised(name, shape, dtype_of<T>);
    write<T>(array, generator);
    return array;
  }
  /// Copies host data into an existing array. Throws UsageError if the dtype differs: dtypes are never
  /// converted.
  template <typename T>
  void write(Array& array, std::span<const T> data) {
    check(array, dtype_of<T>, static_cast<Size>(data.size()));
    write_bytes(array, 0, std::as_bytes(data));
  }
  template <typename T>
  void write(Array& array, const Generator<T>& generator) {
    check(array, dtype_of<T>, array.shape().elements());
    write_generated(array, [&](std::span<std::byte> piece, Size first) {
      generator({reinterpret_cast<T*>(piece.data()), piece.size() / sizeof(T)}, first);
    });
  }
  /// Copies an array to the host. Throws UsageError if the dtype differs, UnsupportedError on `dry`, which
  /// has no data.
  template <typename T>
  std::vector<T> pull(const Array& array) {
    check(array, dtype_of<T>, array.shape().elements());
    check_holds_data();
    std::vector<T> data(static_cast<std::size_t>(array.shape().elements()));
    read_bytes(array, 0, std::as_writable_bytes(std::span(data)));
    return data;
  }
  /// Copies elements [first, first + data.size()) in C order to the host.
  template <typename T>
  void pull_part(const Array& array, Size first, std::span<T> data) {
    check(array, dtype_of<T>, array.shape().elements());
    read_bytes(array, checked_multiply(first, size_of(array.dtype())), std::as_writable_bytes(data));
  }

  /// Sets every element. Throws UsageError if the dtype cannot hold the value exactly. A double is never
  /// silently rounded: to store the nearest float, convert it first.
  void fill(Array& array, double value);
  /// Sets elements [first, first + count).
  virtual void fill_part(Array& array, Size first, Size count, double value) = 0;
  /// Copies `bytes` between two arrays. Throws UsageError if they are the same memory.
  virtual void copy(const Array& from, Size from_offset_bytes, Array& to, Size to_offset_bytes,
                    Size bytes) = 0;

  /// Returns the kernel `name` of `source` for elements of `dtype` (`pm_element` in device code). Compiles it
  /// once.
  virtual Kernel kernel(const KernelSource& source, std::string_view name, DType dtype) = 0;
  virtual void launch(const Kernel& kernel, const Range& range, std::span<const Argument> arguments) = 0;
  void launch(const Kernel& kernel, const Range& range, std::initializer_list<Argument> arguments) {
    launch(kernel, range, std::span<const Argument>(arguments.begin(), arguments.size()));
  }

  /// Waits until all enqueued work is done. Throws asynchronous errors of the device.
  virtual void finish() = 0;
  /// Releases an array's memory before it returns, as a blocking free does: waits for the queue, and until
  /// the driver has destroyed the memory and the event source, if there is one, has the event. After a
  /// destructor the driver chooses the time of the release, so the peak could vary.
  void release(Array& array);

  /// Puts guards around the arrays that are created from now on, and numbers these from 1. The recorder does
  /// not count the guards. Does nothing on `dry`, whose arrays nobody writes.
  void begin_guards(GuardFill fill);
  /// Returns the handles of the allocations with guards since begin_guards().
  [[nodiscard]] const std::vector<std::uint64_t>& guarded_allocations() const { return guarded_allocations_; }
  /// Reads the guards of the live arrays. Returns a text for each array whose guards were overwritten since
  /// the last call, including arrays that release() has released meanwhile. Call it after finish().
  std::vector<std::string> overwritten_guards();
  /// Returns a marker of the current point in the queue.
  virtual std::unique_ptr<TimePoint> time_point() = 0;
  /// Returns the device's nanoseconds between two points; null if the device measures no time.
  virtual std::optional<std::int64_t> elapsed_ns(const TimePoint& from, const TimePoint& to) = 0;

  /// Sets the name in reports of an allocation that is not an Array: a cl_mem, a device or SVM pointer.
  void name_allocation(std::uint64_t address, std::string_view name);

  /// Sets where the names of allocations are recorded; null: nowhere. Not owned.
  void set_event_source(EventSource* events) { events_ = events; }

  /// True for `dry`, which computes nothing and has no data.
  [[nodiscard]] bool is_dry() const { return info().backend == Backend::dry; }

  /// Returns the programs that libraries compiled for this device at run time. They are kept until the device
  /// is closed.
  [[nodiscard]] CompiledPrograms& library_programs() { return library_programs_; }

  /// The vendor's objects, for code that allocates without Array. OpenCL: {cl_context, cl_command_queue,
  /// cl_device_id}; CUDA: {nullptr, cudaStream_t, nullptr}.
  struct Native {
    void* context = nullptr;
    void* queue = nullptr;
    void* device = nullptr;
  };
  [[nodiscard]] virtual Native native() const { return {}; }

 protected:
  /// Null: nothing is recorded.
  [[nodiscard]] EventSource* event_source() const { return events_; }
  virtual std::unique_ptr<Buffer> allocate(Size bytes) = 0;
  /// Returns a part of `whole`, which outlives it. Guards need it.
  virtual std::unique_ptr<Buffer> part(const Array& whole, Size offset_bytes, Size bytes);
  /// Releases the memory of an array that no enqueued work uses, as release() does.
  virtual void release_idle(Array& array) { array.reset(); }
  virtual void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) = 0;
  virtual void read_bytes(const Array& array, Size offset_bytes, std::span<std::byte> data) = 0;
  /// Writes pieces of 64 MiB through write_bytes. `dry` does nothing.
  virtual void write_generated(Array& array, const std::function<void(std::span<std::byte>, Size)>& generate);

 private:
  static void check(const Array& array, DType dtype, Size elements);
  /// Throws before the host allocates memory for a pull, which may be more than the host has.
  void check_holds_data() const;
  Array allocate_guarded(std::string_view name, const Shape& shape, DType dtype);
  void check_guards(GuardedMemory& memory);
  EventSource* events_ = nullptr;
  std::optional<GuardFill> guards_;
  std::vector<std::uint64_t> guarded_allocations_;
  std::vector<std::weak_ptr<GuardedMemory>> guarded_;
  std::vector<std::string> overwritten_;
  CompiledPrograms library_programs_;
};

}  // namespace backend

/// Selects a device by its index within its backend, or by a part of its name (case-insensitive). Digits
/// alone are always an index.
struct DeviceChoice {
  /// Null: CUDA if it has a device (with that name, if given), else OpenCL; never `dry`.
  std::optional<Backend> backend;
  std::string device;  ///< empty: the first GPU, else the first device
};

/// All devices of all compiled backends; `dry` is last. A backend without a loader or driver on this machine
/// has no device, but a reason in `reasons`.
struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::vector<std::string> reasons;
};
/// Lists the devices. Threads that a driver starts block all signals; otherwise this process would miss
/// signals that it waits for.
DeviceList list_devices();

/// Throws DeviceError with the list of devices if no device matches, or a part of a name matches several.
DeviceInfo choose_device(const DeviceChoice& choice, const DeviceList& list);
/// Opens a device. `is_cpu` may differ from the list, to run the kernels for the other kind of device.
/// Threads that its driver starts block all signals.
std::unique_ptr<backend::Device> open_device(const DeviceInfo& info);

}  // namespace peakmark
