#pragma once

// For tests of libraries for CUDA without a GPU: a device whose memory is this machine's.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "device/device.hpp"

namespace peakmark::testing_fft {

class HostBuffer final : public Buffer {
 public:
  explicit HostBuffer(Size bytes) : memory_(static_cast<std::size_t>(bytes)) {}
  [[nodiscard]] Size bytes() const override { return std::ssize(memory_); }
  [[nodiscard]] std::uint64_t handle() const override {
    return reinterpret_cast<std::uint64_t>(memory_.data());
  }

 private:
  std::vector<std::byte> memory_;
};

/// Says that it is CUDA's, and runs no kernels.
class HostDevice final : public Device {
 public:
  HostDevice() { info_.backend = Backend::cuda; }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory memory() const override { return {}; }
  void fill_part(Array& array, Size first, Size count, double value) override {
    if (count > 0)
      std::fill_n(reinterpret_cast<float*>(array.buffer().handle()) + first, count,
                  static_cast<float>(value));
  }
  void copy(const Array& /*from*/, Size /*from_offset_bytes*/, Array& /*to*/, Size /*to_offset_bytes*/,
            Size /*bytes*/) override {}
  Kernel kernel(const KernelSource& /*source*/, std::string_view /*name*/, DType /*dtype*/) override {
    return Kernel{this};
  }
  void launch(const Kernel& /*kernel*/, const Range& /*range*/,
              std::span<const Argument> /*arguments*/) override {}
  void finish() override {}
  std::unique_ptr<TimePoint> time_point() override { return std::make_unique<TimePoint>(); }
  std::optional<std::int64_t> elapsed_ns(const TimePoint& /*from*/, const TimePoint& /*to*/) override {
    return std::nullopt;
  }

 protected:
  std::unique_ptr<Buffer> allocate(Size bytes) override { return std::make_unique<HostBuffer>(bytes); }
  void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) override {
    std::memcpy(reinterpret_cast<std::byte*>(array.buffer().handle()) + offset_bytes, data.data(),
                data.size());
  }
  void read_bytes(const Array& array, Size offset_bytes, std::span<std::byte> data) override {
    std::memcpy(data.data(), reinterpret_cast<std::byte*>(array.buffer().handle()) + offset_bytes,
                data.size());
  }

 private:
  DeviceInfo info_;
};

}  // namespace peakmark::testing_fft
