#include "measure/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>
#include <stdexcept>

#include "base/error.hpp"
#include "record/profile/event.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
namespace {

constexpr Size kPieceBytes = Size{64} << 20;
// PoCL copies up to four times slower if host and device addresses collide modulo a page. With a fixed
// alignment of the staging area, the same push takes the same time in every run.
constexpr std::align_val_t kStagingAlignment{4096};

class Staging {
 public:
  explicit Staging(Size bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(static_cast<std::byte*>(::operator new(bytes_, kStagingAlignment))) {}
  ~Staging() { ::operator delete(data_, kStagingAlignment); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  [[nodiscard]] std::span<std::byte> first(Size bytes) const {
    return {data_, static_cast<std::size_t>(bytes)};
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

/// While it lives, the recorder does not count the guards of an allocation.
class UncountedGuards {
 public:
  explicit UncountedGuards(EventSource* events) : events_(events) {
    if (events_ != nullptr) events_->guards(2 * kGuardBytes);
  }
  ~UncountedGuards() {
    if (events_ != nullptr) events_->guards(0);
  }
  UncountedGuards(const UncountedGuards&) = delete;
  UncountedGuards& operator=(const UncountedGuards&) = delete;

 private:
  EventSource* events_;
};

}  // namespace

Array Device::create_uninitialised(std::string_view name, const Shape& shape, DType dtype) {
  const Size bytes = shape.bytes(dtype);
  if (bytes == 0) return {nullptr, shape, dtype};
  if (guards_) return allocate_guarded(name, shape, dtype);
  Array array(allocate(bytes), shape, dtype);
  if (events_ != nullptr) events_->name(array.buffer().handle(), name);
  return array;
}

std::unique_ptr<Buffer> Device::part(const Array& /*whole*/, Size /*offset_bytes*/, Size /*bytes*/) {
  throw std::logic_error("this device has no parts of arrays");
}

Array Device::allocate_guarded(std::string_view name, const Shape& shape, DType dtype) {
  const Size bytes = shape.bytes(dtype);
  const Size whole_bytes = checked_add(bytes, 2 * kGuardBytes);
  auto memory = std::make_shared<GuardedMemory>();
  std::unique_ptr<Buffer> buffer;
  try {
    const UncountedGuards uncounted(events_);
    memory->whole = Array(allocate(whole_bytes), {whole_bytes}, DType::u8);
    buffer = part(memory->whole, kGuardBytes, bytes);
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(
        fmt::format("{}; {} of the bytes are guards (--guard)", error.what(), format_size(2 * kGuardBytes)));
  }
  const std::uint64_t handle = memory->whole.buffer().handle();
  if (events_ != nullptr) events_->name(handle, name);
  guarded_allocations_.push_back(handle);
  memory->array = {std::string(name), std::ssize(guarded_allocations_), bytes, *guards_};
  const std::vector<std::byte> pattern = guard_pattern(memory->array);
  write_bytes(memory->whole, 0, std::span(pattern).first(kGuardBytes));
  write_bytes(memory->whole, kGuardBytes + bytes, std::span(pattern).last(kGuardBytes));
  guarded_.push_back(memory);
  return {std::move(buffer), shape, dtype, std::move(memory)};
}

void Device::begin_guards(GuardFill fill) {
  if (is_dry()) return;
  guards_ = fill;
  guarded_allocations_.clear();
  guarded_.clear();  // what an earlier case has not released
}

void Device::check_guards(GuardedMemory& memory) {
  if (memory.is_reported) return;
  std::vector<std::byte> before(static_cast<std::size_t>(kGuardBytes));
  std::vector<std::byte> after(before.size());
  read_bytes(memory.whole, 0, before);
  read_bytes(memory.whole, kGuardBytes + memory.array.bytes, after);
  if (const auto text = overwritten_text(memory.array, before, after)) {
    memory.is_reported = true;
    overwritten_.push_back(*text);
  }
}

std::vector<std::string> Device::overwritten_guards() {
  std::erase_if(guarded_, [](const std::weak_ptr<GuardedMemory>& one) { return one.expired(); });
  for (const std::weak_ptr<GuardedMemory>& one : guarded_) check_guards(*one.lock());
  return std::exchange(overwritten_, {});
}

void Device::release(Array& array) {
  finish();
  const std::shared_ptr<GuardedMemory> memory = array.guarded();
  if (memory) check_guards(*memory);
  release_idle(array);
  if (memory) release_idle(memory->whole);
}

void Device::name_allocation(std::uint64_t address, std::string_view name) {
  if (events_ != nullptr) events_->name(address, name);
}

Array Device::create(std::string_view name, const Shape& shape, DType dtype) {
  Array array = create_uninitialised(name, shape, dtype);
  fill(array, 0);
  return array;
}

void Device::fill(Array& array, double value) {
  fill_part(array, 0, array.shape().elements(), value);
}

void Device::write_generated(Array& array, const std::function<void(std::span<std::byte>, Size)>& generate) {
  const Size total = array.bytes();
  const Size element = size_of(array.dtype());
  if (total == 0) return;
  const Staging staging(std::min(total, kPieceBytes));
  for (Size offset = 0; offset < total; offset += kPieceBytes) {
    const std::span<std::byte> piece = staging.first(std::min(total - offset, kPieceBytes));
    generate(piece, offset / element);
    write_bytes(array, offset, piece);
  }
}

void Device::check(const Array& array, DType dtype, Size elements) {
  if (array.dtype() != dtype) {
    throw UsageError(fmt::format("array of {} accessed as {}: dtypes are never converted",
                                 to_string(array.dtype()), to_string(dtype)));
  }
  if (array.shape().elements() != elements) {
    throw UsageError(fmt::format("wrong number of elements: {} for an array {} of {}", elements,
                                 array.shape().text(), array.shape().elements()));
  }
}

void Device::check_holds_data() const {
  if (is_dry()) throw UnsupportedError("the dry backend computes nothing: it has no data to read");
}

namespace {

/// The bytes of a guard that do not have the pattern.
struct Overwritten {
  Size first = 0;
  Size last = 0;
  Size count = 0;
};

Overwritten compare(std::span<const std::byte> guard, std::span<const std::byte> pattern) {
  Overwritten found;
  for (std::size_t i = 0; i < guard.size(); ++i) {
    if (guard[i] == pattern[i]) continue;
    if (found.count++ == 0) found.first = static_cast<Size>(i);
    found.last = static_cast<Size>(i);
  }
  return found;
}

/// Returns `bytes 0 to 3 after its end`, `2 of the bytes 0 to 8 after its end` or `byte 1 before its start`.
std::string place(Size nearest, Size furthest, Size count, std::string_view side) {
  if (nearest == furthest) return fmt::format("byte {} {}", nearest, side);
  const bool is_whole = furthest - nearest + 1 == count;
  return fmt::format("{}bytes {} to {} {}", is_whole ? "" : fmt::format("{} of the ", count), nearest,
                     furthest, side);
}

}  // namespace

std::vector<std::byte> guard_pattern(const GuardedArray& array) {
  std::mt19937 random(static_cast<std::uint32_t>(array.number));
  const std::uint32_t flipped = array.fill == GuardFill::inverted ? 0xFF : 0;
  std::vector<std::byte> pattern(static_cast<std::size_t>(2 * kGuardBytes));
  for (std::byte& byte : pattern) byte = static_cast<std::byte>((random() & 0xFF) ^ flipped);
  return pattern;
}

std::optional<std::string> overwritten_text(const GuardedArray& array, std::span<const std::byte> before,
                                            std::span<const std::byte> after) {
  const std::vector<std::byte> pattern = guard_pattern(array);
  const std::span<const std::byte> both(pattern);
  const Overwritten low = compare(before, both.first(kGuardBytes));
  const Overwritten high = compare(after, both.last(kGuardBytes));
  if (low.count == 0 && high.count == 0) return std::nullopt;
  std::string places;
  if (low.count != 0)
    places = place(kGuardBytes - low.last, kGuardBytes - low.first, low.count, "before its start");
  if (high.count != 0) {
    if (!places.empty()) places += " and ";
    places += place(high.first, high.last, high.count, "after its end");
  }
  return fmt::format("array '{}' (number {}, {}): {} were overwritten", array.name, array.number,
                     format_size(array.bytes), places);
}

}  // namespace peakmark
