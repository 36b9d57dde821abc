#include "device/dry/dry_device.hpp"

#include "base/error.hpp"
#include "device/bounds.hpp"
#include "device/dry/allocation_log.hpp"
#include "device/element.hpp"

namespace peakmark {
namespace {

class DryBuffer final : public Buffer {
 public:
  DryBuffer(std::shared_ptr<AllocationLog> allocation_log, Size bytes)
      : allocation_log_(std::move(allocation_log)),
        bytes_(bytes),
        address_(allocation_log_->allocate(bytes)) {}
  ~DryBuffer() override { allocation_log_->release(address_, bytes_); }
  [[nodiscard]] Size bytes() const override { return bytes_; }
  [[nodiscard]] std::uint64_t handle() const override { return address_; }

 private:
  std::shared_ptr<AllocationLog> allocation_log_;  // shared: an array may outlive its device
  Size bytes_;
  std::uint64_t address_;
};

class DryBackend final : public DryDevice {
 public:
  explicit DryBackend(const DryOptions& options)
      : info_(dry_device_info(options.is_cpu)),
        allocation_log_(std::make_shared<AllocationLog>(options.kind, options.budget_bytes)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory memory() const override {
    DeviceMemory memory{.used_bytes = allocation_log_->live(), .free_bytes = {}};
    if (allocation_log_->budget()) memory.free_bytes = *allocation_log_->budget() - allocation_log_->live();
    return memory;
  }
  EventSource& allocation_log() override { return *allocation_log_; }
  void set_budget(std::optional<Size> bytes) override { allocation_log_->set_budget(bytes); }

  // The checks are those of a real device, so that a mistake of a variant shows here too.
  void fill_part(Array& array, Size first, Size count, double value) override {
    elements_inside(array, first, count);
    element_of(value, array.dtype());
  }
  void copy(const Array& from, Size from_offset_bytes, Array& to, Size to_offset_bytes, Size bytes) override {
    check_copy(from, from_offset_bytes, to, to_offset_bytes, bytes);
  }
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
  std::unique_ptr<Buffer> allocate(Size bytes) override {
    return std::make_unique<DryBuffer>(allocation_log_, bytes);
  }
  void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) override {
    check_inside(array, offset_bytes, static_cast<Size>(data.size()));
  }
  void read_bytes(const Array& /*array*/, Size /*offset_bytes*/, std::span<std::byte> /*data*/) override {
    throw Unsupported("the dry backend allocation_log bytes and computes nothing: there is nothing to pull");
  }
  void write_generated(Array& array,
                       const std::function<void(std::span<std::byte>, Size)>& /*generate*/) override {
    check_inside(array, 0, array.bytes());
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<AllocationLog> allocation_log_;
};

}  // namespace

DeviceInfo dry_device_info(bool is_cpu) {
  DeviceInfo info;
  info.backend = Backend::dry;
  info.name = "dry";
  info.platform = "dry";
  info.is_cpu = is_cpu;
  info.has_f64 = true;
  return info;
}

std::unique_ptr<DryDevice> open_dry(const DryOptions& options) {
  return std::make_unique<DryBackend>(options);
}

}  // namespace peakmark
