#include "measure/device/dry/dry_device.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "measure/device/backend.hpp"

namespace peakmark {

using backend::Array;
namespace {

constexpr std::int32_t kRefused = -4;  // like OpenCL's CL_MEM_OBJECT_ALLOCATION_FAILURE

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

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
        allocation_log_(std::make_shared<AllocationLog>(
            options.kind, options.budget_bytes, options.refused_allocation, options.max_allocation)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory memory() const override {
    DeviceMemory memory{.used_bytes = allocation_log_->live(), .free_bytes = {}};
    if (allocation_log_->budget()) memory.free_bytes = *allocation_log_->budget() - allocation_log_->live();
    return memory;
  }
  EventSource& allocation_log() override { return *allocation_log_; }
  void set_budget(std::optional<Size> bytes) override { allocation_log_->set_budget(bytes); }

  // The checks are those of a real device, so that errors of a variant are also found here.
  void fill_part(Array& array, Size first, Size count, double value) override {
    elements_inside(array, first, count);
    element_of(value, array.dtype());
  }
  void copy(const Array& from, Size from_offset_bytes, Array& to, Size to_offset_bytes, Size bytes) override {
    check_copy(from, from_offset_bytes, to, to_offset_bytes, bytes);
  }

 protected:
  std::unique_ptr<Buffer> allocate(Size bytes) override {
    return std::make_unique<DryBuffer>(allocation_log_, bytes);
  }
  void write_bytes(Array& array, Size offset_bytes, std::span<const std::byte> data) override {
    check_inside(array, offset_bytes, static_cast<Size>(data.size()));
  }
  void read_bytes(const Array& /*array*/, Size /*offset_bytes*/, std::span<std::byte> /*data*/) override {
    throw UnsupportedError("the dry backend computes nothing: it has no data to read");
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

Event& AllocationLog::append(EventType type, MemoryKind kind, std::uint64_t address) {
  Event& event = events_.emplace_back();
  event.commit = events_.size();
  event.time_ns = now_ns();
  event.type = type;
  event.kind = kind;
  event.address = address;
  return event;
}

void AllocationLog::append_text(EventType type, std::uint64_t address, std::string_view text) {
  text = text.substr(0, std::numeric_limits<std::uint16_t>::max());
  Event* event = &append(type, MemoryKind::none, address);
  event->text_bytes = static_cast<std::uint16_t>(text.size());
  for (;;) {
    std::memset(event->text, 0, sizeof(event->text));
    const std::size_t bytes = std::min(text.size(), sizeof(event->text));
    std::memcpy(event->text, text.data(), bytes);
    text.remove_prefix(bytes);
    if (text.empty()) return;
    event = &append(EventType::text, MemoryKind::none, address);
  }
}

std::uint64_t AllocationLog::allocate(Size bytes) {
  const Size live = checked_add(live_, bytes);
  const auto refuse = [&](const std::string& why) {
    Event& event = append(EventType::failed_allocation, kind_, 0);
    event.amounts.bytes = bytes;
    event.amounts.result = kRefused;
    throw OutOfMemoryError("out of memory: " + why);
  };
  if (until_refused_-- == 1) refuse(fmt::format("{} bytes were refused on request", bytes));
  if (max_allocation_ && bytes > *max_allocation_)
    refuse(fmt::format("{} bytes exceed the limit of one allocation, {}", bytes, *max_allocation_));
  if (budget_ && live > *budget_) {
    refuse(fmt::format("{} bytes in addition to {} live bytes exceed the dry budget of {}", bytes, live_,
                       *budget_));
  }
  const std::uint64_t address = next_address_++;
  append(EventType::allocation, kind_, address).amounts.bytes = bytes;
  live_ = live;
  return address;
}

void AllocationLog::release(std::uint64_t address, Size bytes) {
  append(EventType::release, kind_, address);
  live_ -= bytes;
}

void AllocationLog::phase(std::string_view name) {
  append_text(EventType::phase, 0, name);
}

void AllocationLog::name(std::uint64_t address, std::string_view name) {
  append_text(EventType::name, address, name);
}

std::vector<Event> AllocationLog::events(std::uint64_t first) {
  first = std::min<std::uint64_t>(first, events_.size());
  return {events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end()};
}

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
