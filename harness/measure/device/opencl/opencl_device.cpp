#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>

#include "base/error.hpp"
#include "measure/device/backend.hpp"
#include "measure/device/opencl/opencl_api.hpp"
#include "measure/device/opencl/opencl_devices.hpp"
#include "measure/device/opencl/program_cache.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

using backend::Argument;
using backend::Array;
using backend::Device;
using backend::Kernel;
namespace {

/// Set by a thread of the driver when it destroys a memory object.
using Destroyed = std::shared_ptr<std::atomic<bool>>;

void CL_CALLBACK on_destroyed(cl_mem /*memory*/, void* data) {
  const std::unique_ptr<Destroyed> destroyed(static_cast<Destroyed*>(data));
  **destroyed = true;
}

/// Returns null if the driver does not report when it destroys the object, as those of OpenCL 1.0.
Destroyed watch_destruction(cl_mem memory) {
  auto destroyed = std::make_unique<Destroyed>(std::make_shared<std::atomic<bool>>(false));
  Destroyed result = *destroyed;
  if (opencl().clSetMemObjectDestructorCallback(memory, on_destroyed, destroyed.get()) != CL_SUCCESS)
    return nullptr;
  destroyed.release();  // NOLINT(bugprone-unused-return-value): on_destroyed() owns it
  return result;
}

class OpenClBuffer final : public Buffer {
 public:
  /// `destroyed`: null if nobody waits for the destruction.
  OpenClBuffer(MemoryHandle memory, Size bytes, Destroyed destroyed)
      : memory_(std::move(memory)), bytes_(bytes), destroyed_(std::move(destroyed)) {}
  [[nodiscard]] const Destroyed& destroyed() const { return destroyed_; }
  [[nodiscard]] Size bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t handle() const override {
    return reinterpret_cast<std::uintptr_t>(memory_.get());
  }
  [[nodiscard]] cl_mem memory() const { return memory_.get(); }

 private:
  MemoryHandle memory_;
  Size bytes_;
  Destroyed destroyed_;
};

cl_mem memory_handle(const Array& array) {
  return array ? static_cast<OpenClBuffer&>(array.buffer()).memory() : nullptr;
}

class OpenClTimePoint final : public TimePoint {
 public:
  explicit OpenClTimePoint(EventHandle event) : event_(std::move(event)) {}
  [[nodiscard]] cl_event event() const { return event_.get(); }

 private:
  EventHandle event_;
};

std::string_view describe(ParameterType type) {
  constexpr std::array<std::string_view, 8> kTexts{"memory",
                                                   "a 32-bit integer",
                                                   "a 64-bit integer",
                                                   "an unsigned 32-bit integer",
                                                   "an unsigned 64-bit integer",
                                                   "a float",
                                                   "a double",
                                                   "unknown"};
  return kTexts.at(static_cast<std::size_t>(type));
}

template <typename T>
constexpr ParameterType parameter_type() {
  if constexpr (std::is_same_v<T, std::int32_t>) return ParameterType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return ParameterType::i64;
  if constexpr (std::is_same_v<T, std::uint32_t>) return ParameterType::u32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return ParameterType::u64;
  if constexpr (std::is_same_v<T, float>) return ParameterType::f32;
  if constexpr (std::is_same_v<T, double>) return ParameterType::f64;
  return ParameterType::memory;
}

class OpenClDevice final : public Device {
 public:
  explicit OpenClDevice(OpenClDeviceEntry entry)
      : entry_(std::move(entry)),
        context_(make_context()),
        queue_(make_queue()),
        programs_(context_.get(), entry_.device, entry_.info) {}
  ~OpenClDevice() override {
    // Commands may still use these objects. An error can no longer be reported.
    opencl().clFinish(queue_.get());
  }

  [[nodiscard]] const DeviceInfo& info() const override { return entry_.info; }
  [[nodiscard]] Native native() const override { return {context_.get(), queue_.get(), entry_.device}; }
  [[nodiscard]] DeviceMemory memory() const override {
    DeviceMemory memory;
    memory.free_bytes = opencl_free_memory(entry_.device);
    if (memory.free_bytes && entry_.info.memory_bytes) {
      memory.used_bytes = *entry_.info.memory_bytes - *memory.free_bytes;
    }
    return memory;
  }

  void fill_part(Array& array, Size first, Size count, double value) override {
    const ByteRange range = elements_inside(array, first, count);
    const Element element = element_of(value, array.dtype());
    if (range.bytes == 0) return;
    check_opencl(opencl().clEnqueueFillBuffer(queue_.get(), memory_handle(array), element.bytes.data(),
                                              static_cast<std::size_t>(element.size),
                                              static_cast<std::size_t>(range.offset),
                                              static_cast<std::size_t>(range.bytes), 0, nullptr, nullptr),
                 "clEnqueueFillBuffer");
  }

  void copy(const Array& from, Size from_offset_bytes, Array& to, Size to_offset_bytes, Size bytes) override {
    check_copy(from, from_offset_bytes, to, to_offset_bytes, bytes);
    if (bytes == 0) return;
    check_opencl(opencl().clEnqueueCopyBuffer(queue_.get(), memory_handle(from), memory_handle(to),
                                              static_cast<std::size_t>(from_offset_bytes),
                                              static_cast<std::size_t>(to_offset_bytes),
                                              static_cast<std::size_t>(bytes), 0, nullptr, nullptr),
                 "clEnqueueCopyBuffer");
  }

  Kernel kernel(const KernelSource& source, std::string_view name, DType dtype) override {
    return Kernel{&programs_.kernel(source, name, dtype)};
  }

  void launch(const Kernel& kernel, const Range& range, std::span<const Argument> arguments) override {
    if (kernel.implementation() == nullptr) throw UsageError("launch without a kernel");
    const auto& compiled = *static_cast<const OpenClKernel*>(kernel.implementation());
    const LaunchGeometry geometry =
        launch_geometry(range, entry_.info, static_cast<Size>(compiled.max_work_group));
    if (arguments.size() != compiled.parameters.size()) {
      throw UsageError(fmt::format("wrong number of arguments: {} takes {}, not {}", compiled.name,
                                   compiled.parameters.size(), arguments.size()));
    }
    cl_uint index = 0;
    for (const Argument& argument : arguments) set_argument(compiled, index++, argument);
    if (geometry.empty()) return;
    const auto sizes = [](const std::array<Size, 3>& from) {
      return std::array<std::size_t, 3>{static_cast<std::size_t>(from[0]), static_cast<std::size_t>(from[1]),
                                        static_cast<std::size_t>(from[2])};
    };
    const auto global = sizes(geometry.global);
    const auto local = sizes(geometry.local);
    check_opencl(opencl().clEnqueueNDRangeKernel(queue_.get(), compiled.kernel.get(), 3, nullptr,
                                                 global.data(), local.data(), 0, nullptr, nullptr),
                 "clEnqueueNDRangeKernel", compiled.name);
  }

  void finish() override { check_opencl(opencl().clFinish(queue_.get()), "clFinish"); }

  // A driver destroys memory some time after the commands that used it have finished, PoCL 7 even later than
  // it counts their references: without the wait, two generations of a temporary are live at the same time.
  // The event of the release is awaited too, because the driver calls the recorder after on_destroyed(). The
  // wait is limited, since the program may hold further references.
  void release_idle(Array& array) override {
    if (!array) return;
    const auto& buffer = static_cast<OpenClBuffer&>(array.buffer());
    const Destroyed destroyed = buffer.destroyed();
    const std::uint64_t handle = buffer.handle();
    const std::uint64_t first_event = event_source() == nullptr ? 0 : event_source()->count();
    array.reset();
    if (!destroyed) return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (!(*destroyed && is_release_recorded(handle, first_event)) &&
           std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
  }

  std::unique_ptr<TimePoint> time_point() override {
    cl_event event = nullptr;
    check_opencl(opencl().clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event),
                 "clEnqueueMarkerWithWaitList");
    return std::make_unique<OpenClTimePoint>(EventHandle(event));
  }

  std::optional<std::int64_t> elapsed_ns(const TimePoint& from, const TimePoint& to) override {
    return end_ns(to) - end_ns(from);
  }

 protected:
  std::unique_ptr<Buffer> allocate(Size bytes) override {
    cl_int code = CL_SUCCESS;
    MemoryHandle memory(opencl().clCreateBuffer(context_.get(), CL_MEM_READ_WRITE,
                                                static_cast<std::size_t>(bytes), nullptr, &code));
    if (code != CL_SUCCESS) {
      check_opencl(code, "clCreateBuffer",
                   fmt::format("{} bytes on {}, whose maximum buffer size is {} bytes", bytes,
                               entry_.info.name, entry_.info.max_allocation_bytes.value_or(0)));
    }
    Destroyed destroyed = watch_destruction(memory.get());
    return std::make_unique<OpenClBuffer>(std::move(memory), bytes, std::move(destroyed));
  }

  // A part is not awaited: the driver destroys it before the memory that it is a part of.
  std::unique_ptr<Buffer> part(const Array& whole, Size offset_bytes, Size bytes) override {
    const cl_buffer_region region{static_cast<std::size_t>(offset_bytes), static_cast<std::size_t>(bytes)};
    cl_int code = CL_SUCCESS;
    MemoryHandle memory(opencl().clCreateSubBuffer(memory_handle(whole), CL_MEM_READ_WRITE,
                                                   CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
    check_opencl(code, "clCreateSubBuffer", fmt::format("{} bytes at {}", bytes, offset_bytes));
    return std::make_unique<OpenClBuffer>(std::move(memory), bytes, nullptr);
  }

  void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) override {
    check_inside(array, offset_bytes, static_cast<Size>(data.size()));
    if (data.empty()) return;
    check_opencl(opencl().clEnqueueWriteBuffer(queue_.get(), memory_handle(array), CL_TRUE,
                                               static_cast<std::size_t>(offset_bytes), data.size(),
                                               data.data(), 0, nullptr, nullptr),
                 "clEnqueueWriteBuffer");
  }

  void read_bytes(const Array& array, Size offset_bytes, std::span<std::byte> data) override {
    check_inside(array, offset_bytes, static_cast<Size>(data.size()));
    if (data.empty()) return;
    check_opencl(opencl().clEnqueueReadBuffer(queue_.get(), memory_handle(array), CL_TRUE,
                                              static_cast<std::size_t>(offset_bytes), data.size(),
                                              data.data(), 0, nullptr, nullptr),
                 "clEnqueueReadBuffer");
  }

 private:
  ContextHandle make_context() const {
    cl_int code = CL_SUCCESS;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(entry_.platform), 0};
    ContextHandle context(opencl().clCreateContext(properties, 1, &entry_.device, nullptr, nullptr, &code));
    check_opencl(code, "clCreateContext", entry_.info.name);
    return context;
  }

  QueueHandle make_queue() const {
    cl_int code = CL_SUCCESS;
    QueueHandle queue(
        opencl().clCreateCommandQueue(context_.get(), entry_.device, CL_QUEUE_PROFILING_ENABLE, &code));
    check_opencl(code, "clCreateCommandQueue", entry_.info.name);
    return queue;
  }

  [[nodiscard]] bool is_release_recorded(std::uint64_t handle, std::uint64_t first_event) const {
    if (event_source() == nullptr) return true;
    const std::vector<Event> recorded = event_source()->events(first_event);
    return std::ranges::any_of(recorded, [handle](const Event& event) {
      return event.type == EventType::release && event.address == handle;
    });
  }

  // Not all drivers compare the width of an argument with that of the parameter: PoCL accepts 4 bytes for a
  // long and reads 8. They are compared here if the compiler reports the types.
  static void set_argument(const OpenClKernel& compiled, cl_uint index, const Argument& argument) {
    const ParameterType expected = compiled.parameters[index];
    std::visit(
        [&]<typename T>(const T& value) {
          constexpr ParameterType given = parameter_type<T>();
          const bool unknown = expected == ParameterType::unknown && given != ParameterType::memory;
          if (!unknown && given != expected) {
            throw UsageError(fmt::format("wrong type of argument {} of {}: {}; the kernel expects {}", index,
                                         compiled.name, describe(given), describe(expected)));
          }
          cl_int code = CL_SUCCESS;
          if constexpr (given == ParameterType::memory) {
            const cl_mem memory = value != nullptr ? memory_handle(*value) : nullptr;
            code = opencl().clSetKernelArg(compiled.kernel.get(), index, sizeof(cl_mem), &memory);
          } else {
            code = opencl().clSetKernelArg(compiled.kernel.get(), index, sizeof(T), &value);
          }
          check_opencl(code, "clSetKernelArg", fmt::format("argument {} of {}", index, compiled.name));
        },
        argument);
  }

  // A marker in an in-order queue ends when all earlier commands have ended, and runs nothing itself. On PoCL
  // its end is within 10 to 30 us of the neighbouring commands' times, and in order with them (measured).
  static std::int64_t end_ns(const TimePoint& point) {
    const cl_event event = static_cast<const OpenClTimePoint&>(point).event();
    check_opencl(opencl().clWaitForEvents(1, &event), "clWaitForEvents");
    cl_ulong end = 0;
    check_opencl(
        opencl().clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr),
        "clGetEventProfilingInfo");
    return static_cast<std::int64_t>(end);
  }

  OpenClDeviceEntry entry_;
  ContextHandle context_;
  QueueHandle queue_;
  ProgramCache programs_;
};

}  // namespace

std::unique_ptr<Device> open_opencl(const DeviceInfo& info) {
  std::vector<OpenClDeviceEntry> entries = opencl_devices().entries;
  const auto index = static_cast<std::size_t>(info.index);
  if (info.index < 0 || index >= entries.size() || entries[index].info.name != info.name) {
    throw DeviceError(fmt::format("device not found any more: opencl {}, {}", info.index, info.name));
  }
  choose_pocl_method(entries[index].info);
  entries[index].info.is_cpu = info.is_cpu;  // the caller's choice: a CPU can also run the kernels for GPUs
  return std::make_unique<OpenClDevice>(std::move(entries[index]));
}

}  // namespace peakmark
