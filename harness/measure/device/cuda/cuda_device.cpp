#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "fill_source.hpp"
#include "measure/device/backend.hpp"
#include "measure/device/cuda/cuda_backend.hpp"

namespace peakmark {

using backend::Argument;
using backend::Array;
using backend::Device;
using backend::Kernel;
namespace {

class CudaBuffer : public Buffer {
 public:
  CudaBuffer(int device, Size bytes) : device_(device), bytes_(bytes) {
    check_cuda(cudaMalloc(&pointer_, static_cast<std::size_t>(bytes)), "allocate " + format_size(bytes));
  }
  /// A part of other memory, which outlives it.
  CudaBuffer(int device, void* pointer, Size bytes)
      : device_(device), bytes_(bytes), pointer_(pointer), is_owned_(false) {}
  // An error here belongs to earlier work: `finish` reports it.
  ~CudaBuffer() override {
    if (!is_owned_) return;
    cudaSetDevice(device_);
    cudaFree(pointer_);
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  [[nodiscard]] Size bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t handle() const override { return reinterpret_cast<std::uint64_t>(pointer_); }
  [[nodiscard]] std::byte* at(Size offset) const { return static_cast<std::byte*>(pointer_) + offset; }

 private:
  int device_;
  Size bytes_;
  void* pointer_ = nullptr;
  bool is_owned_ = true;
};

class CudaTimePoint : public TimePoint {
 public:
  explicit CudaTimePoint(cudaStream_t stream) {
    check_cuda(cudaEventCreate(&event_), "create an event");
    const cudaError_t recorded = cudaEventRecord(event_, stream);
    if (recorded != cudaSuccess) cudaEventDestroy(event_);
    check_cuda(recorded, "record an event");
  }
  ~CudaTimePoint() override { cudaEventDestroy(event_); }
  CudaTimePoint(const CudaTimePoint&) = delete;
  CudaTimePoint& operator=(const CudaTimePoint&) = delete;
  [[nodiscard]] cudaEvent_t event() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Returns a driver function. It comes from the runtime, since nothing links libcuda.
template <typename Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  check_cuda(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
#else
  check_cuda(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found),
#endif
             fmt::format("find {} in the driver", name));
  if (function == nullptr) throw UnsupportedError(fmt::format("cuda: this driver lacks {}", name));
  return reinterpret_cast<Function>(function);
}
#define PEAKMARK_DRIVER(name) driver_function<decltype(&(name))>(#name)

void check_driver(CUresult result, std::string_view what) {
  // Driver and runtime use the same codes for every error that check_cuda distinguishes.
  check_cuda(static_cast<cudaError_t>(result), what);
}

/// The kernels of one device, loaded from their fatbins at their first use and kept as long as this object.
/// Uses functions of the driver, which CUDA 12.0 has; the runtime has equivalents only since 12.8.
class CudaKernels {
 public:
  CudaKernels() = default;
  ~CudaKernels();
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  /// Throws UnsupportedError if the source has no image of this dtype, UsageError if it has no such kernel.
  CUkernel get(const KernelSource& source, std::string_view name, DType dtype);

 private:
  CUlibrary library(const KernelSource& source, DType dtype);

  decltype(&cuLibraryLoadData) load_ = PEAKMARK_DRIVER(cuLibraryLoadData);
  decltype(&cuLibraryUnload) unload_ = PEAKMARK_DRIVER(cuLibraryUnload);
  decltype(&cuLibraryGetKernel) get_kernel_ = PEAKMARK_DRIVER(cuLibraryGetKernel);
  std::map<std::pair<std::string, DType>, CUlibrary> libraries_;
};

CudaKernels::~CudaKernels() {
  for (const auto& [key, library] : libraries_) unload_(library);
}

CUlibrary CudaKernels::library(const KernelSource& source, DType dtype) {
  const auto key = std::make_pair(std::string(source.text), dtype);
  if (const auto found = libraries_.find(key); found != libraries_.end()) return found->second;
  const auto image = std::ranges::find(source.cuda_images, to_string(dtype), &CudaImage::dtype);
  if (image == source.cuda_images.end()) {
    throw UnsupportedError(fmt::format("cuda: {} is not compiled for {}", source.name, to_string(dtype)));
  }
  CUlibrary library = nullptr;
  check_driver(load_(&library, image->bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
               fmt::format("load the kernels of {} for {}", source.name, to_string(dtype)));
  libraries_.emplace(key, library);
  return library;
}

CUkernel CudaKernels::get(const KernelSource& source, std::string_view name, DType dtype) {
  CUkernel kernel = nullptr;
  const CUresult result = get_kernel_(&kernel, library(source, dtype), std::string(name).c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    throw UsageError(fmt::format("cuda: {} has no kernel {}", source.name, name));
  }
  check_driver(result, fmt::format("find the kernel {} of {}", name, source.name));
  return kernel;
}

std::byte* at(const Array& array, Size offset) {
  return static_cast<const CudaBuffer&>(array.buffer()).at(offset);
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(DeviceInfo info) : info_(std::move(info)) {
    check_cuda(cudaSetDevice(info_.index), fmt::format("select device {}", info_.index));
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  }
  ~CudaDevice() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] DeviceMemory memory() const override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
      cudaGetLastError();
      return {};
    }
    return {.used_bytes = static_cast<Size>(total_bytes - free_bytes),
            .free_bytes = static_cast<Size>(free_bytes)};
  }

  void fill_part(Array& array, Size first, Size count, double value) override {
    const Element element = element_of(value, array.dtype());
    const ByteRange range = elements_inside(array, first, count);
    if (range.bytes == 0) return;
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), element.bytes.data(), element.bytes.size());
    const auto address = reinterpret_cast<CUdeviceptr>(at(array, range.offset));
    const auto elements = static_cast<std::size_t>(count);
    const std::string what = "fill " + format_size(range.bytes);
    switch (element.size) {
      case 1:
        return check_driver(memset8_(address, static_cast<unsigned char>(words[0]), elements, stream_), what);
      case 2:
        return check_driver(memset16_(address, static_cast<unsigned short>(words[0]), elements, stream_),
                            what);
      case 4:
        return check_driver(memset32_(address, static_cast<unsigned>(words[0]), elements, stream_), what);
      default:
        return fill_words(address, range.bytes / 8, words[0], words[element.size == 16 ? 1 : 0], what);
    }
  }

  void copy(const Array& from, Size from_offset_bytes, Array& to, Size to_offset_bytes, Size bytes) override {
    check_copy(from, from_offset_bytes, to, to_offset_bytes, bytes);
    if (bytes == 0) return;
    check_cuda(cudaMemcpyAsync(at(to, to_offset_bytes), at(from, from_offset_bytes),
                               static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream_),
               "copy " + format_size(bytes));
  }

  Kernel kernel(const KernelSource& source, std::string_view name, DType dtype) override {
    // Not cached, because the driver returns the same handle for the same kernel.
    return Kernel(kernels_.get(source, name, dtype));
  }

  void launch(const Kernel& kernel, const Range& range, std::span<const Argument> arguments) override {
    const auto shape = launch_shape(range, info_);
    if (!shape) return;
    std::vector<std::uint64_t> values(arguments.size());
    std::vector<void*> pointers(arguments.size());
    std::size_t i = 0;
    for (const Argument& argument : arguments) {
      std::visit([&](const auto& value) { store(value, values[i]); }, argument);
      pointers[i] = &values[i];
      ++i;
    }
    start(kernel.implementation(), *shape, pointers.data(), "launch a kernel");
  }

  void finish() override { check_cuda(cudaStreamSynchronize(stream_), "finish the work on the device"); }

  std::unique_ptr<TimePoint> time_point() override { return std::make_unique<CudaTimePoint>(stream_); }

  std::optional<std::int64_t> elapsed_ns(const TimePoint& from, const TimePoint& to) override {
    const cudaEvent_t start = static_cast<const CudaTimePoint&>(from).event();
    const cudaEvent_t end = static_cast<const CudaTimePoint&>(to).event();
    check_cuda(cudaEventSynchronize(end), "wait for an event");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start, end), "take the time between two events");
    return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  }

  [[nodiscard]] Native native() const override {
    return {.context = nullptr, .queue = stream_, .device = nullptr};
  }

 protected:
  std::unique_ptr<Buffer> allocate(Size bytes) override {
    return std::make_unique<CudaBuffer>(info_.index, bytes);
  }

  std::unique_ptr<Buffer> part(const Array& whole, Size offset_bytes, Size bytes) override {
    return std::make_unique<CudaBuffer>(info_.index, at(whole, offset_bytes), bytes);
  }

  void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) override {
    check_inside(array, offset_bytes, static_cast<Size>(data.size()));
    if (data.empty()) return;
    const std::string what = "write " + format_size(static_cast<Size>(data.size()));
    check_cuda(
        cudaMemcpyAsync(at(array, offset_bytes), data.data(), data.size(), cudaMemcpyHostToDevice, stream_),
        what);
    check_cuda(cudaStreamSynchronize(stream_), what);
  }

  void read_bytes(const Array& array, Size offset_bytes, std::span<std::byte> data) override {
    check_inside(array, offset_bytes, static_cast<Size>(data.size()));
    if (data.empty()) return;
    const std::string what = "read " + format_size(static_cast<Size>(data.size()));
    check_cuda(
        cudaMemcpyAsync(data.data(), at(array, offset_bytes), data.size(), cudaMemcpyDeviceToHost, stream_),
        what);
    check_cuda(cudaStreamSynchronize(stream_), what);
  }

 private:
  void fill_words(CUdeviceptr address, Size count, std::uint64_t even, std::uint64_t odd,
                  const std::string& what) {
    void* kernel = kernels_.get(fill_source(), "pm_fill", DType::u64);
    std::array<void*, 4> arguments{&address, &count, &even, &odd};
    start(kernel, launch_shape({.x = count}, info_).value(), arguments.data(), what);
  }

  /// The driver accepts a kernel of a library in place of a function.
  void start(void* kernel, const LaunchShape& shape, void** arguments, std::string_view what) {
    check_driver(launch_(static_cast<CUfunction>(kernel), shape.grid_x, shape.grid_y, shape.grid_z,
                         shape.block_x, shape.block_y, shape.block_z, 0, stream_, arguments, nullptr),
                 what);
  }

  /// The driver reads as many bytes as the kernel's parameter has, from the start of the slot.
  template <typename T>
  static void store(const T& value, std::uint64_t& slot) {
    std::memcpy(&slot, &value, sizeof(T));
  }
  static void store(const Array* const& array, std::uint64_t& slot) {
    slot = array->bytes() == 0 ? 0 : array->buffer().handle();
  }

  DeviceInfo info_;
  cudaStream_t stream_ = nullptr;
  CudaKernels kernels_;
  decltype(&cuLaunchKernel) launch_ = PEAKMARK_DRIVER(cuLaunchKernel);
  decltype(&cuMemsetD8Async) memset8_ = PEAKMARK_DRIVER(cuMemsetD8Async);
  decltype(&cuMemsetD16Async) memset16_ = PEAKMARK_DRIVER(cuMemsetD16Async);
  decltype(&cuMemsetD32Async) memset32_ = PEAKMARK_DRIVER(cuMemsetD32Async);
};

}  // namespace

std::unique_ptr<Device> open_cuda(const DeviceInfo& info) {
  DeviceList list;
  list_cuda(list);
  for (DeviceInfo& found : list.devices) {
    if (found.index != info.index) continue;
    found.is_cpu = info.is_cpu;  // the caller chooses the kernels for a CPU or a GPU
    return std::make_unique<CudaDevice>(std::move(found));
  }
  throw DeviceError(fmt::format("cuda: device {} not found{}", info.index,
                                list.reasons.empty() ? "" : " (" + list.reasons.front() + ")"));
}

}  // namespace peakmark
