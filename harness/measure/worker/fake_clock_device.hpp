#pragma once

#include <memory>

#include "base/error.hpp"
#include "measure/device/device.hpp"

namespace peakmark::testing_support {

/// A device whose clock advances only when a fake computation calls `work`.
class ClockDevice final : public backend::Device {
 public:
  explicit ClockDevice(bool keeps_time = true) : keeps_time_(keeps_time) {}

  void work(std::int64_t ns) { now_ns_ += ns; }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory memory() const override { return {}; }
  void fill_part(backend::Array&, Size, Size, double) override {}
  void copy(const backend::Array&, Size, backend::Array&, Size, Size) override {}
  backend::Kernel kernel(const KernelSource&, std::string_view, DType) override { return {}; }
  // The only kernel here is that of CacheFlush.
  void launch(const backend::Kernel&, const Range&, std::span<const backend::Argument>) override {
    work(5555);
    ++flushes;
  }
  void finish() override {}
  std::unique_ptr<TimePoint> time_point() override {
    ++points;
    return std::make_unique<Point>(now_ns_);
  }
  std::optional<std::int64_t> elapsed_ns(const TimePoint& from, const TimePoint& to) override {
    if (!keeps_time_) return std::nullopt;
    return static_cast<const Point&>(to).ns - static_cast<const Point&>(from).ns;
  }

  void set_cache(std::optional<Size> bytes) { info_.cache_bytes = bytes; }
  void set_cpu(bool is_cpu) { info_.is_cpu = is_cpu; }

  int points = 0;
  int flushes = 0;
  Size live_bytes = 0;
  Size max_bytes = Size{1} << 40;  ///< of one buffer

 protected:
  std::unique_ptr<Buffer> allocate(Size bytes) override {
    if (bytes > max_bytes) throw OutOfMemoryError("no memory for a buffer");
    return std::make_unique<Memory>(live_bytes, bytes);
  }
  void write_bytes(backend::Array&, Size, std::span<const std::byte>) override {}
  void read_bytes(const backend::Array&, Size, std::span<std::byte>) override {}

 private:
  struct Point final : TimePoint {
    explicit Point(std::int64_t at) : ns(at) {}
    std::int64_t ns;
  };
  class Memory final : public Buffer {
   public:
    Memory(Size& live, Size size) : live_(live), size_(size) { live_ += size_; }
    ~Memory() override { live_ -= size_; }
    [[nodiscard]] Size bytes() const override { return size_; }
    [[nodiscard]] std::uint64_t handle() const override { return 1; }

   private:
    Size& live_;
    Size size_;
  };
  static DeviceInfo cpu() {
    DeviceInfo info;
    info.is_cpu = true;
    return info;
  }
  DeviceInfo info_ = cpu();
  bool keeps_time_;
  std::int64_t now_ns_ = 0;
};

}  // namespace peakmark::testing_support
